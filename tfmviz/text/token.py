"""One token, and where it stands in the text that a person typed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True, init=False)
class Token:
    """One position of a sequence, as the reader wrote it.

    Attributes:
        id: number in the model's vocabulary.
        text: the typed characters that this token covers, blanks included; a special token's name (``[CLS]``)
            where it covers none. Never the vocabulary's own spelling (``Ġcat``, ``▁cat``, ``Ã¡``).
        start: first character in the typed text.
        end: one past the last character; equal to ``start`` for special tokens and padding.
        is_special: added by the tokenizer, not typed. Padding is special too.
        is_padding: fills the sequence to a length; real tokens do not look at it.
        word: index of the word this token belongs to, counted over the whole sequence; None outside words.
        segment: 0 for the text, 1 for the second sentence of a pair. ``start`` and ``end`` count in that text.
        is_piece: covers only part of one character (a byte of an emoji, say); ``text`` is then that whole character.
    """

    id: int
    text: str
    start: int
    end: int
    is_special: bool = False
    is_padding: bool = False
    word: int | None = None
    segment: int = 0
    is_piece: bool = False

    def __init__(
        self,
        *,
        id: int,
        text: str,
        start: int,
        end: int,
        is_special: bool = False,
        is_padding: bool = False,
        word: int | None = None,
        segment: int = 0,
        is_piece: bool = False,
    ) -> None:
        # The generated one goes through object.__setattr__ field by field: 4 us a token, where the slots take 1, and
        # texts have thousands of tokens.
        _id(self, id)
        _text(self, text)
        _start(self, start)
        _end(self, end)
        _is_special(self, is_special)
        _is_padding(self, is_padding)
        _word(self, word)
        _segment(self, segment)
        _is_piece(self, is_piece)


_id, _text, _start, _end, _is_special, _is_padding, _word, _segment, _is_piece = (
    getattr(Token, name).__set__ for name in Token.__slots__
)

"""The vocabulary of models trained here: the 256 bytes, and three signs that nobody can type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tfmviz.errors import UnreadableText
from tfmviz.text.token import Token
from tfmviz.text.words import word_spans, words_of

PADDING, START, END = 256, 257, 258
_NAMES = {PADDING: "<pad>", START: "<start>", END: "<end>"}


@dataclass(frozen=True, slots=True)
class ByteVocabulary:
    """One token a byte of the text's UTF-8, so that any text runs.

    A character of several bytes is several tokens, each with the whole character as its text and ``is_piece``.
    """

    size: int = 259
    padding: int = PADDING
    start: int = START
    end: int = END

    def tokens(self, text: str, *, start: bool = False, end: bool = False) -> tuple[Token, ...]:
        """The tokens of a text.

        Args:
            text: what was typed; may be empty.
            start: put ``<start>`` before it, the first thing a decoder reads.
            end: put ``<end>`` behind it, the last thing an encoder reads.

        Raises:
            UnreadableText: if the text holds half a surrogate pair, which is no character.
        """
        try:
            raw = [character.encode() for character in text]
        except UnicodeEncodeError:
            at = next(i for i, character in enumerate(text) if "\ud800" <= character <= "\udfff")
            raise UnreadableText(text, at) from None
        words = words_of([(i, i + 1) for i in range(len(text))], word_spans(text))
        tokens = [_sign(START, 0)] if start else []
        for i, character in enumerate(text):
            tokens += [
                Token(id=byte, text=character, start=i, end=i + 1, word=words[i], is_piece=len(raw[i]) > 1)
                for byte in raw[i]
            ]
        return tuple([*tokens, _sign(END, len(text))] if end else tokens)

    def text(self, ids: Iterable[int]) -> str:
        """The text that token numbers stand for, up to ``<end>``, without signs; broken characters become U+FFFD."""
        kept = []
        for number in ids:
            if number == END:
                break
            if number < PADDING:
                kept.append(number)
        return bytes(kept).decode(errors="replace")

    def labels(self, ids: Iterable[int]) -> tuple[str, ...]:
        """What single entries are called where there is no text to read them from: ``a``, ``0xE2``, ``<end>``."""
        return tuple(_NAMES.get(i) or (chr(i) if i < 0x80 else f"0x{i:02X}") for i in map(int, ids))


def _sign(number: int, place: int) -> Token:
    return Token(id=number, text=_NAMES[number], start=place, end=place, is_special=True, is_padding=number == PADDING)

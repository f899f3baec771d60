"""From a typed text to tokens that know where they stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tfmviz.errors import ConfigError, UnreadableText
from tfmviz.text.align import piece_spans
from tfmviz.text.search import Span
from tfmviz.text.spelling import Spelling, lost_bytes, special_name, spelling_of
from tfmviz.text.token import Token
from tfmviz.text.words import word_spans, words_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoding:
    """A text as a model takes it, and as its reader wrote it.

    Attributes:
        input_ids: vocabulary numbers, exactly those that ``tokenizer(text, pair)`` gives; shape (n,).
        token_type_ids: 0 or 1 for the two sentences, where the model has such an input, else None; shape (n,).
        tokens: one a position, in the same order.
    """

    input_ids: tuple[int, ...]
    token_type_ids: tuple[int, ...] | None
    tokens: tuple[Token, ...]


def encode(tokenizer: Any, text: str, *, pair: str | None = None, add_special_tokens: bool = True) -> Encoding:
    """Tokenize a text, nothing cut and nothing padded.

    A special token's name typed by a person (``[MASK]``, ``<|im_start|>``) becomes that token, as the tokenizer
    itself has it, because masked words and chat turns are written so. It counts as typed: it has its place in the
    text and ``is_special`` is False. A tokenizer loaded with ``split_special_tokens=True`` reads it as plain letters.

    Args:
        tokenizer: a transformers tokenizer, fast or not.
        text: what was typed.
        pair: a second sentence. An empty one counts as none, as in transformers.
        add_special_tokens: let the tokenizer add its ``[CLS]``, ``<s>`` and so on.

    Raises:
        UnreadableText: if the text holds half a surrogate pair, which is no character.
    """
    for typed in (text, pair or ""):
        _check_readable(typed)
    if not getattr(tokenizer, "is_fast", False):
        return _encode_without_offsets(tokenizer, text, pair, add_special_tokens)
    batch = tokenizer(text, pair, add_special_tokens=add_special_tokens, truncation=False, padding=False, verbose=False)
    raw = batch.encodings[0]
    backend = tokenizer.backend_tokenizer
    return _assemble(
        ids=raw.ids,
        type_ids=batch.get("token_type_ids"),
        pieces=raw.tokens,
        offsets=raw.offsets,
        sequences=raw.sequence_ids,
        texts=(text, pair or ""),
        whole=_spelled_as_typed(tokenizer),
        spellings=(spelling_of(backend),),
        lost=lost_bytes(backend),
    )


def pad(encoding: Encoding, length: int, *, side: Literal["left", "right"], pad_id: int, pad_text: str) -> Encoding:
    """Fill an encoding up to ``length`` positions.

    Args:
        encoding: what :func:`encode` gave.
        length: positions wanted.
        side: where the padding goes.
        pad_id: the padding token's vocabulary number.
        pad_text: its name.

    Raises:
        ConfigError: if the encoding is longer than ``length``: padding never cuts.
    """
    n = len(encoding.tokens)
    missing = length - n
    if missing < 0:
        raise ConfigError(
            f"pad_to={length} is less than the {n} tokens of the text, and padding never cuts. Use {n} or more."
        )
    place = 0 if side == "left" or not encoding.tokens else encoding.tokens[-1].end
    segment = encoding.tokens[-1].segment if side == "right" and encoding.tokens else 0
    filler = Token(id=pad_id, text=pad_text, start=place, end=place, is_special=True, is_padding=True, segment=segment)

    def filled(values: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        return (value,) * missing + values if side == "left" else values + (value,) * missing

    types = encoding.token_type_ids
    return replace(
        encoding,
        input_ids=filled(encoding.input_ids, pad_id),
        token_type_ids=None if types is None else filled(types, 0),
        tokens=filled(encoding.tokens, filler),
    )


def _spelled_as_typed(tokenizer: Any) -> set[int]:
    """Added tokens stand for their own name wherever they are typed; the unknown token stands for something else."""
    return set(tokenizer.added_tokens_decoder) - {tokenizer.unk_token_id}


def _check_readable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnreadableText(text, error.start) from None


def _encode_without_offsets(tokenizer: Any, text: str, pair: str | None, add_special_tokens: bool) -> Encoding:
    """Tokenizers written in Python give numbers and no places: the places are found again from the pieces."""
    batch = tokenizer(text, pair, add_special_tokens=add_special_tokens, truncation=False, verbose=False)
    ids = [int(i) for i in batch["input_ids"]]
    added, pair_begins = _added_positions(tokenizer, ids, text, pair)
    sequences = [None if i in added else int(i >= pair_begins) for i in range(len(ids))]
    return _assemble(
        ids=ids,
        type_ids=batch.get("token_type_ids"),
        pieces=tokenizer.convert_ids_to_tokens(ids),
        offsets=None,
        sequences=sequences,
        texts=(text, pair or ""),
        whole=_spelled_as_typed(tokenizer),
        spellings=("bytes", "metaspace", "plain"),
    )


def _added_positions(tokenizer: Any, ids: Sequence[int], text: str, pair: str | None) -> tuple[set[int], int]:
    """Positions that the tokenizer added, and where the second sentence begins.

    Found by encoding the bare texts and laying them over the full sequence.
    """
    added: set[int] = set()
    cursor = begins = 0
    for typed in [text] if pair is None else [text, pair]:
        bare = tokenizer(typed, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
        part = [int(i) for i in bare]
        begins = next((i for i in range(cursor, len(ids) + 1) if list(ids[i : i + len(part)]) == part), cursor)
        added.update(range(cursor, begins))
        cursor = begins + len(part)
    added.update(range(cursor, len(ids)))
    return added, len(ids) if pair is None else begins


def _assemble(
    *,
    ids: Sequence[int],
    type_ids: Sequence[int] | None,
    pieces: Sequence[str],
    offsets: Sequence[Span] | None,
    sequences: Sequence[int | None],
    texts: tuple[str, str],
    whole: set[int],
    spellings: tuple[Spelling, ...],
    lost: Sequence[int] = (),
) -> Encoding:
    """Put spans, words and special tokens together into one Token a position."""
    typed: list[Iterator[tuple[Span, bool, int | None]]] = []  # one a sentence
    n_words = 0
    for segment, text in enumerate(texts):
        where = [i for i, sequence in enumerate(sequences) if sequence == segment]
        words = word_spans(text)
        spans, cut = piece_spans(
            [pieces[i] for i in where],
            None if offsets is None else [offsets[i] for i in where],
            [ids[i] in whole for i in where],
            text,
            spellings,
            lost,
        )
        indices = words_of(spans, words)
        counted = [None if index is None else index + n_words for index in indices]
        typed.append(iter(zip(spans, cut, counted, strict=True)))
        n_words += len(words)

    tokens: list[Token] = []
    reached = segment = 0
    for number, piece, sequence in zip(ids, pieces, sequences, strict=True):
        if sequence is None:  # added by the tokenizer: it stands where the last typed token ended
            name = special_name(piece)
            token = Token(id=number, text=name, start=reached, end=reached, is_special=True, segment=segment)
        else:
            segment = sequence
            (begin, reached), part, word = next(typed[segment])
            text = texts[segment][begin:reached]
            token = Token(id=number, text=text, start=begin, end=reached, word=word, segment=segment, is_piece=part)
        tokens.append(token)
    return Encoding(
        input_ids=tuple(ids), token_type_ids=None if type_ids is None else tuple(type_ids), tokens=tuple(tokens)
    )

"""How a vocabulary spells text, and the way back to the bytes that were typed.

Byte-level BPE writes every byte as one printable letter (``Ġ`` for a blank, ``Ã©`` for é); SentencePiece writes a
blank as ``▁`` and bytes it has no letter for as ``<0xE2>``. None of this is what a person typed, so none of it may
reach the screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

Spelling = Literal["bytes", "metaspace", "wordpiece", "plain"]

META = "▁"
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")


def _byte_letters() -> dict[str, int]:
    """The letter for each byte: itself where it prints, else the next free letter from U+0100.

    Source: Radford et al. 2019, the byte-level alphabet of GPT-2.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in letters.values()]
    return letters | {chr(0x100 + i): byte for i, byte in enumerate(others)}


_LETTERS = _byte_letters()
BYTE_BLANK = next(letter for letter, byte in _LETTERS.items() if byte == 0x20)
# One translate call turns a piece into characters below 256, which latin-1 turns into bytes: no loop over letters.
_TO_LATIN = {ord(letter): byte for letter, byte in _LETTERS.items()}


def spelling_of(backend: Any) -> Spelling:
    """Read the spelling from the parts of a ``tokenizers.Tokenizer``, not from its name."""
    if type(backend.model).__name__ == "WordPiece":
        return "wordpiece"
    parts = b"".join(part.__getstate__() for part in (backend.pre_tokenizer, backend.decoder) if part is not None)
    if b'"ByteLevel"' in parts:
        return "bytes"
    if META.encode() in parts or rb"\u2581" in parts or backend.token_to_id(META) is not None:
        return "metaspace"
    return "plain"


def lost_bytes(backend: Any) -> tuple[int, ...]:
    """Bytes that a byte-level vocabulary has no letter for; the tokenizer drops them without a word."""
    if spelling_of(backend) != "bytes":
        return ()
    return tuple(byte for letter, byte in _LETTERS.items() if backend.token_to_id(letter) is None)


def joined_bytes(pieces: Sequence[str], spelling: Spelling) -> tuple[bytes, list[int]] | None:
    """The bytes that vocabulary pieces stand for, and how many are each one's; None if they are spelled otherwise.

    In the metaspace spelling a blank stays ``▁``: compare with :func:`text_bytes` of the same spelling.
    """
    if spelling == "bytes":
        try:
            return "".join(pieces).translate(_TO_LATIN).encode("latin-1"), [len(piece) for piece in pieces]
        except UnicodeEncodeError:
            return None
    parts = [_raw_byte(piece) if piece.startswith("<0x") else piece.encode() for piece in pieces]
    return b"".join(parts), [len(part) for part in parts]


def _raw_byte(piece: str) -> bytes:
    match = _BYTE_PIECE.match(piece)
    return bytes([int(match[1], 16)]) if match else piece.encode()


def text_bytes(text: str, spelling: Spelling) -> bytes:
    """What the pieces of ``text`` join to, if the tokenizer changed nothing."""
    return text.replace(" ", META).encode() if spelling == "metaspace" else text.encode()


def prefix_bytes(spelling: Spelling) -> bytes:
    """The blank that a tokenizer may put before a text that has none."""
    return META.encode() if spelling == "metaspace" else b" "


def leading_blanks(piece: str, spelling: Spelling) -> int:
    """How many blanks a piece begins with."""
    mark = {"bytes": BYTE_BLANK, "metaspace": META}.get(spelling)
    return len(piece) - len(piece.lstrip(mark)) if mark else 0


class Speller:
    """Writes vocabulary entries as text, where there is no typed text to read it from (a guess, say).

    What follows from the tokenizer alone is worked out once: a whole vocabulary has a hundred thousand entries.

    Args:
        tokenizer: a transformers tokenizer.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._piece: Callable[[int], str | None] = tokenizer.convert_ids_to_tokens
        backend = getattr(tokenizer, "backend_tokenizer", None)
        self._spelling: Spelling = spelling_of(backend) if backend is not None else "metaspace"
        self._added = frozenset(tokenizer.added_tokens_decoder)

    def __call__(self, number: int) -> str:
        """The text of one entry, its leading blank kept.

        A special token gives its name. Bytes that are only part of a character are written ``0xE2 0x96``: they have no
        text of their own. A number without an entry is ``<unused 50000>``: tables are padded to round sizes.
        """
        piece = self._piece(number)
        if piece is None:
            return f"<unused {number}>"
        return special_name(piece) if number in self._added else _piece_text(piece, self._spelling)


def special_name(piece: str) -> str:
    """A special token's name, free of the vocabulary's blank (``<｜end▁of▁text｜>``)."""
    return piece.replace(META, "_")


def _piece_text(piece: str, spelling: Spelling) -> str:
    if spelling == "wordpiece":
        return piece.removeprefix("##")
    joined = joined_bytes([piece], spelling)
    if joined is None:
        return piece
    raw, _ = joined
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return " ".join(f"0x{byte:02X}" for byte in raw)
    text = text.replace(META, " ") if spelling == "metaspace" else text
    return text.replace("</w>", "")

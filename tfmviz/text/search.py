"""Where the pieces stand for tokenizers that report no places: looked for in the text, one after the other."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from tfmviz.text.spelling import META

Span = tuple[int, int]
_FARTHEST = 200  # letters; a match farther on is another word that happens to have the same letters


def searched_spans(pieces: Sequence[str], text: str) -> list[Span]:
    """Find the pieces of a tokenizer that reports no offsets at all, by looking for them one after the other.

    Letters are compared without case, accents and compatibility forms. A piece that is not found (an unknown word)
    takes the text between its neighbours.
    """
    plain, origin = _plain_letters(text)
    spans: list[Span | None] = []
    cursor = 0
    for piece in pieces:
        wanted, _ = _plain_letters(piece.replace(META, " ").removeprefix("##").removesuffix("</w>").removesuffix("@@"))
        found = plain.find(wanted, cursor) if wanted else -1
        if found < 0 or found - cursor > _FARTHEST:
            spans.append(None if wanted or META not in piece else (_origin(origin, cursor, text),) * 2)
            continue
        cursor = found + len(wanted)
        spans.append((origin[found], origin[cursor - 1] + 1))
    return _fill_unknown(spans, text)


def _plain_letters(text: str) -> tuple[str, list[int]]:
    """Letters without blanks, marks and case, and the character each came from."""
    letters: list[str] = []
    origin: list[int] = []
    for i, character in enumerate(text):
        for letter in unicodedata.normalize("NFKD", character).casefold():
            if not letter.isspace() and not unicodedata.category(letter).startswith("M"):
                letters.append(letter)
                origin.append(i)
    return "".join(letters), origin


def _origin(origin: Sequence[int], cursor: int, text: str) -> int:
    return origin[cursor] if cursor < len(origin) else len(text)


def _fill_unknown(spans: Sequence[Span | None], text: str) -> list[Span]:
    """Give pieces that were not found the words between the ones that were."""
    out: list[Span] = []
    for i, span in enumerate(spans):
        if span is not None:
            out.append(span)
            continue
        begin = out[-1][1] if out else 0
        end = next((s[0] for s in spans[i + 1 :] if s is not None), len(text))
        gap = text[begin:end]
        begin += len(gap) - len(gap.lstrip())
        words = text[begin:end].split()
        if words and i + 1 < len(spans) and spans[i + 1] is None:  # unknown words in a row: one each
            end = begin + len(words[0])
        out.append((begin, max(begin, begin + len(text[begin:end].rstrip()))))
    return out

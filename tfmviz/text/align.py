"""Where each vocabulary piece stands in the typed text.

Two ways, the first that applies. *Exact*: the pieces, read back as bytes, join to the very bytes of the text (or to
those with one blank in front, which some tokenizers add); the cuts between them are then known to the byte. *Repaired*:
the tokenizer changed the text (lower case, accents, compatibility forms), so its own offsets are taken and their known
faults mended: blanks trimmed off, blanks invented, marks left out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import regex

from tfmviz.text.spelling import META, Spelling, joined_bytes, leading_blanks, prefix_bytes, text_bytes

Span = tuple[int, int]
# What belongs to the character before it: combining marks, joiners, variation selectors and skin tones.
_ATTACHED = regex.compile(r"[\p{M}\u200c\u200d\U0001f3fb-\U0001f3ff]+")


def exact_spans(pieces: Sequence[str], text: str, spelling: Spelling) -> tuple[list[Span], list[bool]] | None:
    """Cut ``text`` exactly where the pieces cut it.

    Args:
        pieces: vocabulary entries, in order.
        text: what they were made from.
        spelling: how the vocabulary writes text.

    Returns:
        One character span a piece and whether it holds only part of a character; a blank that the tokenizer put in
        front belongs to nobody. None if the pieces do not join to the text.
    """
    if spelling == "wordpiece" or (read := joined_bytes(pieces, spelling)) is None:
        return None
    joined, lengths = read
    typed = text_bytes(text, spelling)
    prefix = prefix_bytes(spelling)
    if joined == typed:
        shift = 0
    elif joined == prefix + typed:
        shift = len(prefix)
    else:
        return None
    edges = np.maximum(np.cumsum([0, *lengths]) - shift, 0)
    starts, ends = edges[:-1], edges[1:]
    data = np.frombuffer(typed, np.uint8)
    first = np.append((data & 0xC0) != 0x80, True)  # this byte begins a character; so does the end of the text
    character = np.cumsum(first) - 1
    begin = character[starts]
    end = np.where(ends > starts, character[np.maximum(ends, 1) - 1] + 1, begin)
    cut = (ends > starts) & ~(first[starts] & first[ends])
    return list(zip(begin.tolist(), end.tolist(), strict=True)), cut.tolist()


def repaired_spans(
    pieces: Sequence[str], spans: Sequence[Span], text: str, spelling: Spelling, start: int, stop: int
) -> tuple[list[Span], list[bool]]:
    """Mend a tokenizer's own offsets for the pieces that stand in ``text[start:stop]``.

    Returns:
        One character span a piece, starts and ends never falling back, and whether a piece shares its character with
        a neighbour, that is, holds only part of it.
    """
    if spelling in ("bytes", "metaspace"):
        spans = _with_blanks(pieces, spans, text, spelling, start, stop)
    out: list[Span] = []
    first, last = start, start
    for begin, end in spans:
        first = min(max(begin, first), stop)
        last = min(max(end, first, last), stop)
        out.append((first, last))
    out = attach_marks(out, text, stop)
    return out, shared_characters(out)


def _with_blanks(
    pieces: Sequence[str], spans: Sequence[Span], text: str, spelling: Spelling, start: int, stop: int
) -> list[Span]:
    """The spans with the blanks that their pieces begin with."""
    out: list[Span] = []
    reached = start
    for i, (piece, (begin, end)) in enumerate(zip(pieces, spans, strict=True)):
        blanks = leading_blanks(piece, spelling)
        if blanks:
            following = spans[i + 1] if i + 1 < len(spans) else (stop, stop)
            begin, end = _mend_blanks(text, begin, end, reached, blanks, blanks == len(piece), following)
        out.append((begin, end))
        reached = max(reached, end)
    return out


def _mend_blanks(
    text: str, begin: int, end: int, reached: int, blanks: int, only_blanks: bool, following: Span
) -> Span:
    """Give a piece the blanks it was trimmed of, and take from it a character that it only borrowed."""
    if only_blanks:
        if begin < end and (text[begin:end].strip() or (following[0] == begin and following[1] >= end)):
            return begin, begin  # a blank nobody typed, reported on the character after it
        if begin < end:
            return begin, end
        end = max(begin, reached)
        begin = end
        return (max(reached, begin - blanks), end) if text[reached:end].isspace() else (begin, end)
    gap = text[max(reached, begin - blanks) : begin]
    return (begin - len(gap), end) if gap and gap.isspace() else (begin, end)


def shared_characters(spans: Sequence[Span]) -> list[bool]:
    """Whether each span overlaps a neighbour: then it holds only a part of the character in common."""
    shared = [False] * len(spans)
    last = -1  # the last span that was not empty
    for i, (begin, end) in enumerate(spans):
        if begin == end:
            continue
        if last >= 0 and begin < spans[last][1]:
            shared[i] = shared[last] = True
        last = i
    return shared


def attach_marks(spans: list[Span], text: str, stop: int) -> list[Span]:
    """Let each span keep the marks, joiners and skin tones that follow it and that no other span covers.

    Tokenizers that strip accents report ``cafe`` for a café whose accent is its own character; the reader wrote é.
    """
    if text.isascii():
        return spans
    out = list(spans)
    for i, (begin, end) in enumerate(spans):
        limit = spans[i + 1][0] if i + 1 < len(spans) else stop
        if begin < end < limit and (match := _ATTACHED.match(text, end, limit)):
            out[i] = (begin, match.end())
            j = i  # pieces of the same character grow together
            while j and spans[j - 1] == spans[i]:
                j -= 1
                out[j] = out[i]
    return out


def searched_spans(pieces: Sequence[str], text: str) -> tuple[list[Span], list[bool]]:
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
        if found < 0 or found - cursor > 200:  # farther away it is another word of the same letters
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


def _fill_unknown(spans: Sequence[Span | None], text: str) -> tuple[list[Span], list[bool]]:
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
    return attach_marks(out, text, len(text)), shared_characters(out)

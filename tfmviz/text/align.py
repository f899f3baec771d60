"""Where each vocabulary piece stands in the typed text.

Two ways, the first that applies. *Exact*: the pieces, read back as bytes, join to the very bytes of the text (or to
those with one blank in front, which some tokenizers add); the cuts between them are then known to the byte. *Repaired*:
the tokenizer changed the text (lower case, accents, compatibility forms), so its own offsets are taken and their known
faults mended: blanks trimmed off, blanks invented, marks left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import regex

from tfmviz.text.search import Span, searched_spans
from tfmviz.text.spelling import META, Spelling, joined_bytes, leading_blanks, prefix_bytes, text_bytes

# What belongs to the character before it: combining marks, joiners, variation selectors and skin tones.
_ATTACHED = regex.compile(r"[\p{M}\u200c\u200d\U0001f3fb-\U0001f3ff]+")


def piece_spans(
    pieces: Sequence[str],
    offsets: Sequence[Span] | None,
    whole: Sequence[bool],
    text: str,
    spellings: Sequence[Spelling],
    lost: Sequence[int] = (),
) -> tuple[list[Span], list[bool]]:
    """Where each piece of one sentence stands.

    Args:
        pieces: vocabulary entries, in order.
        offsets: where the tokenizer says they are, one a piece; None if it does not say.
        whole: True for added tokens (``<|im_end|>``), which are spelled as typed and split the text into stretches.
        text: the sentence as typed.
        spellings: how the vocabulary may write text, likeliest first.
        lost: bytes that the vocabulary has no letter for, see :func:`exact_spans`.

    Returns:
        One character span a piece, and whether it holds only part of a character.
    """
    spans: list[Span] = []
    cut: list[bool] = []
    reached = i = 0
    while i < len(pieces):
        if whole[i]:
            begin, end = offsets[i] if offsets is not None else _found(text, pieces[i], reached)
            reached, i = max(end, reached), i + 1
            spans.append((min(begin, reached), reached))
            cut.append(False)
            continue
        j = next((k for k in range(i + 1, len(pieces)) if whole[k]), len(pieces))
        stop = len(text)
        if j < len(pieces):
            stop = max(reached, (offsets[j] if offsets is not None else _found(text, pieces[j], reached))[0])
        stretch = None if offsets is None else offsets[i:j]
        found, parts = _stretch_spans(pieces[i:j], stretch, text, (reached, stop), spellings, lost)
        spans += found
        cut += parts
        reached, i = max(reached, spans[-1][1]), j
    return spans, cut


def _found(text: str, piece: str, cursor: int) -> Span:
    at = text.find(piece, cursor)
    return (at, at + len(piece)) if at >= 0 else (cursor, cursor)


def _stretch_spans(
    pieces: Sequence[str],
    offsets: Sequence[Span] | None,
    text: str,
    within: Span,
    spellings: Sequence[Spelling],
    lost: Sequence[int],
) -> tuple[list[Span], list[bool]]:
    """Spans of pieces between two added tokens, exact where the tokenizer changed nothing."""
    start, stop = within
    part = text[start:stop]
    # Tokenizers written in Python take the blanks beside an added token away.
    for candidate in (part,) if offsets is not None else (part, part.strip()):
        for spelling in spellings:
            if (exact := exact_spans(pieces, candidate, spelling, lost)) is not None:
                shift = start + part.find(candidate)
                return [(begin + shift, end + shift) for begin, end in exact[0]], exact[1]
    if offsets is not None:
        return repaired_spans(pieces, offsets, text, spellings[0], start, stop)
    found = searched_spans(pieces, part)
    spans = attach_marks([(begin + start, end + start) for begin, end in found], text, stop)
    return spans, shared_characters(spans)


def exact_spans(
    pieces: Sequence[str], text: str, spelling: Spelling, lost: Sequence[int] = ()
) -> tuple[list[Span], list[bool]] | None:
    """Cut ``text`` exactly where the pieces cut it.

    Args:
        pieces: vocabulary entries, in order.
        text: what they were made from.
        spelling: how the vocabulary writes text.
        lost: bytes that the tokenizer drops without a word because its vocabulary has no letter for them.

    Returns:
        One character span a piece and whether it holds only part of a character; a blank that the tokenizer put in
        front belongs to nobody. None if the pieces do not join to the text.
    """
    if spelling == "wordpiece" or (read := joined_bytes(pieces, spelling)) is None:
        return None
    joined, lengths = read
    data = np.frombuffer(text_bytes(text, spelling), np.uint8)
    place = np.flatnonzero(~np.isin(data, lost)) if lost else np.arange(len(data))
    kept = data[place].tobytes()
    prefix = prefix_bytes(spelling)
    if joined == kept:
        shift = 0
    elif joined == prefix + kept:
        shift = len(prefix)
    else:
        return None
    edges = np.maximum(np.cumsum([0, *lengths]) - shift, 0)
    empty = edges[1:] == edges[:-1]
    starts = np.append(place, len(data))[edges[:-1]]
    ends = np.where(empty, starts, np.append(place, 0)[edges[1:] - 1] + 1)
    first = np.append((data & 0xC0) != 0x80, True)  # this byte begins a character; so does the end of the text
    character = np.cumsum(first) - 1
    begin = character[starts]
    end = np.where(empty, begin, character[np.maximum(ends, 1) - 1] + 1)
    cut = ~empty & ~(first[starts] & first[ends])
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
    begin, end = np.asarray(spans, np.int64).reshape(-1, 2).T
    first = np.maximum.accumulate(np.clip(begin, start, stop))
    last = np.maximum.accumulate(np.clip(np.maximum(end, first), start, stop))
    out = attach_marks(list(zip(first.tolist(), last.tolist(), strict=True)), text, stop)
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
    if not only_blanks:
        gap = text[max(reached, begin - blanks) : begin]
        return (begin - len(gap), end) if gap and gap.isspace() else (begin, end)
    if begin == end:  # trimmed to nothing: it is the blank between what was reached and its place
        end = max(begin, reached)
        return (max(reached, end - blanks), end) if text[reached:end].isspace() else (end, end)
    borrowed = text[begin:end].strip().strip(META) or (following[0] == begin and following[1] >= end)
    # A blank nobody typed is reported on the character after it; a blank inside a character that stands for several
    # letters and blanks is a part of that character.
    return (begin, begin) if borrowed and begin >= reached else (begin, end)


def shared_characters(spans: Sequence[Span]) -> list[bool]:
    """Whether each span overlaps a neighbour: then it holds only a part of the character in common."""
    begin, end = np.asarray(spans, np.int64).reshape(-1, 2).T
    filled = np.flatnonzero(end > begin)
    overlaps = begin[filled[1:]] < end[filled[:-1]]
    shared = np.zeros(len(spans), bool)
    shared[filled[1:][overlaps]] = shared[filled[:-1][overlaps]] = True
    return shared.tolist()


def attach_marks(spans: list[Span], text: str, stop: int) -> list[Span]:
    """Let each span keep the marks, joiners and skin tones that follow it and that no other span covers.

    Tokenizers that strip accents report ``cafe`` for a café whose accent is its own character; the reader wrote é.
    """
    if text.isascii() or not (marked := {i for match in _ATTACHED.finditer(text) for i in range(*match.span())}):
        return spans
    out = list(spans)
    for i, (begin, end) in enumerate(spans):
        if end not in marked or begin == end:
            continue
        limit = spans[i + 1][0] if i + 1 < len(spans) else stop
        if end < limit and (match := _ATTACHED.match(text, end, limit)):
            out[i] = (begin, match.end())
            j = i  # pieces of the same character grow together
            while j and spans[j - 1] == spans[i]:
                j -= 1
                out[j] = out[i]
    return out

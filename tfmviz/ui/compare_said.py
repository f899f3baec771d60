"""Sentences about what two models say: next pieces, and how alike sentences are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfmviz.text import display
from tfmviz.ui import live_run
from tfmviz.ui.compare_words import number, short

if TYPE_CHECKING:
    from tfmviz.analysis.batch import Measured, Summary
    from tfmviz.analysis.matching import Head
    from tfmviz.analysis.outputs import NextPieces
    from tfmviz.ui.compare_sides import Side
    from tfmviz.ui.live_run import LiveRun

ONE_SENTENCE = (
    "Write two lines or more into the text, or pick a sample of two sentences: then both models say how alike they are."
)
BEFORE_TEXTS = (
    "**Many texts** Two heads that are alike on one sentence often are not on the next. Both models read every line, "
    "and each number becomes a mean with its spread."
)
_LONGEST = 20


def no_decoder(others: Sequence[Side]) -> str:
    """Why there are no next pieces to compare."""
    names = " and ".join(f"{side.letter} ({display.markdown(side.name)})" for side in others)
    verb = "are no decoders and do" if len(others) == 2 else "is no decoder and does"
    return f"{names} {verb} not say what comes next. Two decoders do, such as smollm2 and scratch-smollm2."


def next_piece(found: NextPieces, last: str, n_a: int, n_b: int) -> str:
    """What the bars say.

    Args:
        found: the distributions.
        last: the last piece that both have read.
        n_a, n_b: entries of the two vocabularies.
    """
    best_a, best_b = (found.pieces[int(np.nanargmax(values))] for values in (found.a, found.b))
    after = f"After {_quoted(last.strip() or last)} A expects {_quoted(best_a)} ({np.nanmax(found.a):.2f})"
    after += ", and so does B" if best_a == best_b else f", B {_quoted(best_b)}"
    spread = f"Entropies: A {found.entropy_a:.1f} bits, B {found.entropy_b:.1f}."
    if found.a_from_b is None or found.b_from_a is None:
        return (
            f"{after} ({np.nanmax(found.b):.2f}). {spread} The vocabularies differ ({number(n_a)} and {number(n_b)} "
            "pieces): a piece of one may be several of the other, so there is no relative entropy. Pieces are matched "
            "by how they read."
        )
    return (
        f"{after} ({np.nanmax(found.b):.2f}). {spread} Over the vocabulary that both share, D(A‖B) is "
        f"{_bits(found.a_from_b)} and D(B‖A) {_bits(found.b_from_a)}; the distance is {found.distance:.2f} "
        "(Jensen-Shannon, 0 to 1)."
    )


def alike(
    names: Sequence[str],
    a: np.ndarray,
    b: np.ndarray,
    pooling: str,
    lacking: Sequence[Side],
) -> str:
    """What the dots say."""
    said = [
        f"{side.letter} has no special token in front of its text, so there is no {pooling} vector." for side in lacking
    ]
    for letter, values in (("A", a), ("B", b)):
        if np.isnan(values).all():
            continue
        best = int(np.nanargmax(values))
        if len(names) == 1:
            said.append(f"{letter}: {values[best]:.2f}.")
        else:
            said.append(f"{letter} finds {names[best]} most alike ({values[best]:.2f}).")
    if not lacking and len(names) > 2 and a.std() > 0 and b.std() > 0:
        said.append(
            f"Over the {len(names)} pairs the two sets of numbers correlate with r = {np.corrcoef(a, b)[0, 1]:.2f}."
        )
    return f"Cosine by {pooling} pooling. {' '.join(said)}"


def texts_so_far(run: LiveRun[Measured], n: int) -> tuple[float, str]:
    """How far a run over ``n`` texts is, 0 to 1, and that in words."""
    if run.state == "waiting":
        return 0.0, live_run.WAITING
    read = len(run.points)
    left = f", about {max(1, round(run.seconds * (n - read) / read))} s left" if read else ""
    return read / n, f"Text {min(read + 1, n):,} of {n:,}{left}"


def texts(found: Sequence[Measured], n: int, heads: tuple[Head, Head]) -> str:
    """What the run over many texts says.

    Args:
        found: what was measured.
        n: texts that were asked for.
        heads: of A and of B.
    """
    from tfmviz.analysis.batch import HEADS_APART, MATCHED_APART, summaries

    by_name = {one.name: one for one in summaries(found)}
    read = f"{len(found):,} texts" if len(found) == n else f"Stopped after {len(found):,} of {n:,} texts"
    if HEADS_APART not in by_name:
        return f"**Many texts** {read}; none of them could be compared."
    two, all_heads = by_name[HEADS_APART], by_name[MATCHED_APART]
    names = [f"{letter} L{head[0]} H{head[1]}" for letter, head in zip("AB", heads, strict=True)]
    return (
        f"**Many texts** {read}. {names[0]} and {names[1]} are {_with_spread(two)} apart, all heads matched one-to-one "
        f"{_with_spread(all_heads)} (mean ± standard deviation over n = {two.n:,} texts)."
    )


def _with_spread(one: Summary) -> str:
    return f"{one.mean:.2f}" if np.isnan(one.spread) else f"{one.mean:.2f} ± {one.spread:.2f}"


def _quoted(text: str) -> str:
    return f"“{display.markdown(display.label(text, _LONGEST))}”"


def _bits(n: float) -> str:
    return f"{short(n)} bits"

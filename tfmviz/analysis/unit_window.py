"""The part of a long text that two heads' maps show, with what lies outside of it in a column of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Shaped

from tfmviz.analysis.alignment import Alignment, Unit
from tfmviz.analysis.difference import Difference

# What stands after the units, as short as a label must be: units outside, special tokens, and no token at all.
ELSEWHERE, SPECIAL, NOTHING = "elsewhere", "special", "nothing"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class UnitWindow:
    """Two heads on consecutive units of a text.

    Attributes:
        rows: which units they are.
        units: the same.
        apart: names of the columns after them; one that neither head gives anything to is left out.
        found: the heads, [rows, columns]; rows sum to 1 as they do in the whole text.
        may_look: for A and for B, where they may look at all, [rows, columns].
        is_whole: whether nothing of the text lies outside.
    """

    rows: range
    units: tuple[Unit, ...]
    apart: tuple[str, ...]
    found: Difference
    may_look: tuple[Bool[np.ndarray, "rows columns"], Bool[np.ndarray, "rows columns"]]
    is_whole: bool


def window_rows(alignment: Alignment, first: int, most: int) -> range:
    """At most so many units, from the first one on."""
    return range(first, min(first + most, len(alignment.units)))


def unit_window(
    alignment: Alignment,
    rows: range,
    found: Difference,
    may_look: tuple[Bool[np.ndarray, "rows all_columns"], Bool[np.ndarray, "rows all_columns"]],
) -> UnitWindow:
    """Cut a part out of two heads' maps.

    Args:
        alignment: all units.
        rows: those to show.
        found: the heads on all units, with the columns of :data:`tfmviz.analysis.alignment.APART`.
        may_look: these rows of A's and of B's :func:`tfmviz.analysis.alignment.unit_visible`.
    """
    here = slice(rows.start, rows.stop)
    is_whole = len(rows) == len(alignment.units)
    a, b = (_columns(weights[here], here, np.add, is_whole) for weights in (found.a, found.b))
    looks = [_columns(open_, here, np.logical_or, is_whole) for open_ in may_look]
    names = (SPECIAL, NOTHING) if is_whole else (ELSEWHERE, SPECIAL, NOTHING)
    used = [at for at in range(len(names)) if (a + b)[:, len(rows) + at].any()]
    kept = [*range(len(rows)), *(len(rows) + at for at in used)]
    a, b = a[:, kept], b[:, kept]
    return UnitWindow(
        rows=rows,
        units=alignment.units[here],
        apart=tuple(names[at] for at in used),
        found=Difference(a=a, b=b, signed=b - a, distance=found.distance[here]),
        may_look=(looks[0][:, kept], looks[1][:, kept]),
        is_whole=is_whole,
    )


def _columns(
    whole: Shaped[np.ndarray, "rows all_columns"], here: slice, join: np.ufunc, is_whole: bool
) -> Shaped[np.ndarray, "rows columns"]:
    """The units that are shown, the others joined into one, and what stands apart from all of them."""
    units, apart = whole[:, :-2], whole[:, -2:]
    if is_whole:
        return whole
    outside = join.reduce(np.delete(units, here, axis=1), axis=1, keepdims=True)
    return np.concatenate([units[:, here], outside, apart], axis=1)

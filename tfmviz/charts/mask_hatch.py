"""Masked cells as hatched areas: masked is not a small weight and must not look like one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfmviz.charts.palette import Palette

MOST_RUNS = 6_000  # a mask more broken up than this is drawn in the ground colour of masked cells, without lines


def hatch(visible: NDArray[np.bool_], colours: Palette) -> dict[str, Any]:
    """A Plotly trace that hatches the masked cells, the lines equally far apart at every zoom.

    Args:
        visible: False where a query may not look, shape (q, k).
        colours: of the theme.
    """
    x, y = outlines(~visible)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"width": 0},
        "fill": "toself",
        "fillpattern": {
            "shape": "/",
            "size": 7,
            "solidity": 0.18,
            "fgcolor": colours.hatch,
            "bgcolor": colours.masked,
            "fillmode": "replace",
        },
        "name": "masked",
        "showlegend": True,
        "hoveron": "fills",
        "hoverinfo": "text",
        "text": "masked: may not look there",
    }


def outlines(masked: NDArray[np.bool_]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Borders of the masked areas, in cells: cell (row, column) reaches half a unit around (column, row).

    The j-th run of masked cells in a row continues the j-th run of the row above, so a triangle of n rows takes 2n
    points instead of n rectangles.

    Args:
        masked: shape (q, k).

    Returns:
        x and y of closed lines, NaN between two of them; empty if the areas are too many to draw.
    """
    rows, begins, ends = _runs(masked)
    if len(rows) > MOST_RUNS:
        return np.empty(0, np.float32), np.empty(0, np.float32)
    first_of_row = np.searchsorted(rows, rows)
    rank = np.arange(len(rows)) - first_of_row
    xs: list[NDArray[np.float64]] = []
    ys: list[NDArray[np.float64]] = []
    for j in range(int(rank.max(initial=-1)) + 1):
        chain = np.flatnonzero(rank == j)
        for part in np.split(chain, np.flatnonzero(np.diff(rows[chain]) > 1) + 1):
            x, y = _outline(rows[part], begins[part], ends[part])
            xs += [x, np.array([np.nan])]
            ys += [y, np.array([np.nan])]
    if not xs:
        return np.empty(0, np.float32), np.empty(0, np.float32)
    return np.concatenate(xs[:-1]).astype(np.float32) - 0.5, np.concatenate(ys[:-1]).astype(np.float32) - 0.5


def _runs(masked: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Row, first and one past last column of every run of masked cells, in reading order."""
    edges = np.diff(np.pad(masked, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, begins = np.nonzero(edges == 1)
    _, ends = np.nonzero(edges == -1)
    return rows, begins, ends


def _outline(
    rows: NDArray[np.intp], begins: NDArray[np.intp], ends: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Down the left side of consecutive runs and up the right side."""
    left, left_y = _steps(begins, rows)
    right, right_y = _steps(ends, rows)
    x = np.concatenate([left, right[::-1], left[:1]])
    y = np.concatenate([left_y, right_y[::-1], left_y[:1]])
    return x.astype(np.float64), y.astype(np.float64)


def _steps(columns: NDArray[np.intp], rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A line down consecutive rows, with points only where it steps aside."""
    changes = np.flatnonzero(np.diff(columns)) + 1
    starts = np.concatenate([[0], changes])
    stops = np.concatenate([changes, [len(columns)]])
    x = np.repeat(columns[starts], 2)
    y = np.stack([rows[0] + starts, rows[0] + stops], axis=1).ravel()
    return x, y

"""Batches of lines as rectangles: what is text in them and what is padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfmviz.charts.fonts import MONO, SANS
from tfmviz.charts.palette import Palette, palette
from tfmviz.errors import ConfigError
from tfmviz.text import display

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_ROWS = 64
_GAP = 0.9  # rows of air between two batches
_TALLEST, _LOWEST = 26, 5  # px of a row
_HEIGHT = 280  # px that the rows share, before they get too low or too tall
_ABOVE, _BELOW = 8, 44


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line in its batch.

    Attributes:
        text: as typed.
        number: its place in the text, from 1.
        n_tokens: its real tokens.
        length: tokens after padding.
    """

    text: str
    number: int
    n_tokens: int
    length: int


def figure(batches: Sequence[Sequence[Row]], *, longest: int, dark: bool = False) -> Figure:
    """One bar a line, from the top: text in full colour, padding hatched; a gap between batches.

    Args:
        batches: lines of each batch; of more than `MOST_ROWS` in all, the first are drawn.
        longest: tokens of the x axis, the same in every picture that is compared.
        dark: for a dark page.

    Raises:
        ConfigError: if there is no line.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    rows, heights = _placed(batches)
    if not rows:
        raise ConfigError("There is no line to draw: type some.")
    height = min(max(_HEIGHT / len(rows), _LOWEST), _TALLEST) * (heights[-1] + 1)
    return Figure(
        {
            "data": [_text(rows, heights, colours), _padding(rows, heights, colours)],
            "layout": _layout(rows, heights, longest, colours) | {"height": int(height) + _ABOVE + _BELOW},
        },
        _validate=False,
    )


def _placed(batches: Sequence[Sequence[Row]]) -> tuple[list[Row], list[float]]:
    """The rows that are drawn, and how far down each is."""
    rows: list[Row] = []
    heights: list[float] = []
    for number, batch in enumerate(batches):
        for row in batch:
            if len(rows) == MOST_ROWS:
                return rows, heights
            heights.append(len(rows) + number * _GAP)
            rows.append(row)
    return rows, heights


def _bars(rows: Sequence[Row], heights: Sequence[float], x: list[int], base: list[int]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "y": np.asarray(heights, np.float32),
        "x": np.asarray(x, np.int32),
        "base": base,
        "width": 0.86,
        "text": [display.plotly(row.text, 40) for row in rows],
        "customdata": [[row.number, row.n_tokens, row.length - row.n_tokens] for row in rows],
        "textposition": "none",
        "hovertemplate": "line %{customdata[0]}: %{text}<br>%{customdata[1]:,} tokens, %{customdata[2]:,} of padding"
        "<extra></extra>",
        "showlegend": False,
    }


def _text(rows: Sequence[Row], heights: Sequence[float], colours: Palette) -> dict[str, Any]:
    bars = _bars(rows, heights, [row.n_tokens for row in rows], [0] * len(rows))
    return bars | {"name": "text", "marker": {"color": colours.weights[11], "line": {"width": 0}}}


def _padding(rows: Sequence[Row], heights: Sequence[float], colours: Palette) -> dict[str, Any]:
    bars = _bars(rows, heights, [row.length - row.n_tokens for row in rows], [row.n_tokens for row in rows])
    return bars | {
        "name": "padding",
        "marker": {
            "color": colours.masked,
            "pattern": {"shape": "/", "size": 6, "solidity": 0.18, "fgcolor": colours.hatch, "bgcolor": colours.masked},
            "line": {"width": 0},
        },
    }


def _layout(rows: Sequence[Row], heights: Sequence[float], longest: int, colours: Palette) -> dict[str, Any]:
    every = max(1, -(-len(rows) // 12))
    axis = {
        "tickfont": {"size": 11, "color": colours.faint, "family": MONO},
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "fixedrange": True,
    }
    return {
        "template": None,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours.ink, "size": 13, "family": SANS},
        "margin": {"l": 34, "r": 12, "t": _ABOVE, "b": _BELOW, "autoexpand": False},
        "barmode": "overlay",
        "showlegend": False,
        "hoverlabel": {
            "font": {"family": MONO, "size": 13, "color": colours.ink},
            "bgcolor": colours.background,
            "bordercolor": colours.faint,
            "namelength": -1,
        },
        "xaxis": axis
        | {
            "range": [0, longest],
            "nticks": 6,
            "tickformat": ",d",
            "title": {"text": "tokens", "font": {"size": 13, "color": colours.faint}, "standoff": 6},
        },
        "yaxis": axis
        | {
            "range": [heights[-1] + 0.6, -0.6],
            "tickmode": "array",
            "tickvals": list(heights[::every]),
            "ticklabelstandoff": 4,
            "ticktext": [str(row.number) for row in rows[::every]],
        },
    }

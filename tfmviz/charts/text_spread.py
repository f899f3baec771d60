"""Numbers of many texts: a dot for each text, and over them the mean with its spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from tfmviz.charts.fonts import MONO, SANS
from tfmviz.charts.palette import Palette, palette
from tfmviz.text import display

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_ROW, _BELOW = 58, 46  # px
_BAND = 0.16  # of a row, over which the dots of one row are spread so that equal ones do not hide each other
_LONGEST = 40


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Spread:
    """One number of many texts.

    Attributes:
        name: what it is; written above its row.
        values: of each text that has it.
        texts: the texts, as many.
        mean: over the texts.
        deviation: standard deviation; NaN for a single text.
    """

    name: str
    values: Float[np.ndarray, " texts"]
    texts: Sequence[str]
    mean: float
    deviation: float


def figure(rows: Sequence[Spread], *, dark: bool = False) -> Figure:
    """Draw numbers that all go from 0 to 1, a row each.

    Args:
        rows: from the top.
        dark: for a dark page.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    data: list[dict[str, Any]] = []
    for at, row in enumerate(rows):
        data += [_dots(at, row, colours), _mean(at, row, colours)]
    drawn = {
        "template": None,
        "showlegend": False,
        "xaxis": {
            "range": [-0.02, 1.02],
            "nticks": 6,
            "tickfont": {"size": 11, "color": colours.faint, "family": MONO},
            "title": {"text": "0 alike, 1 nothing in common", "font": {"size": 13, "color": colours.faint}},
            "gridcolor": colours.masked,
            "zeroline": False,
        },
        "yaxis": {"range": [len(rows) - 0.5, -0.7], "visible": False},
        "annotations": [_name(at, row, colours) for at, row in enumerate(rows)],
        "margin": {"l": 8, "r": 12, "t": 4, "b": _BELOW, "autoexpand": False},
        "height": _BELOW + 4 + _ROW * max(len(rows), 1),
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours.ink, "family": SANS},
        "hovermode": "closest",
        "hoverlabel": {"font": {"family": MONO, "size": 13, "color": colours.ink}, "bgcolor": colours.background},
    }
    return Figure({"data": data, "layout": drawn}, _validate=False)


def _dots(at: int, row: Spread, colours: Palette) -> dict[str, Any]:
    n = len(row.values)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.asarray(row.values, np.float64),
        "y": at + _BAND * (np.arange(n) % 5 - 2) / 2,
        "text": [display.plotly(text, _LONGEST) for text in row.texts],
        "marker": {"size": 7, "color": colours.weights[8], "opacity": 0.55},
        "hovertemplate": "%{text}<br>%{x:.4f}<extra></extra>",
    }


def _mean(at: int, row: Spread, colours: Palette) -> dict[str, Any]:
    known = np.isfinite(row.deviation)
    said = f"mean {row.mean:.4f}" + (f"<br>spread {row.deviation:.4f}" if known else "")
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [row.mean],
        "y": [at],
        "error_x": {
            "type": "data",
            "array": [row.deviation if known else 0],
            "color": colours.ink,
            "thickness": 2,
            "width": 6,
            "visible": bool(known),
        },
        "marker": {"size": 13, "symbol": "diamond", "color": colours.ink},
        "hovertemplate": f"{said}<br>{len(row.values)} texts<extra></extra>",
    }


def _name(at: int, row: Spread, colours: Palette) -> dict[str, Any]:
    return {
        "text": display.html(row.name),
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": at - 0.4,
        "yref": "y",
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": 13, "color": colours.ink},
    }

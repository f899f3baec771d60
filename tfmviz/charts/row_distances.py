"""The text, with a bar under each word: how differently two heads read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from tfmviz.charts.fonts import MONO, SANS
from tfmviz.charts.map_layout import colour_bar
from tfmviz.charts.palette import palette, plotly_scale
from tfmviz.errors import ConfigError
from tfmviz.text import display

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from tfmviz.text.token import Token

COLUMNS = 44  # of a monospaced font: what a phone's width holds
_LINE = 40  # pixels of one line of words with its bars
_STRIP = 64
_LONGEST = 20
_BAR, _GAP = 0.42, 1


def figure(units: Sequence[Token], distance: Float[np.ndarray, " units"], *, dark: bool = False) -> Figure:
    """Write the units line by line; the longer and darker the bar under one, the more its row differs.

    Args:
        units: in order.
        distance: of each unit's row, 0 to 1.
        dark: for a dark page.

    Raises:
        ConfigError: if there is not one distance a unit.
    """
    from plotly.graph_objects import Figure

    if len(units) != len(distance):
        raise ConfigError(f"{len(distance)} distances for {len(units)} units")
    colours = palette(dark)
    starts, widths, lines = _places(units)
    n_lines = int(lines.max(initial=0)) + 1
    names = [display.plotly(unit, _LONGEST) for unit in units]
    bars: dict[str, Any] = {
        "type": "bar",
        "x": starts + widths / 2,
        "width": widths,
        "base": -lines.astype(float),
        "y": -np.maximum(_BAR * np.asarray(distance, float), 0.03),
        "customdata": np.asarray(distance, np.float32),
        "text": names,
        "textposition": "none",
        "marker": {
            "color": np.asarray(distance, np.float32),
            "cmin": 0,
            "cmax": 1,
            "colorscale": plotly_scale(colours.weights[3:]),
            "colorbar": colour_bar(colours, "distance of the row", {0: "0", 0.5: "0.5", 1: "1"}),
            "line": {"width": 0},
        },
        "hovertemplate": "%{text}<br>distance %{customdata:.4f}<extra></extra>",
    }
    words: dict[str, Any] = {
        "type": "scatter",
        "mode": "text",
        "x": starts + widths / 2,
        "y": 0.22 - lines,
        "text": names,
        "textfont": {"family": MONO, "size": 12, "color": colours.ink},
        "hoverinfo": "skip",
    }
    hidden = {"visible": False, "fixedrange": True}
    drawn = {
        "template": None,
        "showlegend": False,
        "xaxis": hidden | {"range": [0, COLUMNS]},
        "yaxis": hidden | {"range": [-n_lines + 0.5 - 0.02, 0.5]},
        "margin": {"l": 4, "r": 4, "t": _STRIP, "b": 4, "autoexpand": False},
        "height": _STRIP + 4 + _LINE * n_lines,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours.ink, "family": SANS},
        "hoverlabel": {"font": {"family": MONO, "size": 13, "color": colours.ink}, "bgcolor": colours.background},
    }
    return Figure({"data": [bars, words], "layout": drawn}, _validate=False)


def _places(units: Sequence[Token]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each unit begins in its line, how wide it is, and its line."""
    starts, widths, lines = [], [], []
    at, line = 0, 0
    for unit in units:
        width = max(display.columns(display.label(unit, _LONGEST)), 1)
        if at and at + width > COLUMNS:
            at, line = 0, line + 1
        starts.append(at)
        widths.append(width)
        lines.append(line)
        at += width + _GAP
    return np.array(starts, float), np.array(widths, float), np.array(lines, int)

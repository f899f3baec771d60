"""Numbers of one token as bars: a bar a key, or a bar a dimension; several panels over one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from tfmviz.charts.curves_layout import Panel, layout
from tfmviz.charts.fonts import MONO
from tfmviz.charts.palette import Palette, palette
from tfmviz.charts.stage_map import LONGEST_LABEL, MOST_UPRIGHT
from tfmviz.errors import ConfigError
from tfmviz.text import Token, display

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_GAP = 0.34  # of a panel's height, between two panels: its title stands there
_PANEL = 104  # px


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BarPanel:
    """One row of bars.

    Attributes:
        title: what they measure; written above.
        values: one a bar; finite where not masked.
        role: whose colour they have: "query", "key", "value", "weight" or "plain".
        masked: True for bars that are not there because the query may not look; hatched. None for none.
        low, high: ends of the axis; None to fit the numbers, 0 always among them.
        chosen: the bar that is followed, in full colour while the others are paler; None for none.
    """

    title: str
    values: Float[np.ndarray, " n"]
    role: str = "plain"
    masked: Bool[np.ndarray, " n"] | None = None
    low: float | None = None
    high: float | None = None
    chosen: int | None = None


def figure(
    panels: Sequence[BarPanel],
    tokens: Sequence[Token] | None,
    *,
    x_title: str,
    are_keys: bool = True,
    dark: bool = False,
    panel_height: int = _PANEL,
) -> Figure:
    """Stack the panels over one axis.

    Args:
        panels: from the top, all with as many bars.
        tokens: what the bars are; None for dimensions, numbered from 0.
        x_title: what the axis is.
        are_keys: whether the tokens are keys, and written in their colour.
        dark: for a dark page.
        panel_height: pixels of one.

    Raises:
        ConfigError: if the numbers of bars differ.
    """
    from plotly.graph_objects import Figure

    counts = {len(panel.values) for panel in panels} | ({len(tokens)} if tokens is not None else set())
    if len(counts) != 1:
        raise ConfigError(f"Bars over one axis need as many numbers in each panel: there are {sorted(counts)}.")
    colours, n = palette(dark), counts.pop()
    share = 1 / (len(panels) + _GAP * (len(panels) - 1))
    places = []
    for number, panel in enumerate(panels):
        low, high = _ends(panel)
        top = 1 - number * share * (1 + _GAP)
        places.append(Panel(title=panel.title, low=low, high=high, bottom=max(top - share, 0), top=top))
    made = layout(places, colours, x_title=x_title, x_range=[-0.5, n - 0.5])
    traces: list[dict[str, Any]] = []
    for number, (panel, place) in enumerate(zip(panels, places, strict=True), 1):
        axis = "y" if number == 1 else f"y{number}"
        traces += _bars(panel, place, axis, tokens, colours)
    bottom = _dress_x(made, tokens, are_keys, colours)
    height = int(panel_height * (len(panels) + _GAP * (len(panels) - 1))) + bottom + 30
    made |= {"height": height, "bargap": 0.15, "barmode": "overlay"}
    return Figure({"data": traces, "layout": made}, _validate=False)


def _ends(panel: BarPanel) -> tuple[float, float]:
    shown = panel.values if panel.masked is None else panel.values[~panel.masked]
    low = min(float(shown.min(initial=0)), 0.0) if panel.low is None else panel.low
    high = max(float(shown.max(initial=0)), 0.0) if panel.high is None else panel.high
    room = 0.06 * (high - low) or 1.0
    return (low - room if panel.low is None and low < 0 else low), (high + room if panel.high is None else high)


def _bars(
    panel: BarPanel, place: Panel, axis: str, tokens: Sequence[Token] | None, colours: Palette
) -> list[dict[str, Any]]:
    inks = {"query": colours.query, "key": colours.key, "value": colours.value, "weight": colours.weights[11]}
    ink = inks.get(panel.role, colours.faint)
    n = len(panel.values)
    names = [f"dimension {i}" for i in range(n)] if tokens is None else [display.plotly(one, 24) for one in tokens]
    masked = np.zeros(n, bool) if panel.masked is None else panel.masked
    opacity = [1.0 if panel.chosen in (None, i) else 0.5 for i in range(n)]
    bars = {
        "type": "bar",
        "x": np.arange(n)[~masked],
        "y": np.asarray(panel.values, np.float32)[~masked],
        "yaxis": axis,
        "marker": {"color": ink, "opacity": [opacity[i] for i in range(n) if not masked[i]], "line": {"width": 0}},
        "text": [names[i] for i in range(n) if not masked[i]],
        "textposition": "none",
        "hovertemplate": f"%{{text}}<br>{display.plotly(panel.title, 48)} %{{y:.4g}}<extra></extra>",
        "showlegend": False,
    }
    if not masked.any():
        return [bars]
    hatched = {
        "type": "bar",
        "x": np.arange(n)[masked],
        "y": np.full(int(masked.sum()), place.high - place.low, np.float32),
        "base": place.low,
        "yaxis": axis,
        "width": 1.0,
        "marker": {
            "color": colours.masked,
            "pattern": {"shape": "/", "size": 6, "solidity": 0.18, "fgcolor": colours.hatch, "bgcolor": colours.masked},
            "line": {"width": 0},
        },
        "text": [names[i] for i in range(n) if masked[i]],
        "textposition": "none",
        "hovertemplate": "%{text}<br>masked: may not look there<extra></extra>",
        "showlegend": False,
    }
    return [hatched, bars]


def _dress_x(made: dict[str, Any], tokens: Sequence[Token] | None, are_keys: bool, colours: Palette) -> int:
    """Write tokens at the bars; returns the pixels below the panels."""
    if tokens is None:
        return int(made["margin"]["b"])
    letters = max((display.columns(display.label(token, LONGEST_LABEL)) for token in tokens), default=0)
    bottom = int(letters * 0.6 * 11) + 44
    made["margin"] = made["margin"] | {"b": bottom}
    every = -(-len(tokens) // MOST_UPRIGHT)
    made["xaxis"] = made["xaxis"] | {
        "tickmode": "array",
        "tickvals": list(range(0, len(tokens), every)),
        "ticktext": [display.plotly(token, LONGEST_LABEL) for token in tokens[::every]],
        "tickangle": 90,
        "tickfont": {"size": 11, "color": colours.key_ink if are_keys else colours.ink, "family": MONO},
    }
    return bottom

"""Largest differences of two implementations, layer by layer, on a log axis with the bound that is promised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from tfmviz.charts.curves_layout import Panel, layout
from tfmviz.charts.palette import Palette, palette

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from tfmviz.analysis.same_weights import LargestDifferences

EMBEDDING = -1  # where the embedding stands on the axis of layers
_LEAST = -8  # a power of ten that is always on the axis, so that rounding is seen to be rounding
_MOST_TICKS = 8
_HEIGHT = 400
_BELOW = 116  # px


def figure(found: LargestDifferences, *, bound: float, dark: bool = False) -> Figure:
    """Draw the differences: dots for attention weights, open squares for hidden states, a diamond for logits.

    A log axis has no 0. What is exactly 0 stands on a line of its own under the axis, which says so.

    Args:
        found: the differences.
        bound: what is promised for attention weights, dashed.
        dark: for a dark page.
    """
    from plotly.graph_objects import Figure

    colours, n_layers = palette(dark), len(found.weights)
    series = [
        ("attention weights", np.arange(n_layers), found.weights, "circle", colours.query),
        ("hidden states", np.arange(len(found.hidden)) + EMBEDDING, found.hidden, "square-open", colours.value),
    ]
    if found.logits is not None:
        series.append(("logits", np.array([n_layers]), np.array([found.logits]), "diamond-open", colours.key))
    zero, top = _ends([values for _, _, values, _, _ in series], bound)
    panel = Panel(
        title="largest difference (log axis)", low=math.log10(zero) - 0.5, high=top + 0.5, bottom=0, top=1, log=True
    )
    beside = max(0.5, 0.04 * n_layers)  # room for the marks at both ends
    ends = [EMBEDDING - beside, n_layers - (found.logits is None) + beside]
    drawn = layout([panel], colours, x_title="layer", x_range=ends)
    drawn["xaxis"] |= _layers(n_layers, has_logits=found.logits is not None)
    powers = [10.0**power for power in range(round(math.log10(zero)) + 1, math.floor(top) + 1)]
    drawn["yaxis"] |= {"tickvals": [zero, *powers], "ticktext": ["exactly 0", *(f"{power:.0e}" for power in powers)]}
    drawn["margin"] |= {"l": 76, "r": 82, "b": _BELOW}
    drawn["annotations"][0] |= {"xshift": -68}
    drawn["annotations"].append(_said(bound, colours))
    drawn |= {
        "height": _HEIGHT,
        "showlegend": True,
        # under the axis, where a phone has room for three lines of it
        "legend": {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top", "font": {"size": 13}},
        "shapes": [
            _line(bound, "dash", colours),
            _line(zero * math.sqrt(10), "dot", colours),
        ],
    }
    return Figure({"data": [_points(*one, zero) for one in series], "layout": drawn}, _validate=False)


def _ends(values: Sequence[Float[np.ndarray, " points"]], bound: float) -> tuple[float, float]:
    """Where an exact 0 is drawn, and the highest power of ten."""
    every = np.concatenate([*values, [bound]])
    sizes = np.log10(every[np.isfinite(every) & (every > 0)])
    return 10.0 ** (min(_LEAST, math.floor(sizes.min())) - 1), float(sizes.max())


def _points(
    name: str,
    x: Float[np.ndarray, " points"],
    y: Float[np.ndarray, " points"],
    symbol: str,
    colour: str,
    zero: float,
) -> dict[str, Any]:
    places = ["the embedding" if at == EMBEDDING else f"layer {at}" for at in x.tolist()]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": x,
        "y": np.where(y == 0, zero, y),
        "customdata": y,
        "text": ["" if name == "logits" else f"{place}<br>" for place in places],
        "marker": {"symbol": symbol, "color": colour, "size": 9, "line": {"width": 2}},
        "hovertemplate": f"{name}<br>%{{text}}at most %{{customdata:.4g}}<extra></extra>",
    }


def _layers(n_layers: int, *, has_logits: bool) -> dict[str, Any]:
    """Ticks: the embedding, every so many layers, the logits. Beside the two words there must be room."""
    step = -(-n_layers // _MOST_TICKS)
    shown = [layer for layer in range(0, n_layers, step) if step == 1 or step // 2 < layer < n_layers - step // 2 - 1]
    ticks = {EMBEDDING: "emb.", **{layer: f"L{layer}" for layer in shown}}
    if has_logits:
        ticks[n_layers] = "logits"
    return {"tickmode": "array", "tickvals": list(ticks), "ticktext": list(ticks.values()), "tickangle": 0}


def _line(at: float, dash: str, colours: Palette) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": at,
        "y1": at,
        "layer": "below",
        "line": {"color": colours.ink, "width": 1, "dash": dash},
    }


def _said(bound: float, colours: Palette) -> dict[str, Any]:
    return {
        "text": "promised<br>for weights",
        "x": 1,
        "xref": "paper",
        "xanchor": "left",
        "xshift": 6,
        "align": "left",
        "y": math.log10(bound),
        "yref": "y",
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": 12, "color": colours.ink},
    }

"""One mask as a small picture among several: the cells it allows, the weights that result, or what it changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from tfmviz.charts.fonts import MONO
from tfmviz.charts.mask_hatch import hatch
from tfmviz.charts.palette import Palette, palette, plotly_scale
from tfmviz.errors import ConfigError
from tfmviz.text import display
from tfmviz.text.token import Token

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Show = Literal["allowed", "weights", "difference"]
SHOWS: tuple[Show, ...] = get_args(Show)
CELLS = 64  # rows and columns of a panel; longer texts are drawn in blocks
HEIGHT = 268
CONFIG = {"displayModeBar": False, "responsive": True, "scrollZoom": False}


@dataclass(frozen=True, kw_only=True, slots=True)
class MaskPanel:
    """The numbers of one panel.

    Attributes:
        visible: True where the query may look, [q, k].
        weights: 0 to 1, [q, k].
        own_visible: the same under the model's own mask.
        own_weights: likewise.
    """

    visible: Bool[np.ndarray, "q k"]
    weights: Float[np.ndarray, "q k"]
    own_visible: Bool[np.ndarray, "q k"]
    own_weights: Float[np.ndarray, "q k"]


def figure(
    panel: MaskPanel, query_tokens: Sequence[Token], key_tokens: Sequence[Token], show: Show, *, dark: bool = False
) -> Figure:
    """Draw one panel: queries down, keys across, no labels but on hover.

    Args:
        panel: the numbers.
        query_tokens: q of them, the rows.
        key_tokens: k of them, the columns.
        show: which of the three views.
        dark: for a dark page.

    Returns:
        A figure of at most 64 x 64 blocks. A block holds its largest weight, or the largest change with its sign, and
        is allowed where any of its cells is.

    Raises:
        ConfigError: if the shapes do not agree.
    """
    from plotly.graph_objects import Figure

    expected = (len(query_tokens), len(key_tokens))
    if any(array.shape != expected for array in (panel.visible, panel.weights, panel.own_visible, panel.own_weights)):
        raise ConfigError(f"a panel's arrays must all have shape {expected}: one row a query, one column a key")
    colours = palette(dark)
    z, visible = _values(panel, show)
    heatmap = _heatmap(z, visible, show, colours)
    masked = [] if visible.all() else [hatch(visible, colours) | {"showlegend": False, "hoverinfo": "skip"}]
    return Figure(
        {"data": [heatmap, *masked], "layout": _layout(query_tokens, key_tokens, z.shape, colours)}, _validate=False
    )


def _values(panel: MaskPanel, show: Show) -> tuple[Float[np.ndarray, "r c"], Bool[np.ndarray, "r c"]]:
    """What is drawn, in blocks, and which blocks are not hatched."""
    if show == "difference":
        change = panel.weights - panel.own_weights
        return blocks(change, signed=True), blocks(panel.visible | panel.own_visible)
    return blocks(panel.weights if show == "weights" else panel.visible.astype(np.float32)), blocks(panel.visible)


def blocks(values: np.ndarray, *, signed: bool = False) -> np.ndarray:
    """The largest value of each block, so that at most 64 x 64 are left; with ``signed``, the largest in size.

    Args:
        values: [q, k].
        signed: keep the sign of what is farthest from 0.
    """
    if signed:
        high, low = blocks(values), -blocks(-values)
        return np.where(high >= -low, high, low)
    for axis in (0, 1):
        size = -(-values.shape[axis] // CELLS)
        if size > 1:
            values = np.maximum.reduceat(values, range(0, values.shape[axis], size), axis=axis)
    return values


def _heatmap(z: np.ndarray, visible: np.ndarray, show: Show, colours: Palette) -> dict[str, Any]:
    drawn = np.where(visible, z, np.nan).astype(np.float32)
    trace: dict[str, Any] = {
        "type": "heatmap",
        "z": drawn,
        "hoverongaps": False,
        "hovertemplate": "query %{y}<br>key %{x}<br>" + show.removesuffix("s") + " %{z:.4f}<extra></extra>",
    }
    if show == "allowed":
        flat = colours.weights[6]
        return trace | {
            "zmin": 0,
            "zmax": 1,
            "colorscale": [[0, flat], [1, flat]],
            "showscale": False,
            "hovertemplate": "query %{y}<br>may look at key %{x}<extra></extra>",
        }
    low = -1 if show == "difference" else 0
    return trace | {
        "zmin": low,
        "zmax": 1,
        "colorscale": plotly_scale(colours.difference if low else colours.weights),
        "colorbar": _bar(colours, [-1, 0, 1] if low else [0, 0.5, 1]),
    }


def _bar(colours: Palette, ticks: Sequence[float]) -> dict[str, Any]:
    return {
        "orientation": "h",
        "thickness": 6,
        "len": 0.6,
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yanchor": "top",
        "ypad": 6,
        "xpad": 4,
        "ticklabeloverflow": "allow",  # the −1 at the left end would be left out
        "outlinewidth": 0,
        "tickvals": list(ticks),
        "ticktext": [f"{'+' if tick > 0 and ticks[0] < 0 else ''}{tick:g}".replace("-", "−") for tick in ticks],
        "tickfont": {"size": 10, "color": colours.faint, "family": MONO},
    }


def _layout(
    query_tokens: Sequence[Token], key_tokens: Sequence[Token], shape: tuple[int, ...], colours: Palette
) -> dict[str, Any]:
    rows, columns = shape
    return {
        "template": None,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": colours.masked,
        "font": {"color": colours.ink},
        "margin": {"l": 4, "r": 4, "t": 4, "b": 32, "autoexpand": False},
        "height": HEIGHT,
        "dragmode": False,
        "hoverlabel": {
            "font": {"family": MONO, "size": 13, "color": colours.ink},
            "bgcolor": colours.background,
            "bordercolor": colours.faint,
            "namelength": -1,
        },
        "xaxis": _axis(key_tokens, columns)
        | {"range": [-0.5, columns - 0.5], "constrain": "domain", "constraintoward": "left"},
        "yaxis": _axis(query_tokens, rows)
        | {"range": [rows - 0.5, -0.5], "constrain": "domain", "constraintoward": "top", "scaleanchor": "x"},
    }


def _axis(tokens: Sequence[Token], n: int) -> dict[str, Any]:
    """A numeric axis that names tokens, or the first and last of a block, on hover alone."""
    size = -(-len(tokens) // n)
    names = [display.plotly(token, 16) for token in tokens[::size]]
    if size > 1:
        lasts = [display.plotly(tokens[min(i + size, len(tokens)) - 1], 16) for i in range(0, len(tokens), size)]
        names = [f"{first} … {last}" for first, last in zip(names, lasts, strict=True)]
    return {
        "type": "linear",
        "showgrid": False,
        "zeroline": False,
        "showticklabels": False,
        "ticks": "",
        "tickmode": "array",
        "tickvals": list(range(n)),
        "ticktext": names,
        "fixedrange": True,
    }

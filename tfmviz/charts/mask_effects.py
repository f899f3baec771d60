"""What masks are for, as pictures: how far a change spreads, and what padding does to each layer and token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from tfmviz.charts.fonts import MONO, SANS
from tfmviz.charts.palette import Palette, palette, plotly_scale
from tfmviz.errors import ConfigError
from tfmviz.text import display
from tfmviz.text.token import Token

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_TICKS = 60
_LABEL = 12


def movement(values: Float[np.ndarray, "layers n"], tokens: Sequence[Token], at: int, *, dark: bool = False) -> Figure:
    """How far each token's state moved, layer by layer; cells that did not move at all stay open.

    Args:
        values: 0 or more; 0 is exactly unchanged.
        tokens: n of them, the columns.
        at: the token that was changed, marked.
        dark: for a dark page.

    Raises:
        ConfigError: if the shapes do not agree.
    """
    from plotly.graph_objects import Figure

    if values.shape[1] != len(tokens):
        raise ConfigError(f"movement has shape {values.shape}, one column for each of {len(tokens)} tokens expected")
    colours = palette(dark)
    layers = ["embedding", *(f"layer {i}" for i in range(len(values) - 1))]
    moved = values > 0
    heatmap = {
        "type": "heatmap",
        "z": np.where(moved, np.log10(np.maximum(values, 1e-12)), np.nan).astype(np.float32),
        "customdata": values.astype(np.float32),
        "zmin": -4,
        "zmax": 0,
        "colorscale": plotly_scale(colours.weights[2:]),
        "hoverongaps": False,
        "hovertemplate": "%{x}<br>after %{y}<br>moved by %{customdata:.4g} of its length<extra></extra>",
        "xgap": int(len(tokens) <= MOST_TICKS),
        "ygap": 1,
        "colorbar": {
            "orientation": "h",
            "thickness": 8,
            "len": 0.5,
            "x": 1,
            "xanchor": "right",
            "y": 1,
            "yanchor": "bottom",
            "outlinewidth": 0,
            "tickvals": [-4, -2, 0],
            "ticktext": ["10⁻⁴", "0.01", "1"],
            "tickangle": 0,
            "tickfont": {"size": 11, "color": colours.faint, "family": MONO},
        },
    }
    layout = _layout(colours, tokens, colours.key_ink) | {
        "height": 124 + max(60, min(22 * len(values), 330)) + _room(tokens),
        "plot_bgcolor": colours.masked,
        "shapes": [
            {
                "type": "rect",
                "x0": at - 0.5,
                "x1": at + 0.5,
                "y0": -0.5,
                "y1": len(values) - 0.5,
                "line": {"color": colours.key, "width": 2},
            }
        ],
    }
    layout["margin"] = layout["margin"] | {"t": 40, "l": 88}
    layout["yaxis"] = {
        "tickvals": list(range(len(values))),
        "ticktext": _thinned(layers),
        "range": [-0.5, len(values) - 0.5],
        "tickfont": {"size": 11, "color": colours.faint, "family": MONO},
        "ticklabelstandoff": 4,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
    }
    return Figure({"data": [heatmap], "layout": layout}, _validate=False)


def by_token(
    series: Sequence[tuple[str, Float[np.ndarray, " n"]]],
    tokens: Sequence[Token],
    *,
    title: str,
    hover: str,
    dark: bool = False,
) -> Figure:
    """One number a token, of one or two measurements: the first in solid dots, the second in outlined squares.

    Args:
        series: names and values, n each.
        tokens: the columns.
        title: what the y axis measures, with its unit.
        hover: the measure's name on hover.
        dark: for a dark page.

    Raises:
        ConfigError: if the lengths do not agree.
    """
    from plotly.graph_objects import Figure

    if any(len(values) != len(tokens) for _, values in series):
        raise ConfigError(f"each series must have {len(tokens)} values, one a token")
    colours = palette(dark)
    data = [_dots(name, list(range(len(tokens))), values, mark, hover, colours) for mark, (name, values) in _by(series)]
    layout = _layout(colours, tokens, colours.query_ink) | {"height": 300 + _room(tokens), "yaxis": _y(series, colours)}
    return Figure({"data": data, "layout": layout | _named(title, colours)}, _validate=False)


def by_layer(
    series: Sequence[tuple[str, Float[np.ndarray, " layers"]]], *, title: str, hover: str, dark: bool = False
) -> Figure:
    """One number a layer, of one or two measurements. Arguments as for :func:`by_token`."""
    from plotly.graph_objects import Figure

    colours = palette(dark)
    data = [_dots(name, list(range(len(values))), values, mark, hover, colours) for mark, (name, values) in _by(series)]
    n = max(len(values) for _, values in series)
    layout = _layout(colours, (), colours.faint) | {"height": 330, "yaxis": _y(series, colours)}
    layout["xaxis"] = layout["xaxis"] | {
        "tickmode": "linear",
        "tick0": 0,
        "dtick": max(1, n // 10),
        "range": [-0.5, n - 0.5],
        "title": {"text": "layer", "font": {"size": 13, "color": colours.faint}},
    }
    return Figure({"data": data, "layout": layout | _named(title, colours)}, _validate=False)


def _by(series: Sequence[tuple[str, Float[np.ndarray, " n"]]]) -> list[tuple[int, tuple[str, np.ndarray]]]:
    return list(enumerate(series))


def _dots(name: str, x: list[int], y: np.ndarray, mark: int, hover: str, colours: Palette) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": x,
        "y": np.asarray(y, np.float32),
        "line": {"color": colours.heads[mark], "width": 1, "dash": "solid" if mark == 0 else "dot"},
        "marker": {"color": colours.heads[mark], "size": 7, "symbol": ("circle", "square-open")[mark]},
        "hovertemplate": f"{name}<br>%{{x}}<br>{hover} %{{y:.4f}}<extra></extra>",
    }


def _named(title: str, colours: Palette) -> dict[str, Any]:
    return {
        "title": {
            "text": display.html(title),
            "font": {"size": 13, "color": colours.ink},
            "x": 0,
            "xref": "container",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"l": 4, "t": 4},
        },
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 12}},
    }


def _y(series: Sequence[tuple[str, Float[np.ndarray, " n"]]], colours: Palette) -> dict[str, Any]:
    values = np.concatenate([one for _, one in series])
    # Around one and the same number Plotly would draw from one below it to one above, and no share is -1.
    level = {"range": [-0.03, 1.03]} if values.size and np.ptp(values) < 1e-6 and 0 <= values[0] <= 1.01 else {}
    return level | {
        "tickfont": {"size": 11, "color": colours.faint, "family": MONO},
        "gridcolor": colours.masked,
        "zeroline": False,
        "ticks": "",
        "rangemode": "normal",
        "nticks": 5,
    }


def _room(tokens: Sequence[Token]) -> int:
    """Pixels that upright labels take under the picture."""
    if not tokens or len(tokens) > MOST_TICKS:
        return 0
    return int(max(display.columns(display.label(token, _LABEL)) for token in tokens) * 7)


def _thinned(names: Sequence[str], most: int = 14) -> list[str]:
    step = -(-len(names) // most)
    return [name if i % step == 0 else "" for i, name in enumerate(names)]


def _layout(colours: Palette, tokens: Sequence[Token], ink: str) -> dict[str, Any]:
    names = [display.plotly(token, _LABEL) for token in tokens]
    axis: dict[str, Any] = {
        "type": "linear",
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": 11, "color": ink, "family": MONO},
        "range": [-0.5, max(len(tokens), 1) - 0.5],
    }
    if tokens:
        axis |= {
            "tickmode": "array",
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "tickangle": 90,
            "showticklabels": len(names) <= MOST_TICKS,
        }
    return {
        "template": None,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours.ink, "size": 13, "family": SANS},
        "margin": {"l": 52, "r": 12, "t": 56, "b": 34 + _room(tokens), "autoexpand": False},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {
            "font": {"family": MONO, "size": 13, "color": colours.ink},
            "bgcolor": colours.background,
            "bordercolor": colours.faint,
            "namelength": -1,
        },
        "xaxis": axis,
    }

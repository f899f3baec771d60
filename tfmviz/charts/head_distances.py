"""All heads of A against all heads of B: how far apart they are, and which of them belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfmviz.charts.fonts import MONO, SANS
from tfmviz.charts.map_layout import colour_bar
from tfmviz.charts.palette import Palette, palette, plotly_scale

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from tfmviz.analysis.matching import Head, HeadDistances, Match

_HEIGHT = 520
_MOST_LAYERS = 16  # layers with a tick each; of more, every so many


def figure(
    found: HeadDistances,
    pairs: Sequence[Match],
    chosen: tuple[Head, Head],
    *,
    order: tuple[np.ndarray, np.ndarray] | None = None,
    dark: bool = False,
) -> Figure:
    """Draw the distances: heads of A down, heads of B across, dark where two heads are alike.

    Args:
        found: the distances.
        pairs: which heads belong together; a dot each.
        chosen: the heads that are looked at, ringed.
        order: rows and columns in another order, such as clustered; None for layer by layer.
        dark: for a dark page.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    rows, columns = order or (np.arange(len(found.heads_a)), np.arange(len(found.heads_b)))
    heads_a, heads_b = [found.heads_a[i] for i in rows], [found.heads_b[i] for i in columns]
    heatmap: dict[str, Any] = {
        "type": "heatmap",
        "z": np.ascontiguousarray(found.values[np.ix_(rows, columns)], np.float32),
        "zmin": 0,
        "zmax": 1,
        "colorscale": plotly_scale(colours.weights[::-1]),
        "colorbar": colour_bar(colours, "distance", {0: "0 alike", 0.5: "0.5", 1: "1"}),
        "customdata": _names(heads_a, heads_b),
        "hovertemplate": "A L%{customdata[0]} H%{customdata[1]}<br>B L%{customdata[2]} H%{customdata[3]}<br>"
        "distance %{z:.4f}<br>click to open<extra></extra>",
    }
    place_a, place_b = ({head: at for at, head in enumerate(heads)} for heads in (heads_a, heads_b))
    dots = _dots([(place_b[pair.b], place_a[pair.a]) for pair in pairs], colours) | {
        "customdata": [[*pair.a, *pair.b, pair.distance] for pair in pairs],
        "hovertemplate": "A L%{customdata[0]} H%{customdata[1]} with B L%{customdata[2]} H%{customdata[3]}<br>"
        "distance %{customdata[4]:.4f}<br>click to open<extra></extra>",
    }
    data = [heatmap, dots]
    if chosen[0] in place_a and chosen[1] in place_b:
        data.append(_ring(place_b[chosen[1]], place_a[chosen[0]], colours))
    drawn = {
        "template": None,
        "showlegend": False,
        "xaxis": _axis("heads of B", heads_b, order is None, colours) | {"range": [-0.5, len(heads_b) - 0.5]},
        "yaxis": _axis("heads of A", heads_a, order is None, colours) | {"range": [len(heads_a) - 0.5, -0.5]},
        "margin": {"l": 64, "r": 12, "t": 72, "b": 56, "autoexpand": False},
        "height": _HEIGHT,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours.ink, "family": SANS},
        "hoverlabel": {"font": {"family": MONO, "size": 13, "color": colours.ink}, "bgcolor": colours.background},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": colours.faint, "activecolor": colours.ink},
        "dragmode": "pan",
    }
    return Figure({"data": data, "layout": drawn}, _validate=False)


def _names(heads_a: Sequence[Head], heads_b: Sequence[Head]) -> np.ndarray:
    """Layer and head of A, layer and head of B in every cell: int16 [rows, columns, 4]."""
    names = np.zeros((len(heads_a), len(heads_b), 4), np.int16)
    names[:, :, :2] = np.array(heads_a, np.int16)[:, None]
    names[:, :, 2:] = np.array(heads_b, np.int16)[None]
    return names


def _dots(places: Sequence[tuple[int, int]], colours: Palette) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [x for x, _ in places],
        "y": [y for _, y in places],
        "marker": {"size": 8, "color": colours.key, "line": {"color": colours.background, "width": 1}},
    }


def _ring(x: int, y: int, colours: Palette) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [x],
        "y": [y],
        "hoverinfo": "skip",
        "marker": {"size": 18, "symbol": "circle-open", "color": colours.key, "line": {"width": 3}},
    }


def _axis(title: str, heads: Sequence[Head], by_layer: bool, colours: Palette) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "title": {"text": title, "font": {"size": 13, "color": colours.ink}},
        "tickfont": {"size": 11, "color": colours.faint, "family": MONO},
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "tickmode": "array",
        "tickvals": [],
    }
    if not by_layer:
        return axis
    firsts = [at for at, head in enumerate(heads) if head[1] == 0]
    firsts = firsts[:: -(-len(firsts) // _MOST_LAYERS)]
    return axis | {"tickvals": firsts, "ticktext": [f"L{heads[at][0]}" for at in firsts]}

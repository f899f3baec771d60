"""What two models say: probabilities of next pieces as pairs of bars, similarities of sentences as pairs of dots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from tfmviz.charts.fonts import MONO, SANS
from tfmviz.charts.palette import Palette, palette
from tfmviz.errors import ConfigError
from tfmviz.text import display

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from tfmviz.analysis.outputs import NextPieces

_ROW, _ABOVE, _BELOW = 26, 34, 46  # px
_LONGEST = 18
_LETTER = 7.0


def next_pieces(found: NextPieces, *, dark: bool = False) -> Figure:
    """Bars of both models for each piece, likeliest first: A filled, B outlined.

    Args:
        found: the pieces and their probabilities; one that a vocabulary does not have gets no bar, and says so.
        dark: for a dark page.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    names = [display.plotly(piece, _LONGEST) for piece in found.pieces]
    labels = [display.label(piece, _LONGEST) for piece in found.pieces]
    data = [
        _bars("A", found.a, -0.2, {"color": colours.weights[11], "line": {"width": 0}}, names),
        _bars("B", found.b, 0.2, {"color": "rgba(0,0,0,0)", "line": {"color": colours.ink, "width": 1.5}}, names),
    ]
    top = float(np.nanmax([0, *found.a, *found.b])) or 1.0
    drawn = _layout(names, labels, colours, x_title="probability of the next piece")
    drawn["xaxis"] |= {"range": [0, top * 1.08], "nticks": 5}
    drawn |= {"barmode": "overlay", "bargap": 0}
    return Figure({"data": data, "layout": drawn}, _validate=False)


def similarities(
    pairs: Sequence[str], a: Float[np.ndarray, " pairs"], b: Float[np.ndarray, " pairs"], *, dark: bool = False
) -> Figure:
    """A dot of each model for each pair of sentences, joined by a line: A filled, B outlined.

    Args:
        pairs: what to call each pair, plain text of ours.
        a, b: cosines; NaN where a model has none.
        dark: for a dark page.

    Raises:
        ConfigError: if there is not one number of each a pair.
    """
    from plotly.graph_objects import Figure

    if not len(pairs) == len(a) == len(b):
        raise ConfigError(f"{len(pairs)} pairs have {len(a)} and {len(b)} similarities: one of each is needed.")
    colours, rows = palette(dark), np.arange(len(pairs))
    names = [display.html(pair) for pair in pairs]
    between = np.stack([a, b, np.full(len(rows), np.nan)], axis=1).reshape(-1)
    line = {
        "type": "scatter",
        "mode": "lines",
        "x": between,
        "y": np.repeat(rows, 3),
        "line": {"color": colours.hatch, "width": 2},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    data = [line, *(_dots(name, values, rows, names, colours) for name, values in (("A", a), ("B", b)))]
    drawn = _layout(names, list(pairs), colours, x_title="cosine of the angle between two sentences")
    low = min(0.0, float(np.nanmin([0, *a, *b])))
    drawn["xaxis"] |= {"range": [low - 0.03, 1.03], "nticks": 6}
    return Figure({"data": data, "layout": drawn}, _validate=False)


def _bars(
    name: str, values: Float[np.ndarray, " pieces"], shift: float, marker: dict[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    lacking = ["not in its vocabulary" if np.isnan(value) else f"{value:.4f}" for value in values]
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": np.nan_to_num(values).astype(np.float32),
        "y": np.arange(len(values)) + shift,
        "width": 0.34,
        "marker": marker,
        "text": [f"{piece}<br>{name} {said}" for piece, said in zip(names, lacking, strict=True)],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
    }


def _dots(
    name: str, values: Float[np.ndarray, " pairs"], rows: np.ndarray, names: Sequence[str], colours: Palette
) -> dict[str, Any]:
    symbol, colour = ("circle" if name == "A" else "circle-open"), colours.weights[11]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": values,
        "y": rows,
        "marker": {"symbol": symbol, "size": 11, "color": colour, "line": {"width": 2, "color": colour}},
        "text": names,
        "hovertemplate": f"%{{text}}<br>{name} %{{x:.4f}}<extra></extra>",
    }


def _layout(names: Sequence[str], labels: Sequence[str], colours: Palette, *, x_title: str) -> dict[str, Any]:
    left = int(_LETTER * max((display.columns(label) for label in labels), default=0)) + 20
    ticks = {"size": 12, "color": colours.ink, "family": MONO}
    return {
        "template": None,
        "xaxis": {
            "title": {"text": x_title, "font": {"size": 13, "color": colours.faint}, "standoff": 6},
            "tickfont": {"size": 11, "color": colours.faint, "family": MONO},
            "gridcolor": colours.masked,
            "zeroline": False,
        },
        "yaxis": {
            "range": [len(names) - 0.5, -0.5],
            "tickmode": "array",
            "tickvals": list(range(len(names))),
            "ticktext": list(names),
            "tickfont": ticks,
            "ticks": "",
            "ticklabelstandoff": 4,
            "showgrid": False,
            "zeroline": False,
        },
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1,
            "yanchor": "bottom",
            "traceorder": "normal",
            "font": {"color": colours.ink, "size": 13},
        },
        "margin": {"l": left, "r": 12, "t": _ABOVE, "b": _BELOW, "autoexpand": False},
        "height": _ABOVE + _BELOW + _ROW * max(len(names), 2),
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours.ink, "family": SANS},
        "hoverlabel": {"font": {"family": MONO, "size": 13, "color": colours.ink}, "bgcolor": colours.background},
    }

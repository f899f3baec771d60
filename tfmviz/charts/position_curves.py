"""Pictures of positions: heatmaps by position, curves against distance, and rotating pairs as hands of clocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from tfmviz.charts.curves_layout import EndLabel, Panel, end_labels, layout
from tfmviz.charts.fonts import MONO, SANS
from tfmviz.charts.palette import Palette, palette, plotly_scale
from tfmviz.errors import ConfigError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")  # of measured points, line by line
MOST_CELLS = 256  # rows and columns of a heatmap; of longer ones every so many are drawn


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line.

    Attributes:
        name: written at its end.
        x: ascending.
        y: as many.
        dots: whether the points were measured: dots then, and a line where they follow from a formula.
    """

    name: str
    x: Float[np.ndarray, " points"]
    y: Float[np.ndarray, " points"]
    dots: bool = False


def heat(z: Float[np.ndarray, "rows columns"], *, x_title: str, y_title: str, title: str, dark: bool = False) -> Figure:
    """Numbers from -1 to 1, blue through the background to orange; row 0 at the top.

    Args:
        z: one row a position.
        x_title, y_title: what columns and rows are.
        title: plain text above.
        dark: for a dark page.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    rows, columns = (np.arange(0, size, -(-size // MOST_CELLS)) for size in z.shape)
    trace = {
        "type": "heatmap",
        "z": np.ascontiguousarray(z[np.ix_(rows, columns)], np.float32),
        "x": columns,
        "y": rows,
        "zmin": -1,
        "zmax": 1,
        "colorscale": plotly_scale(colours.difference),
        "hovertemplate": f"{y_title} %{{y}}<br>{x_title} %{{x}}<br>%{{z:.4f}}<extra></extra>",
        "colorbar": {
            "orientation": "h",
            "thickness": 8,
            "len": 0.4,
            "x": 1,
            "xanchor": "right",
            "y": 1,
            "yanchor": "bottom",
            "outlinewidth": 0,
            "tickvals": [-1, 0, 1],
            "ticktext": ["−1", "0", "+1"],
            "tickfont": {"size": 11, "color": colours.faint, "family": MONO},
        },
    }
    return Figure({"data": [trace], "layout": _heat_layout(x_title, y_title, title, colours)}, _validate=False)


def _heat_layout(x_title: str, y_title: str, title: str, colours: Palette) -> dict[str, Any]:
    axis = {
        "tickfont": {"size": 11, "color": colours.faint, "family": MONO},
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "nticks": 8,
    }
    return {
        "template": None,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours.ink, "size": 13, "family": SANS},
        "height": 396,
        "margin": {"l": 56, "r": 16, "t": 72, "b": 44, "autoexpand": False},
        # above the colour bar: beside it there is no room on a phone
        "annotations": [_title(title, colours) | {"yshift": 36}],
        "hoverlabel": _hover(colours),
        "xaxis": axis | {"title": {"text": x_title, "font": {"size": 13, "color": colours.faint}}},
        "yaxis": axis
        | {"title": {"text": y_title, "font": {"size": 13, "color": colours.faint}}, "autorange": "reversed"},
    }


def lines(
    series: Sequence[Line],
    *,
    x_title: str,
    title: str,
    log_x: bool = False,
    log_y: bool = False,
    mark: float | None = None,
    dark: bool = False,
) -> Figure:
    """Lines named at their ends.

    Args:
        series: at most twelve.
        x_title: what the x axis measures.
        title: what the y axis measures, with its unit.
        log_x, log_y: logarithmic axes, which the titles then say.
        mark: an x to mark, such as the trained length.
        dark: for a dark page.

    Raises:
        ConfigError: if there is nothing to draw, or a number is not above 0 on a log axis.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    if not series or len(series) > len(colours.heads):
        raise ConfigError(f"{len(series)} lines cannot be drawn: use 1 to {len(colours.heads)}.")
    every = np.concatenate([np.asarray(line.y, np.float64) for line in series])
    first, last = min(float(line.x[0]) for line in series), max(float(line.x[-1]) for line in series)
    if (log_y and every.min() <= 0) or (log_x and first <= 0):
        raise ConfigError(f"{title}: numbers on a log axis must be above 0")
    low, high = (math.log10(v) if log_y else float(v) for v in (every.min(), every.max()))
    room = 0.06 * (high - low or 1.0)
    panel = Panel(title=title, low=low - room, high=high + room, bottom=0, top=1, log=log_y)
    ends = (math.log10(first), math.log10(last)) if log_x else (first, last)
    if ends[0] == ends[1]:
        ends = (ends[0] - 0.5, ends[1] + 0.5)
    elif any(line.dots for line in series):
        # a dot that lies on the very end counts as outside of the axis, and is left out
        air = 0.01 * (ends[1] - ends[0])
        ends = (ends[0] - air, ends[1] + air)
    names = [line.name for line in series]
    made = layout([panel], colours, x_title=x_title, x_range=ends, names=names)
    whole = [i for i, line in enumerate(series) if float(line.x[-1]) == last]
    labels = {
        i: EndLabel(
            text=line.name,
            x=math.log10(float(line.x[-1])) if log_x else float(line.x[-1]),
            y=math.log10(float(line.y[-1])) if log_y else float(line.y[-1]),
            colour=colours.heads[i],
        )
        for i, line in enumerate(series)
    }
    made["annotations"] += end_labels([labels[i] for i in whole], panel, "y")
    for early in (labels[i] for i in labels if i not in whole):
        # the others go on beside its end: its name stands above
        made["annotations"] += [one | {"yanchor": "bottom", "yshift": 4} for one in end_labels([early], panel, "y")]
    made["height"] = 380
    if log_x:
        # a label at each power of ten, or at the points themselves where there are few
        few = len(series[0].x) <= 12
        made["xaxis"] |= {"type": "log"} | ({"tickvals": _every(series)} if few else {"dtick": 1})
    if mark is not None:
        made["shapes"] = [_mark(mark, colours)]
    return Figure({"data": [_line(line, i, colours) for i, line in enumerate(series)], "layout": made}, _validate=False)


def _every(series: Sequence[Line]) -> list[float]:
    return sorted({float(x) for line in series for x in line.x})


def _line(line: Line, number: int, colours: Palette) -> dict[str, Any]:
    colour = colours.heads[number]
    return {
        "type": "scatter",
        "mode": "lines+markers" if line.dots else "lines",
        "x": np.asarray(line.x, np.float32),
        "y": np.asarray(line.y, np.float32),
        "line": {"color": colour, "width": 1.5},
        "marker": {"color": colour, "size": 8, "symbol": SYMBOLS[number % len(SYMBOLS)]},
        "cliponaxis": not line.dots,
        "hovertemplate": f"{line.name}<br>%{{x:,}}: %{{y:.4g}}<extra></extra>",
    }


def _mark(x: float, colours: Palette) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": colours.faint, "width": 1.5, "dash": "dash"},
    }


def clocks(angles: Sequence[float], names: Sequence[str], *, title: str, dark: bool = False) -> Figure:
    """Pairs of dimensions as hands of clocks: where each stands at one position.

    Args:
        angles: in radians, from the right, against the clock.
        names: under each clock.
        title: plain text above.
        dark: for a dark page.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    round_x, round_y = np.cos(np.linspace(0, 2 * np.pi, 61)), np.sin(np.linspace(0, 2 * np.pi, 61))
    data: list[dict[str, Any]] = []
    for i, (angle, name) in enumerate(zip(angles, names, strict=True)):
        centre = 2.6 * i
        data += [
            _stroke(round_x + centre, round_y, colours.faint, 1),
            _stroke([centre, centre + math.cos(angle)], [0, math.sin(angle)], colours.query, 3)
            | {"hovertemplate": f"{name}<br>{angle:.4f} radians<extra></extra>", "hoverinfo": "all"},
        ]
    layout_ = _heat_layout("", "", title, colours)
    hidden = {"visible": False, "fixedrange": True}
    return Figure(
        {
            "data": data,
            "layout": layout_
            | {
                "height": 210,
                "showlegend": False,
                "margin": {"l": 8, "r": 8, "t": 40, "b": 8, "autoexpand": False},
                "xaxis": hidden | {"range": [-1.3, 2.6 * len(names) - 1.3]},
                "yaxis": hidden | {"range": [-1.9, 1.2], "scaleanchor": "x"},
                "annotations": [
                    _title(title, colours),
                    *(
                        {
                            "text": name,
                            "x": 2.6 * i,
                            "y": -1.5,
                            "showarrow": False,
                            "font": {"size": 11, "color": colours.faint},
                        }
                        for i, name in enumerate(names)
                    ),
                ],
            },
        },
        _validate=False,
    )


def _stroke(x: Any, y: Any, colour: str, width: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"color": colour, "width": width},
        "hoverinfo": "skip",
    }


def _title(text: str, colours: Palette) -> dict[str, Any]:
    """Above the left end, as line charts have it."""
    return {
        "text": text,
        "x": 0,
        "y": 1,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 10,
        "showarrow": False,
        "font": {"size": 13, "color": colours.ink},
    }


def _hover(colours: Palette) -> dict[str, Any]:
    return {
        "font": {"family": MONO, "size": 13, "color": colours.ink},
        "bgcolor": colours.background,
        "bordercolor": colours.faint,
        "namelength": -1,
    }

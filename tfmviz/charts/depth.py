"""Pre-norm against post-norm: activations and gradients by layer, and the last layer's gradient by depth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from tfmviz.charts.curves_layout import EndLabel, Panel, end_labels, layout
from tfmviz.charts.palette import Palette, palette
from tfmviz.errors import ConfigError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MARKS = ("circle", "circle-open", "square", "square-open")


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """Measured points of one model or one kind of model.

    Attributes:
        name: written at the last point.
        x: layers or depths.
        y: sizes, above 0.
        mark: 0 for solid marks, 1 for outlined ones; also picks the colour.
    """

    name: str
    x: Sequence[float]
    y: Float[np.ndarray, " points"]
    mark: int = 0


def by_layer(activation: Sequence[Series], gradient: Sequence[Series], *, dark: bool = False) -> Figure:
    """Activations above, gradients below, from the first layer to the last.

    Args:
        activation: root mean square after the embedding (layer 0) and each block.
        gradient: length of each block's gradient.
        dark: for a dark page.

    Raises:
        ConfigError: if there is nothing to draw, or a size is not above 0.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    panels = [
        _panel("activations, root mean square (log axis)", activation, 0.56, 1),
        _panel("gradient of each block's weights, length (log axis)", gradient, 0, 0.42),
    ]
    last = max(max(series.x) for series in (*activation, *gradient))
    names = [series.name for series in (*activation, *gradient)]
    figure = layout(panels, colours, x_title="layer", x_range=[-0.02 * last, last * 1.02], names=names)
    data: list[dict[str, Any]] = []
    for axis, panel, group in (("y", panels[0], activation), ("y2", panels[1], gradient)):
        data += [_points(series, axis, colours, "layer %{x}") for series in group]
        figure["annotations"] += end_labels([_end(series, colours) for series in group], panel, axis)
    return Figure({"data": data, "layout": figure | {"height": 460}}, _validate=False)


def by_depth(measured: Sequence[Series], predicted: Sequence[Series] = (), *, dark: bool = False) -> Figure:
    """One number of each model against its depth, both axes logarithmic: measured as dots, predicted as lines.

    Raises:
        ConfigError: if there is nothing to draw, or a size is not above 0.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    panel = _panel(
        "last block's gradient (log axes; dashes: theory)",
        [*measured, *predicted],
        0,
        1,
    )
    depths = sorted({depth for series in measured for depth in series.x})
    low, high = math.log10(depths[0]), math.log10(depths[-1])
    names = [series.name for series in measured]
    figure = layout([panel], colours, x_title="layers of the model", x_range=[low - 0.05, high + 0.05], names=names)
    figure["xaxis"] |= {"type": "log", "tickvals": depths, "ticktext": [f"{depth:g}" for depth in depths]}
    labels = [_end(series, colours) for series in measured]
    figure["annotations"] += end_labels(
        [EndLabel(text=one.text, x=math.log10(one.x), y=one.y, colour=one.colour) for one in labels], panel, "y"
    )
    data = [_prediction(series, colours) for series in predicted]
    data += [_points(series, "y", colours, "%{x} layers", mode="markers") for series in measured]
    return Figure({"data": data, "layout": figure | {"height": 460}}, _validate=False)


def _panel(title: str, group: Sequence[Series], bottom: float, top: float) -> Panel:
    values = np.concatenate([np.asarray(series.y, np.float64) for series in group] or [np.zeros(0)])
    if not values.size or not (values > 0).all():
        raise ConfigError(f"{title}: sizes on a log axis must be above 0, and there must be some")
    low, high = math.log10(values.min()), math.log10(values.max())
    room = 0.12 * max(high - low, 0.5)
    return Panel(title=title, low=low - room, high=high + 2 * room, bottom=bottom, top=top, log=True)


def _points(series: Series, axis: str, colours: Palette, where: str, mode: str = "lines+markers") -> dict[str, Any]:
    colour = colours.heads[series.mark]
    return {
        "type": "scatter",
        "mode": mode,
        "x": list(series.x),
        "y": np.asarray(series.y, np.float32),
        "yaxis": axis,
        "line": {"color": colour, "width": 1.5},
        "marker": {"color": colour, "size": 7 if len(series.x) < 40 else 5, "symbol": MARKS[series.mark]},
        "hovertemplate": f"{series.name}<br>{where}<br>%{{y:.4g}}<extra></extra>",
    }


def _prediction(series: Series, colours: Palette) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(series.x),
        "y": np.asarray(series.y, np.float32),
        "line": {"color": colours.heads[series.mark], "width": 1.5, "dash": "dash"},
        "hovertemplate": f"{series.name}<extra></extra>",
    }


def _end(series: Series, colours: Palette) -> EndLabel:
    return EndLabel(
        text=series.name, x=series.x[-1], y=math.log10(float(series.y[-1])), colour=colours.heads[series.mark]
    )

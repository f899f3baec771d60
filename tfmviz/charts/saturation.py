"""Why the root of d is there: variance of the scores, and what the softmax makes of them, by the width of the head."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfmviz.charts.curves_layout import EndLabel, Panel, end_labels, layout
from tfmviz.charts.palette import palette

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class WidthSeries:
    """One measured number by width.

    Attributes:
        name: written at the last point.
        values: one for each width.
        scaled: whether scores were divided by the root of d: solid dots if so, outlined if not.
    """

    name: str
    values: Sequence[float]
    scaled: bool


def figure(
    widths: Sequence[int],
    variance: Sequence[WidthSeries],
    largest: Sequence[WidthSeries],
    gradient: Sequence[WidthSeries],
    *,
    here: int | None = None,
    dark: bool = False,
) -> Figure:
    """Three panels over the width on a log axis: variance of the scores, largest weight, gradient through the softmax.

    Args:
        widths: measured widths, above 0.
        variance: on a log axis; the law that it equals d is drawn as a line.
        largest: 0 to 1.
        gradient: 0 or more.
        here: the width of the head on the page, marked.
        dark: for a dark page.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    every = [value for series in variance for value in series.values]
    steepest = max(value for series in gradient for value in series.values)
    panels = [
        Panel(
            title="variance of q · k (log axis)",
            low=math.log10(min(every)) - 0.2,
            high=math.log10(max(every)) + 0.25,
            bottom=0.72,
            top=1,
            log=True,
        ),
        Panel(title="mean largest weight of a row", low=0, high=1.04, bottom=0.37, top=0.62),
        Panel(title="gradient through the softmax", low=0, high=1.1 * steepest, bottom=0, top=0.27),
    ]
    names = [series.name for series in variance]
    span = [math.log10(min(widths)) - 0.08, math.log10(max(widths)) + 0.08]
    made = layout(panels, colours, x_title="width of the head, d (log axis)", x_range=span, names=names)
    made["xaxis"] |= {"type": "log", "tickmode": "array", "tickvals": list(widths), "ticktext": _ticks(widths)}
    law = {
        "type": "scatter",
        "mode": "lines",
        "x": list(widths),
        "y": list(widths),
        "line": {"color": colours.faint, "width": 1.5, "dash": "dot"},
        "hovertemplate": "law: variance = d = %{y}<extra></extra>",
    }
    traces = [law]
    for number, series_of_panel in enumerate((variance, largest, gradient), 1):
        axis, panel = "y" if number == 1 else f"y{number}", panels[number - 1]
        labels = []
        for series in series_of_panel:
            ink = colours.heads[0 if series.scaled else 1]
            traces.append(_points(widths, series, axis, ink))
            last = math.log10(series.values[-1]) if panel.log else series.values[-1]
            labels.append(EndLabel(text=series.name, x=span[1], y=last, colour=ink))
        made["annotations"] += end_labels(labels, panel, axis)
    if here is not None:
        made["shapes"] = [
            {
                "type": "line",
                "xref": "x",
                "yref": "paper",
                "x0": here,
                "x1": here,
                "y0": 0,
                "y1": 1,
                "line": {"color": colours.faint, "width": 1},
            }
        ]
    return Figure({"data": traces, "layout": made | {"height": 440}}, _validate=False)


def _ticks(widths: Sequence[int]) -> list[str]:
    return [str(width) if i % 2 == 0 else "" for i, width in enumerate(widths)]


def _points(widths: Sequence[int], series: WidthSeries, axis: str, ink: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": list(widths),
        "y": list(series.values),
        "yaxis": axis,
        "line": {"color": ink, "width": 1},
        "marker": {"size": 7, "color": ink, "symbol": "circle" if series.scaled else "circle-open"},
        "hovertemplate": f"d = %{{x}}<br>{series.name} %{{y:.4g}}<extra></extra>",
    }

"""What all line charts share: quiet axes, and names written at the lines' ends instead of in a legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfmviz.charts.fonts import MONO, SANS
from tfmviz.charts.palette import Palette
from tfmviz.text import display

_LETTER = 7.2  # pixels of a letter of a name
_LINE = 0.075  # height of a line of text, as a share of a panel


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One of the panels stacked in a figure, with its own y axis.

    Attributes:
        title: what the y axis measures, with its unit; written above the panel.
        low, high: the part of the y axis that is shown; of a log axis the exponents of ten.
        bottom, top: where it lies in the figure, 0 to 1.
        log: a log axis, which the title then says.
    """

    title: str
    low: float
    high: float
    bottom: float
    top: float
    log: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class EndLabel:
    """A name at the end of a line.

    Attributes:
        text: plain text.
        x, y: the line's last point; y of a log axis is the exponent.
        colour: of the line.
    """

    text: str
    x: float
    y: float
    colour: str


def layout(
    panels: Sequence[Panel],
    colours: Palette,
    *,
    x_title: str,
    x_range: Sequence[float],
    names: Sequence[str] = (),
) -> dict[str, Any]:
    """Plotly's layout of stacked panels over one x axis.

    Args:
        panels: from the top.
        colours: of the theme.
        x_title: what the x axis measures.
        x_range: the part of it that is shown.
        names: what is written behind the lines' ends, to the right of the panels.
    """
    last = len(panels)
    out: dict[str, Any] = {
        "template": None,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": colours.ink, "size": 13, "family": SANS},
        "margin": {
            "l": 52,
            "r": 16 + int(_LETTER * max(map(len, names), default=0)),
            "t": 26,
            "b": 44,
            "autoexpand": False,
        },
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {
            "font": {"family": MONO, "size": 13, "color": colours.ink},
            "bgcolor": colours.background,
            "bordercolor": colours.faint,
            "namelength": -1,
        },
        "xaxis": _axis(colours)
        | {
            "title": {"text": x_title, "font": {"size": 13, "color": colours.faint}, "standoff": 6},
            "range": list(x_range),
            "anchor": f"y{last}" if last > 1 else "y",
            "showgrid": False,
        },
        "annotations": [_panel_title(panel, colours) for panel in panels],
    }
    for number, panel in enumerate(panels, 1):
        out["yaxis" if number == 1 else f"yaxis{number}"] = _axis(colours) | {
            "type": "log" if panel.log else "linear",
            "range": [panel.low, panel.high],
            "domain": [panel.bottom, panel.top],
            **(_log_ticks(panel) if panel.log else {"nticks": 5}),
        }
    return out


def end_labels(labels: Sequence[EndLabel], panel: Panel, axis: str) -> list[dict[str, Any]]:
    """Annotations beside the last points, moved apart where they would lie on each other.

    Args:
        labels: in any order.
        panel: where they are.
        axis: its y axis, such as ``y2``.
    """
    span = (panel.high - panel.low) or 1.0
    gap = span * _LINE / (panel.top - panel.bottom)
    places: list[tuple[EndLabel, float]] = []
    for label in sorted(labels, key=lambda one: one.y):
        lowest = places[-1][1] + gap if places else panel.low + gap / 2
        places.append((label, max(label.y, lowest)))
    over = max(0.0, places[-1][1] - (panel.high - gap / 2)) if places else 0.0
    return [
        {
            "text": display.html(label.text),
            "x": label.x,
            "y": y - over,
            "xref": "x",
            "yref": axis,
            "xanchor": "left",
            "yanchor": "middle",
            "xshift": 8,
            "showarrow": False,
            "font": {"size": 13, "color": label.colour},
        }
        for label, y in places
    ]


def config(name: str) -> dict[str, Any]:
    """Plotly's settings for a line chart: a vector file on download, nothing else in the bar.

    Args:
        name: of the downloaded file, without its ending.
    """
    return {
        "displaylogo": False,
        "responsive": True,
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d"],
        "toImageButtonOptions": {"format": "svg", "filename": name},
    }


def _log_ticks(panel: Panel) -> dict[str, Any]:
    """Labels at 1, 2 and 5 times each power of ten; at the powers alone where there are many."""
    steps = (1, 2, 5) if panel.high - panel.low < 2.5 else (1,)
    exponents = range(math.floor(panel.low), math.ceil(panel.high) + 1)
    values = [step * 10.0**exponent for exponent in exponents for step in steps]
    shown = [value for value in values if panel.low <= math.log10(value) <= panel.high]
    return {"tickmode": "array", "tickvals": shown, "ticktext": [f"{value:,g}" for value in shown]}


def _axis(colours: Palette) -> dict[str, Any]:
    return {
        "tickfont": {"size": 11, "color": colours.faint, "family": MONO},
        "gridcolor": colours.masked,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "automargin": False,
    }


def _panel_title(panel: Panel, colours: Palette) -> dict[str, Any]:
    return {
        "text": display.html(panel.title),
        "x": 0,
        "y": panel.top,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 2,
        "xshift": -44,
        "showarrow": False,
        "font": {"size": 13, "color": colours.ink},
    }

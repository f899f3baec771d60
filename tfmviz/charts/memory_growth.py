"""Bytes or seconds against the length of the text, on log-log axes: measured points as dots, formulas as lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tfmviz.charts.curves_layout import EndLabel, Panel, end_labels, layout
from tfmviz.charts.fonts import SANS
from tfmviz.charts.memory_levels import NAME_HEIGHT, Level, level_line, level_names, veil
from tfmviz.charts.memory_numbers import bytes_text, seconds_text, short_length
from tfmviz.charts.palette import Palette, palette

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Unit = Literal["bytes", "seconds"]
HEIGHT = 440
_TEXT: Mapping[Unit, Callable[[float], str]] = {"bytes": bytes_text, "seconds": seconds_text}
_EMPTY: Mapping[Unit, tuple[float, float]] = {"bytes": (1e5, 1e9), "seconds": (1e-4, 10.0)}
_MOST_LABELS = 7
_LEAST = 1.0  # powers of ten that the y axis spans at least
_NAME_SHARE = 0.4  # of the x axis: what a name takes on a phone


@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """One thing that grows.

    Attributes:
        name: written at its end.
        colour: which of the palette's line colours.
        line: by the formula: value by tokens.
        dots: measured: value by tokens.
        refused: not tried: what it would take, by tokens.
        dash: how its line is drawn, so that it can be told apart without colour.
        symbol: how its dots are drawn, likewise.
    """

    name: str
    colour: int
    line: Mapping[int, float] = field(default_factory=dict)
    dots: Mapping[int, float] = field(default_factory=dict)
    refused: Mapping[int, float] = field(default_factory=dict)
    dash: Literal["solid", "dash", "dot", "dashdot"] = "solid"
    symbol: Literal["circle", "square", "diamond"] = "circle"

    @property
    def every(self) -> dict[int, float]:
        """All its points; what was measured goes before what was predicted."""
        return dict(sorted({**self.line, **self.refused, **self.dots}.items()))


def figure(
    growths: Sequence[Growth],
    *,
    title: str,
    unit: Unit,
    lengths: Sequence[int],
    levels: Sequence[Level] = (),
    mark: int | None = None,
    dark: bool = False,
) -> Figure:
    """Draw them over one axis of tokens.

    Args:
        growths: what grows; those without a point are left out.
        title: what is measured; that the axes are logarithmic is said by this picture.
        unit: of the values.
        lengths: the tokens from the left end of the axis to its right end.
        levels: heights to compare with; those out of reach are left out.
        mark: a number of tokens to mark.
        dark: for a dark page.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    drawn = [growth for growth in growths if growth.every]
    values = [value for growth in drawn for value in growth.every.values() if value > 0] or list(_EMPTY[unit])
    low, high = math.log10(min(values)), math.log10(max(values))
    few = max(_LEAST - (high - low), 0.0) / 2  # a first dot alone: room for labels on the axis
    low, high = low - few, high + few
    room = 0.05 * (high - low)
    panel = Panel(title=f"{title} (log axes)", low=low - room, high=high + 2 * room, bottom=0, top=1, log=True)
    ends = [math.log10(lengths[0]) - 0.05, math.log10(lengths[-1]) + 0.05]
    names = [growth.name for growth in drawn]
    made = layout([panel], colours, x_title="tokens in the text (log axis, 1k = 1,024)", x_range=ends, names=names)
    made["height"] = HEIGHT
    made["margin"] |= {"l": 62, "t": 32}
    made["xaxis"] |= {"type": "log", **_tokens(lengths), "showgrid": True}
    made["yaxis"] |= _powers(panel, _TEXT[unit])
    made["annotations"] += _names(drawn, panel, ends, colours) or [_nothing_yet(colours)]
    seen = sorted(
        (level for level in levels if panel.low <= math.log10(level.value) <= panel.high), key=lambda one: one.value
    )
    made["annotations"] += _level_names(seen, panel, drawn, ends, mark, colours)
    made["shapes"] = [level_line(level, colours) for level in seen] + ([] if mark is None else [_mark(mark, colours)])
    data = [trace for growth in drawn for trace in _traces(growth, colours, unit)]
    return Figure({"data": data, "layout": made}, _validate=False)


def _level_names(
    seen: Sequence[Level],
    panel: Panel,
    drawn: Sequence[Growth],
    ends: Sequence[float],
    mark: int | None,
    colours: Palette,
) -> list[dict[str, Any]]:
    """Names of levels at the end of the axis where there is room: beside the mark, and not where a need is written."""
    needs = [math.log10(next(iter(growth.refused.values()))) for growth in drawn if growth.refused]
    close = 1.5 * NAME_HEIGHT * (panel.high - panel.low)
    written = any(abs(need - math.log10(level.value)) < close for need in needs for level in seen)
    on_right = written if mark is None else _share(mark, ends) < _NAME_SHARE
    half = [value for growth in drawn for n, value in growth.every.items() if (_share(n, ends) > 0.5) == on_right]
    crossing = [math.log10(value) for value in [*half, *(level.value for level in seen)] if value > 0]
    return level_names(seen, panel, crossing, colours, on_right=on_right)


def _names(drawn: Sequence[Growth], panel: Panel, ends: Sequence[float], colours: Palette) -> list[dict[str, Any]]:
    """A name behind the end of each line; in front of it, and above, where another line runs on behind."""
    front = [one for one in drawn if _is_crossed(one, drawn) and _share(list(one.every)[-1], ends) >= _NAME_SHARE]
    behind = end_labels([_label(growth, colours) for growth in drawn if growth not in front], panel, "y")
    before = end_labels([_label(growth, colours) for growth in front], panel, "y")
    above = {"xanchor": "right", "yanchor": "bottom", "xshift": -8, **veil(colours)}
    return [*behind, *(label | above for label in before)]


def _is_crossed(growth: Growth, drawn: Sequence[Growth]) -> bool:
    """Whether another line that is longer passes the height at which this one ends."""
    last, end = list(growth.every.items())[-1]
    for other in drawn:
        later = [value for n, value in other.every.items() if n >= last]
        if other is not growth and len(later) > 1 and min(later) < end < max(later):
            return True
    return False


def _share(n: int, ends: Sequence[float]) -> float:
    """Where a number of tokens lies on the axis, 0 to 1."""
    return (math.log10(n) - ends[0]) / (ends[1] - ends[0])


def _label(growth: Growth, colours: Palette) -> EndLabel:
    n, value = list(growth.every.items())[-1]
    return EndLabel(text=growth.name, x=math.log10(n), y=math.log10(value), colour=colours.heads[growth.colour])


def _nothing_yet(colours: Palette) -> dict[str, Any]:
    return {
        "text": "nothing measured yet",
        "xref": "paper",
        "yref": "paper",
        "x": 0.5,
        "y": 0.5,
        "showarrow": False,
        "font": {"size": 13, "color": colours.faint},
    }


def _traces(growth: Growth, colours: Palette, unit: Unit) -> list[dict[str, Any]]:
    colour = colours.heads[growth.colour]
    line = {"color": colour, "width": 1.8, "dash": growth.dash}
    mark = {"color": colour, "size": 9, "symbol": growth.symbol}
    hollow = {"color": colour, "size": 9, "symbol": f"{growth.symbol}-open", "line": {"width": 1.6}}
    kinds = (
        ("by formula", growth.line, {"mode": "lines", "line": line}),
        ("measured", growth.dots, {"mode": "markers", "marker": mark}),
        ("not tried, would need", growth.refused, {"mode": "markers+text", "marker": hollow}),
    )
    out = []
    for kind, points, how in kinds:
        if not points:
            continue
        said = [f"{growth.name}<br>{n:,} tokens<br>{kind} {_TEXT[unit](value)}" for n, value in points.items()]
        trace = {
            "type": "scatter",
            "name": kind,
            "x": list(points),
            "y": list(points.values()),
            "hovertext": said,
            "hovertemplate": "%{hovertext}<extra></extra>",
            **how,
        }
        if points is growth.refused:
            trace |= _words([f"would need {_TEXT[unit](value)}" for value in points.values()], colour)
        out.append(trace)
    return out


def _words(texts: list[str], colour: str) -> dict[str, Any]:
    """What a point that was not tried would take, written beside the first of them: the others have it on hover."""
    return {
        "text": [texts[0], *[""] * (len(texts) - 1)],
        "textposition": "top left",
        "textfont": {"size": 13, "color": colour, "family": SANS},
    }


def _tokens(lengths: Sequence[int]) -> dict[str, Any]:
    """Labels at some of the lengths themselves."""
    step = -(-len(lengths) // _MOST_LABELS)
    shown = list(lengths)[::-step][::-1]
    return {"tickmode": "array", "tickvals": shown, "ticktext": [short_length(n) for n in shown], "tickangle": 0}


def _powers(panel: Panel, text: Callable[[float], str]) -> dict[str, Any]:
    """Labels at powers of ten, in the unit's own steps; where there is one at most, at 2 and 5 times it too."""
    exponents = range(math.ceil(panel.low), math.floor(panel.high) + 1)
    step = 1 if len(exponents) <= 8 else 2 if len(exponents) <= 14 else 3
    values = [10.0**exponent for exponent in exponents if exponent % step == 0]
    if len(values) < 2:
        finer = [k * 10.0**e for e in range(math.floor(panel.low), math.ceil(panel.high)) for k in (1, 2, 5)]
        values = [value for value in finer if panel.low <= math.log10(value) <= panel.high]
    return {"tickmode": "array", "tickvals": values, "ticktext": [text(value).replace(".0 ", " ") for value in values]}


def _mark(n: int, colours: Palette) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": n,
        "x1": n,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": colours.weights[11], "width": 2},
    }

"""Generation with and without a cache: the time of each token, and the bytes that the cache holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfmviz.charts.curves_layout import EndLabel, Panel, end_labels, layout
from tfmviz.charts.palette import Palette, palette
from tfmviz.errors import ConfigError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

WITH, WITHOUT, FORMULA = "with cache", "without", "formula"
_BEFORE = 0.2  # of the x axis lies before the first token: the word "prefill" stands there
_UNDER = 0.04  # of a panel lies under its 0
_ROOM = 0.16  # of the time axis lies above the slowest token: the names of the phases stand there
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheCurves:
    """What was measured, one number a token that was written.

    Attributes:
        lengths: tokens read when it was made; the first is the prompt's.
        seconds: with the cache.
        seconds_without: without it.
        cache_bytes: held after it.
    """

    lengths: Sequence[int]
    seconds: Sequence[float]
    seconds_without: Sequence[float]
    cache_bytes: Sequence[int]


def figure(
    measured: CacheCurves,
    *,
    n_prompt: int,
    n_new: int,
    predicted: Sequence[int],
    dark: bool = False,
) -> Figure:
    """Times above, bytes below, over the tokens read; the axis is as long as the whole run, so that dots grow into it.

    Args:
        measured: as far as it is.
        n_prompt: tokens of the prompt.
        n_new: tokens that will be written.
        predicted: bytes of the cache by the formula, for every length from the prompt's on.
        dark: for a dark page.

    Raises:
        ConfigError: if there is not one prediction for each new token.
    """
    from plotly.graph_objects import Figure

    if len(predicted) != n_new:
        raise ConfigError(f"{n_new} new tokens need as many predictions of the cache: there are {len(predicted)}.")
    colours = palette(dark)
    first, last = n_prompt, n_prompt + n_new - 1
    span = max(last - first, 1)
    size, unit = next(((size, unit) for size, unit in _UNITS if predicted[-1] >= size), (1.0, "bytes"))
    formula = [value / size for value in predicted]
    times, kept = _times_panel(measured), _bytes_panel(formula[-1], unit)
    made = layout(
        [times, kept],
        colours,
        x_title="tokens read",
        x_range=[first - _BEFORE * span, last + 0.02 * span],
        names=[WITH, WITHOUT, FORMULA],
    )
    made["annotations"] += _ends(measured, times, colours)
    end = EndLabel(text=FORMULA, x=last, y=formula[-1], colour=colours.faint)
    made["annotations"] += [*end_labels([end], kept, "y2"), *_phases(first, colours)]
    made |= {"height": 460, "shapes": [_border(first + 0.5, axis, colours) for axis in ("y", "y2")]}
    made["xaxis"] |= {"nticks": 8, "tickformat": ",d"}
    traces = [
        _formula(first, formula, colours),
        _dots(measured.lengths, [1e3 * s for s in measured.seconds_without], "y", WITHOUT, "ms", colours),
        _dots(measured.lengths, [1e3 * s for s in measured.seconds], "y", WITH, "ms", colours),
        _dots(measured.lengths, [held / size for held in measured.cache_bytes], "y2", WITH, unit, colours),
    ]
    return Figure({"data": traces, "layout": made}, _validate=False)


def _times_panel(measured: CacheCurves) -> Panel:
    """Room for every time measured; for a millisecond to a second before there is one."""
    times = [1e3 * s for s in (*measured.seconds, *measured.seconds_without)] or [1.0, 1000.0]
    low, high = math.log10(min(times)) - 0.1, math.log10(max(times)) + 0.1
    return Panel(
        title="time of one token, ms (log axis)",
        low=low,
        high=high + _ROOM / (1 - _ROOM) * (high - low),
        bottom=0.5,
        top=1,
        log=True,
    )


def _bytes_panel(most: float, unit: str) -> Panel:
    return Panel(title=f"keys and values kept, {unit}", low=-_UNDER * most, high=1.12 * most, bottom=0, top=0.34)


def _colour(name: str, colours: Palette) -> str:
    return colours.heads[0 if name == WITH else 1]


def _dots(x: Sequence[int], y: Sequence[float], axis: str, name: str, unit: str, colours: Palette) -> dict[str, Any]:
    """Measured points; the first one, which reads the prompt, is larger."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": np.asarray(x, np.int32),
        "y": np.asarray(y, np.float32),
        "yaxis": axis,
        "marker": {
            "color": _colour(name, colours),
            "symbol": "circle" if name == WITH else "diamond-open",
            "size": [10, *[6] * (len(x) - 1)],
        },
        "hovertemplate": f"{name}<br>%{{x:,}} tokens read: %{{y:.4g}} {unit}<extra></extra>",
    }


def _formula(first: int, y: Sequence[float], colours: Palette) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": FORMULA,
        "x": np.arange(first, first + len(y), dtype=np.int32),
        "y": np.asarray(y, np.float32),
        "yaxis": "y2",
        "line": {"color": colours.faint, "width": 1.5},
        "hoverinfo": "skip",
    }


def _ends(measured: CacheCurves, panel: Panel, colours: Palette) -> list[dict[str, Any]]:
    """Names beside the latest points."""
    if not measured.lengths:
        return []
    last = measured.lengths[-1]
    latest = [(WITH, measured.seconds), (WITHOUT, measured.seconds_without)]
    times = [
        EndLabel(text=name, x=last, y=math.log10(1e3 * seconds[-1]), colour=_colour(name, colours))
        for name, seconds in latest
    ]
    return end_labels(times, panel, "y")


def _phases(first: int, colours: Palette) -> list[dict[str, Any]]:
    """The two phases of generation, on either side of the line between them."""
    return [
        {
            "text": text,
            "x": first + 0.5,
            "y": 1,
            "xref": "x",
            "yref": "paper",
            "xanchor": anchor,
            "yanchor": "top",
            "xshift": shift,
            "showarrow": False,
            "font": {"size": 12, "color": colours.faint},
        }
        for text, anchor, shift in (("prefill", "right", -4), ("decode", "left", 4))
    ]


def _border(x: float, axis: str, colours: Palette) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "x",
        "yref": f"{axis} domain",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "line": {"color": colours.faint, "width": 1, "dash": "dash"},
    }

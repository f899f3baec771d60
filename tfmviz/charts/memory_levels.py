"""Heights to compare a curve of bytes with, such as a card's memory: a dotted line across, with its name on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfmviz.charts.curves_layout import Panel
from tfmviz.charts.palette import Palette, rgb
from tfmviz.text import display

NAME_HEIGHT = 0.05  # of a panel: what a name takes
_EDGE, _STEP = 0.01, 0.06  # of the x axis: from its end to the lowest name, and from each name to the next
_VEIL = 0.75  # how much of a line that crosses a name is covered


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """A height to compare with.

    Attributes:
        name: written on it.
        value: where it is.
    """

    name: str
    value: float


def level_line(level: Level, colours: Palette) -> dict[str, Any]:
    """A shape: the line, from end to end."""
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": level.value,
        "y1": level.value,
        "line": {"color": colours.faint, "width": 1, "dash": "dot"},
    }


def level_names(
    levels: Sequence[Level], panel: Panel, crossing: Sequence[float], colours: Palette, *, on_right: bool
) -> list[dict[str, Any]]:
    """Annotations: each name on its line, or under it where more runs through the place above.

    Args:
        levels: from the lowest. Each name stands further in than the one below, so that near ones can be read.
        panel: where they are; a log axis.
        crossing: exponents of ten of what else is drawn in that half of the panel, other levels included.
        colours: of the theme.
        on_right: at the right end, not at the left one.
    """
    tall = NAME_HEIGHT * (panel.high - panel.low)
    out = []
    for place, level in enumerate(levels):
        height, inset = math.log10(level.value), _EDGE + _STEP * place
        above = sum(0 < other - height < tall for other in crossing)
        below = sum(0 < height - other < tall for other in crossing)
        out.append(
            {
                "text": display.html(level.name),
                "xref": "paper",
                "x": 1 - inset if on_right else inset,
                "y": height,
                "xanchor": "right" if on_right else "left",
                "yanchor": "top" if below < above else "bottom",
                "showarrow": False,
                "font": {"size": 11, "color": colours.faint},
                **veil(colours),
            }
        )
    return out


def veil(colours: Palette) -> dict[str, Any]:
    """What an annotation takes to be read where a line crosses it."""
    return {"borderpad": 0, "bgcolor": f"rgba({','.join(map(str, rgb(colours.background)))},{_VEIL})"}

"""The charts' palette as the browser gets it: both themes, so that a switch of theme repaints without a rerun."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

from tfmviz.charts.palette import DARK, LIGHT

_USED = (
    "query",
    "key",
    "value",
    "query_ink",
    "key_ink",
    "value_ink",
    "masked",
    "hatch",
    "weights",
    "difference",
    "heads",
)


@cache
def palettes() -> dict[str, dict[str, Any]]:
    """Colours by theme, "light" and "dark", and by name."""
    return {name: {use: asdict(theme)[use] for use in _USED} for name, theme in (("light", LIGHT), ("dark", DARK))}

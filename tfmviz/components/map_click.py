"""Clicks on the cells of a Plotly heatmap, which Streamlit does not report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from tfmviz.components.bundle import script

_click = st.components.v2.component("tfmviz.map_click", js=script("map_click.js"))


def map_click(chart: str, shape: tuple[int, int], *, on_open: Callable[[int, int], None], key: str) -> None:
    """Listen to a chart that is on the page.

    Args:
        chart: widget key of a Plotly chart whose first trace is a heatmap.
        shape: its rows and columns; a click beside them counts for nothing.
        on_open: called with row and column before the script reruns.
        key: the widget key.
    """

    def opened() -> None:
        cell = _cell(st.session_state.get(key), shape)
        if cell is not None:
            on_open(*cell)

    with st.container(gap=None):
        _click(key=key, data={"map": chart}, on_opened_change=opened)


def _cell(state: Any, shape: tuple[int, int]) -> tuple[int, int] | None:
    """What the browser sent, checked. None for anything else."""
    raw = state.get("opened") if hasattr(state, "get") else None
    if not isinstance(raw, list | tuple) or len(raw) != 2:
        return None
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in raw):
        return None
    row, col = raw
    return (row, col) if 0 <= row < shape[0] and 0 <= col < shape[1] else None

"""Linked hover: a unit that is pointed at in one of several Plotly maps lights up in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from tfmviz.components.bundle import script, styles
from tfmviz.components.colours import palettes

_hover = st.components.v2.component("tfmviz.unit_hover", js=script("unit_hover.js"), css=styles("unit_hover.css"))


def unit_hover(
    queries: Sequence[str], keys: Sequence[str], *, maps: Mapping[str, str], text: str, key: str = "unit_hover"
) -> None:
    """Link the maps, and write the numbers of the pair that is pointed at.

    Everything happens in the browser: nothing is sent, and no page is drawn again.

    Args:
        queries, keys: names of the rows and of the columns that the maps share; plain text.
        maps: widget keys of Plotly charts whose first trace is a heatmap of these rows and columns, with a name each.
        text: widget key of the chart that writes the rows as a text, as :mod:`tfmviz.charts.row_distances` does.
        key: the widget key.
    """
    data = {
        "queries": list(queries),
        "keys": list(keys),
        "maps": list(maps),
        "names": list(maps.values()),
        "text": text,
        "colours": palettes(),
    }
    _hover(key=key, data=data)

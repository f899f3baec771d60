"""One head's weights of a text of thousands of tokens: block maxima for the whole, exact cells where one zooms in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from tfmviz.analysis.long_head import MOST_CELLS, Rectangle
from tfmviz.analysis.long_view import LongView
from tfmviz.charts.map_cells import row_steps
from tfmviz.components.bundle import script, styles
from tfmviz.components.payload import pack
from tfmviz.components.token_map import MAX_HEIGHT, map_header, mask
from tfmviz.text import Token

# Rows and columns of the pieces that the browser asks for and forgets again; see assets/components/long_map_tiles.js.
TILE = 128
# Pieces that a browser keeps: 64 kB of weights each and a quarter of it for colours, 10 MB in all. MOST_CELLS under a
# wide and low screen lie in more than a hundred of them, and those that are seen must not push one another out.
MOST_TILES = 128

_long_map = st.components.v2.component(
    "tfmviz.long_map", js=script("long_map.js"), css=styles("base.css", "token_map.css", "long_map.css")
)


def long_map(
    view: LongView,
    *,
    cells: str,
    title: str,
    row_scaled: bool = False,
    hide_special: bool = False,
    max_height: int = MAX_HEIGHT,
    key: str = "head_map",
) -> None:
    """Show the map of one head on a long text.

    Everything that :func:`tfmviz.components.token_map.token_map` does, and: where one zooms in far enough, the browser
    fetches exact cells; a small map shows which part is seen and is dragged to another; a field finds a token.

    Args:
        view: the maxima of blocks.
        cells: address, relative to the page, under which ``/first-past/first-past`` (rows, then columns) answers with
            :func:`cells_message`.
        title: plain text above the map, such as "L3 H5"; also names the picture when it is saved.
        row_scaled: colour each row relative to its own largest weight; needs ``view.shares``.
        hide_special: special tokens are not among the view's; say what share of the attention goes with them.
        max_height: CSS pixels of the whole picture.
        key: the widget key.
    """
    data = message(
        view,
        cells=cells,
        title=title,
        row_scaled=row_scaled,
        hide_special=hide_special,
        max_height=max_height,
        key=key,
    )
    _long_map(key=key, data=data)


def message(
    view: LongView,
    *,
    cells: str,
    title: str,
    row_scaled: bool = False,
    hide_special: bool = False,
    max_height: int = MAX_HEIGHT,
    key: str = "head_map",
) -> bytes:
    """What the browser is sent for :func:`long_map`, which has the same arguments."""
    arrays: dict[str, np.ndarray] = {"maxima": view.maxima}
    if row_scaled and view.shares is not None:
        arrays["steps"] = np.round(view.shares * 255).astype(np.uint8)
    if view.visible is not None:
        arrays |= mask(view.visible)
    note = f"Special tokens are hidden; {view.special_share:.0%} of the attention goes to them" if hide_special else ""
    header = map_header(
        view.query_tokens,
        view.key_tokens,
        kind="blocks",
        key=key,
        title=title,
        note=note,
        row_scaled=row_scaled,
        max_height=max_height,
    )
    header |= {
        "block": view.block,
        "cells": cells,
        "tile": TILE,
        "most_tiles": MOST_TILES,
        "most_cells": MOST_CELLS,
        "texts": {"query": searched(view.query_tokens), "key": header["keys"] and searched(view.key_tokens)},
    }
    return pack(header, **arrays)


def searched(tokens: Sequence[Token]) -> list[str]:
    """What a search reads of each token; joined, it is the text as it was typed, whatever its tokens are.

    Further pieces of one character add nothing, and a blank stands where no token covers what was typed.
    """
    out, segment, end = [], 0, 0
    for token in tokens:
        if token.is_special:
            out.append(token.text)
            continue
        if token.segment != segment:
            segment, end = token.segment, 0
        gap = " " if 0 < end < token.start else ""
        out.append(gap + token.text[max(end - token.start, 0) :])
        end = max(end, token.end)
    return out


def cells_message(found: Rectangle, *, row_scaled: bool = False) -> bytes:
    """Exact cells for the browser: their weights, what is masked among them and, for scaled rows, their colours."""
    arrays: dict[str, np.ndarray] = {"weights": found.weights}
    if row_scaled:
        arrays["steps"] = row_steps(found.weights, found.largest)
    if found.visible is not None:
        arrays |= mask(found.visible)
    rows, cols = found.weights.shape
    return pack({"rows": rows, "cols": cols, "scaled": row_scaled}, **arrays)

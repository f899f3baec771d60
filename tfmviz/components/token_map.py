"""One head's weights of a long text as a map on a canvas; looks and reads like ``tfmviz.charts.head_map``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import streamlit as st

from tfmviz.analysis.links import visible_spans
from tfmviz.charts.map_cells import row_steps, shown_cells
from tfmviz.components.bundle import script, styles
from tfmviz.components.colours import palettes
from tfmviz.components.payload import pack
from tfmviz.text import Token
from tfmviz.text.display import label

MAX_HEIGHT = 760  # CSS pixels of the whole picture
_LONGEST = 48  # characters of one token that are sent; an axis shows fewer

_token_map = st.components.v2.component(
    "tfmviz.token_map", js=script("token_map.js"), css=styles("base.css", "token_map.css")
)


def token_map(
    weights: np.ndarray,
    visible: np.ndarray | None,
    query_tokens: Sequence[Token],
    key_tokens: Sequence[Token],
    *,
    title: str,
    row_scaled: bool = False,
    hide_special: bool = False,
    max_height: int = MAX_HEIGHT,
    key: str = "head_map",
) -> None:
    """Show the weights of one head: queries down, keys across, masked cells hatched.

    Hovering a cell names its tokens and gives its weight to four digits, a click keeps it, Escape frees it, arrow keys
    move. The wheel, a dragged box, two fingers or plus and minus zoom; a double click shows everything again.

    Args:
        weights: float32, attention from each query to each key, 0 to 1, shape (q, k).
        visible: bool, False where the query may not look, shape (q, k); None if every query may look everywhere.
        query_tokens: q of them, the rows.
        key_tokens: k of them, the columns.
        title: plain text above the map, such as "L3 H5"; also names the picture when it is saved.
        row_scaled: colour each row relative to its own largest weight; hover still gives the weight itself.
        hide_special: leave out special tokens, and say what share of the attention goes with them.
        max_height: CSS pixels of the whole picture.
        key: the widget key.

    Raises:
        ConfigError: if the shapes do not agree.
    """
    data = message(
        weights,
        visible,
        query_tokens,
        key_tokens,
        title=title,
        row_scaled=row_scaled,
        hide_special=hide_special,
        max_height=max_height,
        key=key,
    )
    _token_map(key=key, data=data)


def message(
    weights: np.ndarray,
    visible: np.ndarray | None,
    query_tokens: Sequence[Token],
    key_tokens: Sequence[Token],
    *,
    title: str,
    row_scaled: bool = False,
    hide_special: bool = False,
    max_height: int = MAX_HEIGHT,
    key: str = "head_map",
) -> bytes:
    """What the browser is sent for :func:`token_map`, which has the same arguments.

    Raises:
        ConfigError: if the shapes do not agree.
    """
    drawn = shown_cells(weights, visible, query_tokens, key_tokens, hide_special=hide_special)
    arrays: dict[str, np.ndarray] = {"weights": drawn.weights}
    if row_scaled:
        arrays["steps"] = row_steps(drawn.weights)
    if drawn.visible is not None and not drawn.visible.all():
        arrays |= mask(drawn.visible)
    header = map_header(
        drawn.query_tokens,
        drawn.key_tokens,
        kind="cells",
        key=key,
        title=title,
        note=drawn.note,
        row_scaled=row_scaled,
        max_height=max_height,
    )
    return pack(header, **arrays)


def map_header(
    query_tokens: Sequence[Token],
    key_tokens: Sequence[Token],
    *,
    kind: Literal["cells", "blocks"],
    key: str,
    title: str,
    note: str,
    row_scaled: bool,
    max_height: int,
) -> dict[str, Any]:
    """What the browser is told of any map beside its numbers.

    Args:
        query_tokens: the rows.
        key_tokens: the columns.
        kind: which view reads it: one that has all weights at hand, or one that fetches them.
        note: a sentence under the title; empty for none.
        key, title, row_scaled, max_height: as :func:`token_map` has them.
    """
    queries, keys = _labels(query_tokens), _labels(key_tokens)
    return {
        "kind": kind,
        "key": key,
        "title": title,
        "note": note,
        "rows": len(queries),
        "cols": len(keys),
        "query": queries,
        "keys": None if keys == queries else keys,
        "scaled": row_scaled,
        "colours": palettes(),
        "max_height": max_height,
    }


def _labels(tokens: Sequence[Token]) -> list[str]:
    """The tokens' texts as axes write them, blanks visible."""
    return [label(token, _LONGEST) for token in tokens]


def mask(visible: np.ndarray) -> dict[str, np.ndarray]:
    """The cells that may be looked at, as runs where those are few, else one bit each: never over an eighth of a byte.

    Bits run through the rows in order, the first cell in a byte's highest bit.
    """
    spans, bits = visible_spans(visible), np.packbits(visible)
    return {"spans": spans} if spans.nbytes <= bits.nbytes else {"bits": bits}

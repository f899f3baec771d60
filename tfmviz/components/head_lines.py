"""Token lines: who looks at whom in one head, or in up to twelve heads at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from tfmviz.analysis.links import Links, visible_spans
from tfmviz.components.bundle import script, styles
from tfmviz.components.colours import palettes
from tfmviz.components.payload import pack
from tfmviz.text import Token
from tfmviz.text.display import label

MOST_HEADS = 12
_LONGEST = 48  # characters of one token that are sent; a chip shows fewer
_SPECIAL, _PADDING, _PIECE = 1, 2, 4

_head_lines = st.components.v2.component(
    "tfmviz.head_lines", js=script("head_lines.js"), css=styles("base.css", "head_lines.css")
)


def head_lines(
    links: Links,
    *,
    heads: Sequence[str],
    query_tokens: Sequence[Token],
    key_tokens: Sequence[Token],
    threshold: float,
    visible: np.ndarray | None = None,
    hide_special: bool = False,
    hidden_share: float | None = None,
    max_height: int = 560,
    key: str = "head_lines",
) -> None:
    """Show the links of one or several heads as lines from queries (left) to keys (right).

    Hovering a token lights its lines and gives their weights to four digits, a click keeps it lit, Escape frees it,
    arrow keys move. On a phone a touched token shows its five strongest keys instead.

    Args:
        links: from ``strongest_links``; links of padding queries are not drawn.
        heads: a name for each of the links' heads, such as "L3 H5"; at most twelve.
        query_tokens: tokens of the rows.
        key_tokens: tokens of the columns; the same object as ``query_tokens`` for self-attention.
        threshold: what the links were picked with; said on the picture.
        visible: the keys that a touched query may not look at are hatched: bool, shape (q, k), or int32 runs of them
            as ``visible_spans`` gives, for texts whose table would be large.
        hide_special: leave out special tokens and padding.
        hidden_share: with ``hide_special``, the share of attention that they hold; said on the picture.
        max_height: CSS pixels after which the picture scrolls.
        key: the widget key.

    Raises:
        ValueError: more than twelve heads, or names, tokens or mask that do not fit the links.
    """
    _check(links, heads, query_tokens, key_tokens, visible)
    same = key_tokens is query_tokens or tuple(key_tokens) == tuple(query_tokens)
    spans = _spans(visible)
    kept = ~np.array([token.is_padding for token in query_tokens], dtype=bool)[links.query]
    header: dict[str, Any] = {
        "key": key,
        "heads": list(heads),
        "query": _described(query_tokens),
        "keys": None if same else _described(key_tokens),
        "threshold": threshold,
        "n_drawn": int(kept[: links.n_drawn].sum()),
        "n_above": int(links.n_above - (~kept[: links.n_drawn]).sum()),
        "masked": visible is not None,
        "hide_special": hide_special,
        "hidden_share": hidden_share,
        "colours": palettes(),
        "max_height": max_height,
    }
    _head_lines(
        key=key,
        data=pack(
            header,
            query=links.query[kept],
            key=links.key[kept],
            weight=links.weight[kept],
            head=links.head[kept],
            spans=spans,
        ),
    )


def _spans(visible: np.ndarray | None) -> np.ndarray:
    if visible is None:
        return np.zeros((0, 3), dtype=np.int32)
    return visible_spans(visible) if visible.dtype == bool else visible


def _described(tokens: Sequence[Token]) -> dict[str, list[Any]]:
    """What a chip needs: text with visible blanks, flags, the word it is part of."""
    return {
        "text": [label(token, _LONGEST) for token in tokens],
        "flags": [
            _SPECIAL * token.is_special + _PADDING * token.is_padding + _PIECE * token.is_piece for token in tokens
        ],
        "word": [-1 if token.word is None else token.word for token in tokens],
    }


def _check(
    links: Links,
    heads: Sequence[str],
    query_tokens: Sequence[Token],
    key_tokens: Sequence[Token],
    visible: np.ndarray | None,
) -> None:
    if len(heads) > MOST_HEADS:
        raise ValueError(f"{len(heads)} heads; {MOST_HEADS} have colours that can be told apart")
    if len(heads) != links.n_heads:
        raise ValueError(f"{len(heads)} names for the links of {links.n_heads} heads")
    sizes = (len(query_tokens), len(key_tokens))
    if len(links.query) and (int(links.query.max()) >= sizes[0] or int(links.key.max()) >= sizes[1]):
        raise ValueError(f"a link outside of {sizes[0]} queries x {sizes[1]} keys")
    if visible is not None and visible.dtype == bool and visible.shape != sizes:
        raise ValueError(f"the mask has shape {visible.shape} for {sizes[0]} queries x {sizes[1]} keys")

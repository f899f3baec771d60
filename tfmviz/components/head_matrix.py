"""All heads of A against all heads of B on a canvas: how far apart, and which of them belong together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from tfmviz.components.bundle import script, styles
from tfmviz.components.colours import palettes
from tfmviz.components.payload import pack

if TYPE_CHECKING:
    from tfmviz.analysis.matching import Head, HeadDistances, Match

HEIGHT = 520  # CSS pixels of the whole picture

_head_matrix = st.components.v2.component(
    "tfmviz.head_matrix", js=script("head_matrix.js"), css=styles("base.css", "token_map.css", "head_matrix.css")
)


def head_matrix(
    found: HeadDistances,
    pairs: Sequence[Match],
    chosen: tuple[Head, Head],
    *,
    on_open: Callable[[Head, Head], None],
    order: tuple[np.ndarray, np.ndarray] | None = None,
    title: str = "Heads of A and B",
    key: str = "head_matrix",
) -> None:
    """Draw the distances: heads of A down, heads of B across, dark where two heads are alike.

    Hovering a cell names its heads and gives the distance to four digits; a click, or Enter on it, opens the pair.

    Args:
        found: the distances.
        pairs: which heads belong together; a dot each.
        chosen: the heads that are looked at, ringed.
        on_open: called with a head of A and one of B before the script reruns.
        order: rows and columns in another order, such as clustered; None for layer by layer.
        title: plain text above the picture.
        key: the widget key.
    """

    def opened() -> None:
        pair = opened_pair(st.session_state.get(key), found)
        if pair is not None:
            on_open(*pair)

    data = message(found, pairs, chosen, order=order, title=title, key=key)
    _head_matrix(key=key, data=data, on_opened_change=opened)


def message(
    found: HeadDistances,
    pairs: Sequence[Match],
    chosen: tuple[Head, Head],
    *,
    order: tuple[np.ndarray, np.ndarray] | None = None,
    title: str = "Heads of A and B",
    key: str = "head_matrix",
) -> bytes:
    """What the browser is sent for :func:`head_matrix`, which has the same arguments."""
    heads_a, heads_b = _ordered(found, order)
    place_a, place_b = ({head: at for at, head in enumerate(heads)} for heads in (heads_a, heads_b))
    values = found.values if order is None else found.values[np.ix_(*order)]
    is_there = chosen[0] in place_a and chosen[1] in place_b
    header = {
        "key": key,
        "rows": len(heads_a),
        "cols": len(heads_b),
        "title": title,
        "layered": order is None,
        "chosen": [place_a[chosen[0]], place_b[chosen[1]]] if is_there else None,
        "colours": palettes(),
        "max_height": HEIGHT,
    }
    return pack(
        header,
        distances=values.astype(np.float32),
        pairs=np.array([(place_a[pair.a], place_b[pair.b]) for pair in pairs], np.int32).reshape(-1, 2),
        heads_a=np.array(heads_a, np.int32).reshape(-1, 2),
        heads_b=np.array(heads_b, np.int32).reshape(-1, 2),
    )


def opened_pair(state: Any, found: HeadDistances) -> tuple[Head, Head] | None:
    """The head of A and the head of B that the browser sent, checked. None for anything else."""
    raw = state.get("opened") if hasattr(state, "get") else None
    if not isinstance(raw, list | tuple) or len(raw) != 4:
        return None
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in raw):
        return None
    a, b = (raw[0], raw[1]), (raw[2], raw[3])
    return (a, b) if a in found.heads_a and b in found.heads_b else None


def _ordered(
    found: HeadDistances, order: tuple[np.ndarray, np.ndarray] | None
) -> tuple[Sequence[Head], Sequence[Head]]:
    if order is None:
        return found.heads_a, found.heads_b
    return [found.heads_a[at] for at in order[0]], [found.heads_b[at] for at in order[1]]

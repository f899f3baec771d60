"""The atlas: every layer and head of one trace in one canvas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st

from tfmviz.components.bundle import script, styles
from tfmviz.components.colours import palettes
from tfmviz.components.payload import pack

Pair = tuple[str, str, float]
_atlas = st.components.v2.component("tfmviz.atlas", js=script("atlas.js"), css=styles("base.css"))
_choice = st.components.v2.component("tfmviz.atlas_choice", js=script("atlas_choice.js"))
_notes = st.components.v2.component("tfmviz.atlas_notes", js=script("atlas_notes.js"))


def atlas(
    overview: np.ndarray,
    *,
    n_tokens: tuple[int, int],
    selected: tuple[int, int] | None,
    n_kv_heads: int | None = None,
    strongest: Sequence[Sequence[Pair | None]] = (),
    roles: Sequence[Sequence[str]] = (),
    statuses: Sequence[str] = (),
    visible: np.ndarray | None = None,
    max_height: int = 560,
    feed: str | None = None,
    key: str = "atlas",
    on_change: Callable[[int, int], None] | None = None,
) -> tuple[int, int] | None:
    """Show all heads; hover names them, a click or Enter selects one.

    Args:
        overview: uint8, shape (layers, heads, rows, cols), 255 = weight 1; ``AttentionStack.overview``.
        n_tokens: numbers of queries and of keys behind the rows and columns.
        selected: layer and head that carry the ring; -1 rings all layers, or all heads, together. None rings nothing:
            for a page of several atlases, where the head that is looked at is in another one.
        n_kv_heads: heads of keys and values; fewer than heads puts query heads that share one under a bracket.
        strongest: for each layer and head, the query's text, the key's text and the weight of its strongest pair.
        roles: for each layer and head, a few words on what it does.
        statuses: for each layer, ``AttentionStack.status``; "none: reason" is drawn hatched.
        visible: bool, shape (rows, cols) or (layers, rows, cols): whether anything in the block may be looked at.
            Blocks that are not are hatched.
        max_height: CSS pixels after which the picture scrolls.
        feed: address, relative to the page, under which ``/layer/head`` answers with a head's map: a click puts it on
            screen ahead of the page.
        key: the widget key.
        on_change: called with layer and head, before the script reruns, when the visitor selects another head.

    Returns:
        Layer and head in the run that a new selection starts, else None.

    Raises:
        ValueError: the overview is not uint8 with four dimensions, or a list does not fit it.
    """
    layers, heads = _check(overview, strongest, roles, statuses)
    mask_table, mask_of = _masks(visible, layers)
    header: dict[str, Any] = {
        "key": key,
        "layers": layers,
        "heads": heads,
        "kv_heads": n_kv_heads or heads,
        "rows": overview.shape[2],
        "cols": overview.shape[3],
        "tokens": list(n_tokens),
        "mask_of": mask_of,
        "mask_rows": mask_table.shape[1],
        "mask_cols": mask_table.shape[2],
        "strongest": [[pair and (pair[0], pair[1], round(float(pair[2]), 6)) for pair in row] for row in strongest],
        "roles": [list(row) for row in roles],
        "statuses": list(statuses),
        "colours": palettes(),
        "max_height": max_height,
    }

    def selected_changed() -> None:
        choice = _choice_of(st.session_state.get(key), layers, heads)
        if choice is not None and on_change is not None:
            on_change(*choice[:2])

    with st.container(gap=None):
        result = _atlas(
            key=key,
            data=pack(header, overview=overview, visible=mask_table),
            on_selected_change=selected_changed,
        )
        choice = _choice_of(result, layers, heads)
        # By itself, so that another head does not resend the overview; with the number of the click that it answers.
        told = {
            "key": key,
            "selected": selected and [*map(int, selected)],
            "heard": choice and choice[2],
            "feed": feed,
        }
        _choice(key=f"{key}_choice", data=told)
    seen = f"{key}_seen"
    if choice is None or st.session_state.get(seen) == choice:
        return None
    st.session_state[seen] = choice
    return choice[:2]


def atlas_notes(
    *,
    shape: tuple[int, int, int],
    strongest: Sequence[Sequence[Pair | None]] = (),
    roles: Sequence[Sequence[str]] = (),
    key: str = "atlas",
) -> None:
    """Tell an atlas that is on the page what each head does, once that is known.

    Args:
        shape: layers, heads and keys of the atlas that is spoken of; another one does not listen.
        strongest: as for :func:`atlas`.
        roles: as for :func:`atlas`.
        key: of the atlas.
    """
    about = "x".join(map(str, shape))
    told = [[pair and (pair[0], pair[1], round(float(pair[2]), 6)) for pair in row] for row in strongest]
    data = {"key": key, "about": about, "roles": [list(row) for row in roles], "strongest": told}
    _notes(key=f"{key}_notes", data=data)


def _check(
    overview: np.ndarray,
    strongest: Sequence[Sequence[Pair | None]],
    roles: Sequence[Sequence[str]],
    statuses: Sequence[str],
) -> tuple[int, int]:
    if overview.dtype != np.uint8 or overview.ndim != 4:
        raise ValueError(f"an overview is uint8 with 4 dimensions, not {overview.dtype} with shape {overview.shape}")
    layers, heads = overview.shape[:2]
    for name, table in (("strongest", strongest), ("roles", roles)):
        if table and (len(table) != layers or any(len(row) != heads for row in table)):
            raise ValueError(f"{name} must have one entry for each of {layers} layers x {heads} heads")
    if statuses and len(statuses) != layers:
        raise ValueError(f"{len(statuses)} statuses for {layers} layers")
    return layers, heads


def _masks(visible: np.ndarray | None, layers: int) -> tuple[np.ndarray, list[int]]:
    """The distinct masks, each once, as uint8 (masks, rows, cols); and which of them each layer has (-1: none)."""
    if visible is None or visible.all():
        return np.zeros((0, 0, 0), dtype=np.uint8), [-1] * layers
    stacked = visible[None] if visible.ndim == 2 else visible
    if len(stacked) not in (1, layers):
        raise ValueError(f"visible has {len(stacked)} masks for {layers} layers")
    # By their bytes: numpy's way, which sorts them, takes 55 ms for thirty layers.
    places: dict[bytes, int] = {}
    of = [places.setdefault(mask.tobytes(), len(places)) for mask in stacked]
    table = stacked[[of.index(place) for place in range(len(places))]].astype(np.uint8)
    return table, of if len(of) == layers else of * layers


def _choice_of(state: Any, layers: int, heads: int) -> tuple[int, int, int] | None:
    """What the browser sent, checked: layer, head and the click's own number. None for anything else."""
    raw = state.get("selected") if hasattr(state, "get") else None
    if not isinstance(raw, list | tuple) or len(raw) != 3:
        return None
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in raw):
        return None
    layer, head, click = raw
    return (layer, head, click) if 0 <= layer < layers and 0 <= head < heads else None

"""The pictures of the Architectures page: a diagram a model, the atlas of every stack, and one head closely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.analysis.head_roles import role_of_weights
from tfmviz.analysis.head_view import HeadView, head_view
from tfmviz.charts import diagram as diagram_chart
from tfmviz.charts import head_map
from tfmviz.charts.map_layout import is_wide
from tfmviz.components.atlas import atlas
from tfmviz.models.catalog import Kind
from tfmviz.text import display
from tfmviz.ui import address, errors, pickers, reading
from tfmviz.ui.address import Notes
from tfmviz.ui.requests import HeadChoice

if TYPE_CHECKING:
    from tfmviz.trace import AttentionStack
    from tfmviz.ui.architectures_models import Shown

ATLAS_HEIGHT = 260
_CONFIG = {"displayModeBar": False, "responsive": True}


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a stack belongs.

    Attributes:
        kind: whose model it is.
        stack: its name in the trace.
        title: what its queries and keys are.
    """

    kind: Kind
    stack: str
    title: str


PLACES: Mapping[str, Place] = {
    "encoder-only": Place(kind="encoder", stack="self", title="every token looks at every token"),
    "decoder-only": Place(kind="decoder", stack="self", title="every token looks back"),
    "encoder": Place(kind="encoder-decoder", stack="encoder", title="the source looks at itself"),
    "decoder": Place(kind="encoder-decoder", stack="decoder", title="the target looks back at itself"),
    "cross": Place(kind="encoder-decoder", stack="cross", title="the target looks at the source"),
}


def diagram(kind: str, shown: Shown) -> None:
    """The block diagram of one model."""
    figure = diagram_chart.figure(shown.columns, dark=pickers.is_dark())
    key = f"diagram_{kind.replace('-', '_')}"
    st.plotly_chart(figure, key=key, theme=None, config=_CONFIG, alt=diagram_chart.alt(shown.columns))
    if shown.target is not None:
        st.caption(f"The decoder has read: {display.markdown(shown.target) or 'its start token only'}")


@st.fragment(key="stacks")
def stacks(shown: Mapping[Kind, Shown]) -> None:
    """The attention of every stack, and one head closely. A click on a head draws only this again."""
    names = [name for name, place in PLACES.items() if place.kind in shown]
    notes, notices = Notes(), st.container()
    first = "cross" if "cross" in names else names[0]
    notes.add(address.settle("stack", names, first, what="stack", among=f"There are {', '.join(names)}"))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = st.segmented_control("Stack", names, default=first, key="stack", bind="query-params", required=True)
        name = name if name in names else first
        stack = _stack(shown, name)
        choice = pickers.head_choice(stack, "", notes)
    notes.say(notices)
    for row in (names[:2], names[2:]) if len(names) > 3 else (names,):
        for one, column in zip(row, st.columns(max(len(row), 1), gap="medium"), strict=True):
            with column:
                _all_heads(shown, one, choice if one == name else None)
    _one_head(shown, name, choice)


def _stack(shown: Mapping[Kind, Shown], name: str) -> AttentionStack:
    place = PLACES[name]
    return shown[place.kind].traced.trace[place.stack]


def _all_heads(shown: Mapping[Kind, Shown], name: str, choice: HeadChoice | None) -> None:
    place, stack = PLACES[name], _stack(shown, name)
    n, k = len(stack.query_tokens), len(stack.key_tokens)
    st.markdown(f"**{name}**: {place.title}, {n:,} queries × {k:,} keys")
    reachable = shown[place.kind].traced.reachable[place.stack]
    selected = None  # the head that is looked at is in another stack
    if choice is not None:
        selected = (-1 if choice.layer is None else choice.layer, -1 if choice.head is None else choice.head)
    atlas(
        shown[place.kind].traced.overviews[place.stack],
        n_tokens=(n, k),
        selected=selected,
        n_kv_heads=stack.n_kv_heads,
        statuses=[stack.status(layer) for layer in range(stack.n_layers)],
        visible=reachable,
        max_height=ATLAS_HEIGHT,
        key=f"atlas_{name.replace('-', '_')}",
        on_change=partial(_select, name),
    )


def _select(name: str, layer: int, head: int) -> None:
    """Take the head that was clicked, and its stack with it."""
    st.session_state["stack"] = name
    pickers.select_head(layer, head)


def _one_head(shown: Mapping[Kind, Shown], name: str, choice: HeadChoice) -> None:
    stack = _stack(shown, name)
    try:
        view = head_view(stack, choice.layer, choice.head)
    except Exception as error:  # a layer without attention
        errors.show(error)
        return
    title = f"{name} {choice.name}"
    figure = head_map.figure(
        view.weights, view.visible, view.query_tokens, view.key_tokens, title=title, dark=pickers.is_dark()
    )
    alt = f"Attention of {title}: queries down, keys across"
    if is_wide(len(view.query_tokens), len(view.key_tokens)):
        left = right = st.container()
    else:
        left, right = st.columns([11, 9], gap="medium")
    with left:
        st.plotly_chart(figure, key="head_map", theme=None, config=head_map.config(f"tfmviz {title}"), alt=alt)
    with right:
        st.markdown(words(name, view, choice))


def words(name: str, view: HeadView, choice: HeadChoice) -> str:
    """*What you see* and *Try* for one head, as Markdown."""
    import torch

    role = role_of_weights(torch.from_numpy(view.weights), view.query_tokens, view.key_tokens)
    rows, columns = len(view.query_tokens), len(view.key_tokens)
    seen = f"The map has {rows} rows and {columns} columns"
    why = "both are the same tokens" if name != "cross" else "rows are the output, columns the input"
    tries = {
        "cross": "Look for the input that each output character rests on.",
        "decoder": "Compare with the encoder beside it: the hatched half is the future.",
        "encoder": "Compare with cross: same keys, other queries.",
    }
    return (
        f"**What you see** {reading.head_sentence(choice, role)} {seen}: {why}.\n\n"
        f"**Try** {tries.get(name, 'Click the same place in the other models: which of them may look ahead?')}"
    )

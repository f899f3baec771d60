"""The controls of a picture of attention: which head, which part of a pair, and how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import streamlit as st

from tfmviz.analysis.head_view import PARTS, WINDOW, Part, part_size
from tfmviz.ui import address
from tfmviz.ui.address import Notes
from tfmviz.ui.requests import HeadChoice

if TYPE_CHECKING:
    from tfmviz.trace import AttentionStack, Trace

MEAN = "mean"
PICKED_FOR = "heads_picked_for"
# Lines thinner than this share of a row's attention are not drawn until somebody asks for them.
THRESHOLD = 0.1
MOST_HEADS = 12
# A head of each model that is easy to read, to open with: (layer, head).
START = {"minilm": (0, 2), "smollm2": (3, 4), "scratch-induction": (1, 6), "scratch-dates": (0, 0)}


@dataclass(frozen=True, kw_only=True, slots=True)
class PictureOptions:
    """How the picture of a head is drawn.

    Attributes:
        row_scaled: each row of the map on its own scale.
        hide_special: leave special tokens out.
        threshold: least weight that gets a line.
        more: heads whose lines are drawn beside those of the chosen one.
    """

    row_scaled: bool
    hide_special: bool
    threshold: float
    more: tuple[HeadChoice, ...]


def view(key: str, views: Sequence[str], notes: Notes) -> str:
    """Which of a page's views to show; the first one to begin with."""
    notes.add(address.settle(key, views, views[0], what="view", among=f"There are {', '.join(views)}"))
    return st.segmented_control(
        "View",
        views,
        default=views[0],
        key=key,
        bind="query-params",
        required=True,
        label_visibility="collapsed",
    )


def stack_name(stacks: Mapping[str, object], notes: Notes) -> str:
    """Which of a trace's stacks to look at; there is a choice in an encoder-decoder."""
    names, first = list(stacks), first_stack(stacks)
    if len(names) == 1:
        return first
    notes.add(address.settle("stack", names, first, what="stack", among=f"This model has {', '.join(names)}"))
    name = st.segmented_control("Stack", names, default=first, key="stack", bind="query-params", required=True)
    return name if name in names else first


def current_stack(trace: Trace) -> str:
    """The stack that is looked at, once its picker has been drawn."""
    name: str = st.session_state.get("stack") or ""
    return name if name in trace.stacks else first_stack(trace.stacks)


def first_stack(stacks: Mapping[str, object]) -> str:
    """The stack that is shown while nobody has chosen: where the decoder looks at the text, if there is a decoder."""
    return "cross" if "cross" in stacks else next(iter(stacks))


def start_of(model: str) -> tuple[int, int]:
    """Layer and head to open a model with. Ours with pretrained weights have the same heads as those that they copy."""
    return START.get(model) or START.get(model.removeprefix("scratch-"), (0, 0))


def head_choice(stack: AttentionStack, model: str, notes: Notes) -> HeadChoice:
    """Which layer and which head."""
    return head_among(stack.n_layers, stack.n_heads, model, notes)


def head_among(n_layers: int, n_heads: int, model: str, notes: Notes) -> HeadChoice:
    """Which layer and which head of so many, before there is a trace."""
    (layer, head), anew = start_of(model), is_another(model)
    return HeadChoice(
        layer=_pick("layer", n_layers, layer, notes, anew=anew),
        head=_pick("head", n_heads, head, notes, anew=anew),
    )


def is_another(model: str, slot: str = PICKED_FOR) -> bool:
    """Whether the model is not the one for which a head was picked last, in this slot of the session."""
    before = st.session_state.get(slot, model)
    st.session_state[slot] = model
    return bool(before != model)


def start_anew(what: str, default: int) -> None:
    """Another model has come: a layer or head that nobody chose gives way to the one that model opens with.

    What nobody chose is not in the address, and an address without it opens the model's own.
    """
    if what in st.session_state and what not in st.query_params:
        st.session_state[what] = default


def _pick(what: str, count: int, default: int, notes: Notes, *, anew: bool) -> int | None:
    options: list[int | str] = [MEAN, *range(count)]
    default = min(default, count - 1)
    if anew:
        start_anew(what, default)
    among = f"This model has {address.counted(what, count)}, and their {MEAN}"
    notes.add(address.settle(what, options, default, what=what, among=among))
    value = st.selectbox(
        what.capitalize(), options, index=options.index(default), key=what, bind="query-params", width=104
    )
    return value if isinstance(value, int) else None


def select_head(layer: int, head: int) -> None:
    """Take the head that was clicked in the atlas: the pickers and the address follow."""
    st.session_state["layer"] = layer
    st.session_state["head"] = head


def part_choice(notes: Notes) -> Part:
    """Which sentence looks at which."""
    notes.add(address.settle("part", PARTS, "all", what="part", among=f"A pair has {', '.join(PARTS)}"))
    part = st.segmented_control("Sentences", PARTS, default="all", key="part", bind="query-params", required=True)
    return part if part in PARTS else "all"


def window(stack: AttentionStack, part: Part, notes: Notes) -> tuple[int, int]:
    """Where a long text is looked at: first row and first column of the picture. Draws nothing for a short one."""
    rows = part_size(stack.query_tokens, part, side=0)
    columns = part_size(stack.key_tokens, part, side=1)
    return window_among(rows, columns, notes)


def window_among(rows: int, columns: int, notes: Notes) -> tuple[int, int]:
    """The same in a picture of so many rows and columns, before there is a trace."""
    return _window_start("row", rows, notes), _window_start("column", columns, notes)


def _window_start(side: str, length: int, notes: Notes) -> int:
    if length <= WINDOW:
        return 0
    last = length - WINDOW
    notes.add(address.settle_number(side, 0, last, 0, what=f"first {side}"))
    return st.slider(f"First {side}", 0, last, 0, 64, key=side, bind="query-params", width=200)


def picture_options(stack: AttentionStack, notes: Notes) -> PictureOptions:
    """The switches of the picture."""
    notes.add(address.settle_switch("rows", what="“scale each row”"))
    notes.add(address.settle_switch("hide", what="“hide special tokens”"))
    notes.add(address.settle_number("threshold", 0.0, 1.0, THRESHOLD, what="a threshold of"))
    row_scaled = st.toggle("Scale each row", key="rows", bind="query-params")
    hide_special = st.toggle("Hide special tokens", key="hide", bind="query-params")
    with st.popover("Lines", icon=":material/timeline:"):
        threshold = st.slider("Draw lines from weight", 0.0, 1.0, THRESHOLD, 0.01, key="threshold", bind="query-params")
        more = _more_heads(stack, notes)
    return PictureOptions(
        row_scaled=bool(row_scaled),
        hide_special=bool(hide_special),
        threshold=min(max(float(threshold), 0.0), 1.0),
        more=more,
    )


def _more_heads(stack: AttentionStack, notes: Notes) -> tuple[HeadChoice, ...]:
    layers = [layer for layer in range(stack.n_layers) if not stack.status(layer).startswith("none")]
    choices = [HeadChoice(layer=i, head=j) for i in layers for j in range(stack.n_heads)]
    by_name = {choice.name: choice for choice in choices}
    notes.add(address.settle_many("heads", list(by_name), what="head"))
    names = st.multiselect(
        "Heads beside the chosen one", list(by_name), key="heads", bind="query-params", max_selections=MOST_HEADS - 1
    )
    return tuple(by_name[name] for name in names if name in by_name)


def whole_number(
    label: str,
    key: str,
    low: int,
    high: int,
    default: int,
    notes: Notes,
    *,
    disabled: bool = False,
    width: int | Literal["stretch"] = "stretch",
) -> int:
    """A whole number that is typed, within its bounds whatever the address says."""
    notes.add(address.settle_number(key, low, high, default, what=label.lower()))
    value = st.number_input(
        label,
        low,
        high,
        default,
        key=key,
        bind=address.number_binding(key),
        persist_state="session",
        disabled=disabled,
        width=width,
    )
    return min(max(int(value), low), high)


def is_dark() -> bool:
    """Whether the visitor's page is dark."""
    return st.context.theme.type == "dark"

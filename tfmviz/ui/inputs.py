"""The widgets that pages share. Their keys are the names in the address, so a copied link reopens the same view.

The browser keeps widgets within their bounds; an address does not. Whatever comes from there is checked here again, and
what cannot be meant is answered with a sentence and a choice that can.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

import streamlit as st

from tfmviz.analysis.head_view import PARTS, WINDOW, Part, part_size
from tfmviz.models.catalog import find
from tfmviz.models.sources import offered
from tfmviz.ui import address, cache
from tfmviz.ui.requests import HeadChoice, ModelRequest, TraceRequest
from tfmviz.ui.samples import samples

if TYPE_CHECKING:
    from tfmviz.trace import AttentionStack, Trace

MEAN = "mean"
DEVICES = ("auto", "cpu", "cuda", "mps")
# Servers read a request line of 16 kB and no more: a longer text would make a link that nobody can open.
LONGEST_LINK = 12_000
# Lines thinner than this share of a row's attention are not drawn until somebody asks for them.
THRESHOLD = 0.1
MOST_HEADS = 12
# A head of each model that is easy to read, to open with: (layer, head).
START = {"minilm": (2, 5), "smollm2": (3, 4)}


def shared() -> TraceRequest:
    """Draw the sidebar and read it: text, model, device, and a second text where the model takes one."""
    text_box()
    model = model_box()
    kind = kind_of(model)
    pair = second_box("pair", "Second sentence", "Empty for a single text.") if kind == "encoder" else ""
    target = ""
    if kind == "encoder-decoder":
        target = second_box("target", "Text for the decoder", "What the decoder has read so far.")
    return TraceRequest(model=model, text=st.session_state["text"], pair=pair or None, target=target or None)


def text_box() -> str:
    """The text that every page is about."""
    typed = st.session_state.get("text", "")
    linkable = len(quote(typed, safe="")) <= LONGEST_LINK
    text = st.text_area(
        "Text",
        value=samples()[0].text,
        key="text",
        height=132,
        bind="query-params" if linkable else None,
        persist_state="session",
        placeholder="Type a text and press Ctrl+Enter",
    )
    if not linkable:
        st.caption("This text is too long for an address: a link opens this page with the sample text.")
    st.menu_button(
        "Sample texts",
        [sample.title for sample in samples()],
        key="sample",
        on_click=_take_sample,
        width="stretch",
        icon=":material/menu_book:",
    )
    return text


def _take_sample() -> None:
    chosen = next((sample for sample in samples() if sample.title == st.session_state["sample"]), None)
    if chosen is not None:
        st.session_state["text"] = chosen.text
        st.session_state["pair"] = chosen.pair


def model_box() -> ModelRequest:
    """Which model, and on which device."""
    entries = offered()
    name = st.selectbox(
        "Model",
        [entry.name for entry in entries],
        key="model",
        bind="query-params",
        accept_new_options=True,
        help="Pick one, or type the name of a model on the Hugging Face Hub.",
    )
    if (entry := find(name or "")) is not None:
        st.caption(f"{entry.title}. {entry.shows}")
    device = st.selectbox(
        "Device",
        DEVICES,
        key="device",
        bind="query-params",
        accept_new_options=True,
        help="auto takes the best there is: a CUDA card, else Apple's MPS, else the CPU.",
    )
    return ModelRequest(name=(name or "").strip(), device=(device or "auto").strip())


def second_box(key: str, label: str, placeholder: str) -> str:
    """A second text."""
    return st.text_area(label, key=key, height=68, bind="query-params", placeholder=placeholder)


def kind_of(model: ModelRequest) -> str | None:
    """Encoder, decoder or both, where that is known before the model is loaded."""
    entry = find(model.name)
    if entry is not None:
        return entry.kind
    return cache.model(model).kind if cache.is_loaded(model) else None


def head_choice(stack: AttentionStack, model: str) -> HeadChoice:
    """Draw the pickers of layer and head, and read them."""
    layer, head = START.get(model, (0, 0))
    return HeadChoice(
        layer=_pick("layer", stack.n_layers, min(layer, stack.n_layers - 1)),
        head=_pick("head", stack.n_heads, min(head, stack.n_heads - 1)),
    )


def _pick(what: str, count: int, default: int) -> int | None:
    options: list[int | str] = [MEAN, *range(count)]
    among = f"This model has {count} {what}s, 0 to {count - 1}, and their {MEAN}"
    index, complaint = address.settle(what, options, default, what=what, among=among)
    value = st.selectbox(what.capitalize(), options, index=index, key=what, bind="query-params", width=104)
    if complaint:
        st.warning(complaint, icon=":material/link_off:")
    return value if isinstance(value, int) else None


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


def picture_options(stack: AttentionStack) -> PictureOptions:
    """Draw the switches of the picture, and read them."""
    complaints = [
        address.settle_switch("rows", what="“scale each row”"),
        address.settle_switch("hide", what="“hide special tokens”"),
        address.settle_number("threshold", 0.0, 1.0, THRESHOLD, what="a threshold of"),
    ]
    names = [HeadChoice(layer=i, head=j).name for i in range(stack.n_layers) for j in range(stack.n_heads)]
    row_scaled = st.toggle("Scale each row", key="rows", bind="query-params")
    hide_special = st.toggle("Hide special tokens", key="hide", bind="query-params")
    with st.popover("Lines", icon=":material/timeline:"):
        threshold = st.slider("Draw lines from weight", 0.0, 1.0, THRESHOLD, 0.01, key="threshold", bind="query-params")
        kept = [name for name in st.session_state.get("heads", []) if name in names]
        if kept != st.session_state.get("heads", kept):
            st.session_state["heads"] = kept
        more = st.multiselect(
            "Heads beside the chosen one", names, key="heads", bind="query-params", max_selections=MOST_HEADS - 1
        )
    for complaint in filter(None, complaints):
        st.warning(complaint, icon=":material/link_off:")
    return PictureOptions(
        row_scaled=row_scaled,
        hide_special=hide_special,
        threshold=min(max(float(threshold), 0.0), 1.0),
        more=tuple(_parse_head(name) for name in more if name in names),
    )


def _parse_head(name: str) -> HeadChoice:
    layer, head = name.split()
    return HeadChoice(layer=int(layer[1:]), head=int(head[1:]))


def part_choice() -> Part:
    """Which sentence looks at which."""
    _, complaint = address.settle("part", PARTS, "all", what="part", among=f"A pair has {', '.join(PARTS)}")
    part = st.segmented_control("Sentences", PARTS, default="all", key="part", bind="query-params", required=True)
    if complaint:
        st.warning(complaint, icon=":material/link_off:")
    return part if part in PARTS else "all"


def window(stack: AttentionStack, part: Part) -> tuple[int, int]:
    """Where a long text is looked at: first row and first column of the picture. Draws nothing for a short one."""
    return (
        _window_start("row", part_size(stack.query_tokens, part, side=0)),
        _window_start("column", part_size(stack.key_tokens, part, side=1)),
    )


def _window_start(side: str, length: int) -> int:
    if length <= WINDOW:
        return 0
    last = length - WINDOW
    complaint = address.settle_number(side, 0, last, 0, what=f"first {side}")
    if complaint:
        st.warning(complaint, icon=":material/link_off:")
    if st.session_state.get(side, 0) > last:
        st.session_state[side] = last
    return st.slider(f"First {side}", 0, last, 0, 64, key=side, bind="query-params", width=200)


def stack_name(trace: Trace) -> str:
    """Which stack of the trace to look at; there is a choice in an encoder-decoder."""
    names = list(trace.stacks)
    if len(names) == 1:
        return names[0]
    first = "cross" if "cross" in names else names[0]
    _, complaint = address.settle("stack", names, first, what="stack", among=f"This model has {', '.join(names)}")
    name = st.segmented_control("Stack", names, default=first, key="stack", bind="query-params", required=True)
    if complaint:
        st.warning(complaint, icon=":material/link_off:")
    return name if name in names else first


def select_head(layer: int, head: int) -> None:
    """Take the head that was clicked in the atlas: the pickers and the address follow."""
    st.session_state["layer"] = layer
    st.session_state["head"] = head


def is_dark() -> bool:
    """Whether the visitor's page is dark."""
    return st.context.theme.type == "dark"

"""The widgets that pages share. Their keys are the names in the address, so a copied link reopens the same view.

The browser keeps widgets within their bounds; an address does not. Whatever comes from there is checked here again, and
what cannot be meant is answered with a sentence and a choice that can.
"""

from __future__ import annotations

from urllib.parse import quote

import streamlit as st

from tfmviz.models.catalog import find
from tfmviz.models.sources import offered
from tfmviz.ui import address, cache, training_models
from tfmviz.ui.requests import ModelRequest, TraceRequest
from tfmviz.ui.samples import samples
from tfmviz.ui.upload import upload_box

DEVICES = ("auto", "cpu", "cuda", "mps")
# Servers read a request line of 16 kB and no more: a longer text would make a link that nobody can open.
LONGEST_LINK = 12_000
# The kind of model that the sidebar was drawn for.
_KIND = "kind_of_model"


def shared() -> TraceRequest:
    """Draw the sidebar and read it: text, model, device, and a second text where the model takes one."""
    training_models.take_offer()
    text_box()
    model = model_box()
    kind = st.session_state[_KIND] = kind_of(model)
    pair = second_box("pair", "Second sentence", "Empty for a single text.") if kind == "encoder" else ""
    target = ""
    if kind == "encoder-decoder":
        target = second_box("target", "Text for the decoder", "What the decoder has read so far.")
    return TraceRequest(model=model, text=st.session_state["text"], pair=pair or None, target=target or None)


def lacks_a_box(kind: str) -> bool:
    """Whether the sidebar was drawn before it was known that this kind of model takes a second text."""
    return st.session_state.get(_KIND) is None and kind != "decoder"


def text_box() -> str:
    """The text that every page is about."""
    typed = st.session_state.get("text", "")
    linkable = _fits_a_link(typed)
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
    upload_box()
    return text


def _take_sample() -> None:
    chosen = next((sample for sample in samples() if sample.title == st.session_state["sample"]), None)
    if chosen is not None:
        st.session_state["text"] = chosen.text
        st.session_state["pair"] = chosen.pair
        st.session_state["target"] = chosen.target


def model_box() -> ModelRequest:
    """Which model, and on which device."""
    names = [*(entry.name for entry in offered()), *training_models.names()]
    typed = st.session_state.get("model") or address.asked("model")
    name = st.selectbox(
        "Model",
        names if not typed or typed in names else [*names, typed],
        key="model",
        bind="query-params",
        accept_new_options=True,
        help="Pick one, or type the name of a model on the Hugging Face Hub.",
    )
    if (entry := find(name or "")) is not None:
        st.caption(f"{entry.title}. {entry.shows}")
    elif (trained := training_models.find(name or "")) is not None:
        st.caption(f"{trained.title}. Yours alone, until you close this page.")
    asked = st.session_state.get("device") or address.asked("device")
    device = st.selectbox(
        "Device",
        DEVICES if not asked or asked in DEVICES else (*DEVICES, asked),
        key="device",
        bind="query-params",
        accept_new_options=True,
        help="auto takes the best there is: a CUDA card, else Apple's MPS, else the CPU.",
    )
    return training_models.request((name or "").strip(), (device or "auto").strip())


def second_box(key: str, label: str, placeholder: str) -> str:
    """A second text; in the address where it and the first fit there together."""
    typed = st.session_state.get(key) or ""
    linkable = _fits_a_link(st.session_state.get("text", "") + typed)
    return st.text_area(label, key=key, height=68, bind="query-params" if linkable else None, placeholder=placeholder)


def _fits_a_link(text: str) -> bool:
    return len(quote(text, safe="")) <= LONGEST_LINK


def kind_of(model: ModelRequest) -> str | None:
    """Encoder, decoder or both, where that is known before the model is loaded."""
    entry = find(model.name)
    if entry is not None:
        return entry.kind
    if model.private:
        return training_models.kind_of(model.name)
    return cache.model(model).kind if cache.is_loaded(model) else None

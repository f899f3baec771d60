"""The Architectures page: three kinds of transformer on one text, and two experiments on where the norm stands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from tfmviz.errors import EmptyText
from tfmviz.models.catalog import Kind
from tfmviz.ui import address, architectures_depth, architectures_models, architectures_picture, errors, loading
from tfmviz.ui import cache as shelves
from tfmviz.ui.address import Notes
from tfmviz.ui.architectures_models import KINDS, Shown
from tfmviz.ui.requests import TraceRequest

VIEWS = ("three kinds", "depth", "warm-up")
THEORY = Path(__file__).resolve().parents[2] / "assets" / "texts" / "architectures.md"
TITLES = {
    "encoder": ("Encoder-only", "reads everything at once"),
    "decoder": ("Decoder-only", "reads left to right"),
    "encoder-decoder": ("Encoder-decoder", "reads one text, writes another"),
}
MOST_TARGET = 200


def draw(request: TraceRequest) -> None:
    """The whole page.

    Args:
        request: the sidebar's; its text is what the models read.
    """
    line, notes, notices = loading.Line(st.container(key="line")), Notes(), st.container()
    notes.add(address.settle("view", VIEWS, VIEWS[0], what="view", among=f"There are {', '.join(VIEWS)}"))
    view = st.segmented_control(
        "View",
        VIEWS,
        default=VIEWS[0],
        key="view",
        bind="query-params",
        persist_state="session",
        required=True,
        label_visibility="collapsed",
    )
    if view == "depth":
        architectures_depth.depth(line, notes)
    elif view == "warm-up":
        architectures_depth.warmup(line, notes)
    else:
        _three(request.text, line, notes)
    notes.say(notices)


def _three(text: str, line: loading.Line, notes: Notes) -> None:
    """Three diagrams side by side, and the attention of every stack under them."""
    shown: dict[Kind, Shown] = {}
    failed: dict[Kind, Exception] = {}
    notices = st.container()
    places = st.columns([5, 5, 9], gap="medium")
    chosen, typed = {}, ""
    for kind, place in zip(KINDS, places, strict=True):
        with place:
            title, does = TITLES[kind]
            st.markdown(f"**{title}** {does}")
            # the three diagrams begin at one height: the third kind's text stands beside its model
            with st.container(horizontal=True, gap="small"):
                chosen[kind] = _model(kind, notes)
                if kind == "encoder-decoder":
                    typed = _written()
    for kind, place in zip(KINDS, places, strict=True):
        try:
            shown[kind] = _shown(kind, chosen[kind], text, typed, line)
        except Exception as error:  # the page's last resort: the other models are still shown
            failed[kind] = error
            continue
        with place:
            architectures_picture.diagram(kind, shown[kind])
    for kind, what in _said_once(failed).items():
        with places[KINDS.index(kind)] if len(failed) < len(KINDS) else notices:
            errors.show(what)
    line.say("Three kinds of transformer on **your text**, with the shapes of these very models. Read them from below.")
    if shown:
        architectures_picture.stacks(shown)


def _model(kind: Kind, notes: Notes) -> str:
    names = architectures_models.names(kind)
    key = kind.replace("-", "_")
    notes.add(address.settle(key, names, names[0], what=f"{kind} model", among=f"There are {', '.join(names)}"))
    name = st.selectbox(
        f"{TITLES[kind][0]} model",
        names,
        key=key,
        bind="query-params",
        persist_state="session",
        label_visibility="collapsed",
    )
    return name if name in names else names[0]


def _written() -> str:
    typed = st.text_input(
        "Text for the decoder",
        max_chars=MOST_TARGET,
        key="written",
        bind="query-params",
        persist_state="session",
        placeholder="Text for the decoder",
        label_visibility="collapsed",
    )
    return typed[:MOST_TARGET]


def _shown(kind: Kind, name: str, text: str, typed: str, line: loading.Line) -> Shown:
    """One model on the text."""
    model = loading.wait(architectures_models.job(kind, name), line)
    target = loading.wait(architectures_models.target_for(kind, name, model, text, typed), line)  # type: ignore[arg-type]
    asked = TraceRequest(model=architectures_models.request(kind, name), text=text, target=target)
    traced = loading.wait(shelves.trace_job(asked, model), line)
    return architectures_models.show(model, traced)  # type: ignore[arg-type]


def _said_once(failed: Mapping[Kind, Exception]) -> Mapping[Kind, Exception]:
    """What went wrong by kind; an empty text, which no model can read, is said once."""
    empty = len(failed) == len(KINDS) and all(isinstance(error, EmptyText) for error in failed.values())
    return dict([next(iter(failed.items()))]) if empty else failed


def theory() -> None:
    """What the three kinds share and where they differ, for those who open it."""
    with st.expander("What the three share, and why the place of the norm matters", icon=":material/school:"):
        st.markdown(THEORY.read_text(encoding="utf-8"))

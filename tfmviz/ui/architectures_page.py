"""The Architectures page: three kinds of transformer on one text, and two experiments on where the norm stands."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from tfmviz.text import display
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
        "View", VIEWS, default=VIEWS[0], key="view", bind="query-params", required=True, label_visibility="collapsed"
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
    shown: dict[str, Shown] = {}
    places = st.columns([5, 5, 9], gap="medium")
    chosen = {}
    for kind, place in zip(KINDS, places, strict=True):
        with place:
            title, does = TITLES[kind]
            st.markdown(f"**{title}** {does}")
            chosen[kind] = _model(kind, notes)
    with places[2]:
        typed = st.text_input(
            "Text for the decoder",
            max_chars=MOST_TARGET,
            key="written",
            bind="query-params",
            placeholder="Empty: what the model itself writes",
        )
    for kind, place in zip(KINDS, places, strict=True):
        made = _shown(kind, chosen[kind], text, typed[:MOST_TARGET], line, place)
        if made is not None:
            shown[kind] = made
            with place:
                architectures_picture.diagram(kind, made)
    line.say("Three kinds of transformer on **your text**, with the shapes of these very models. Read them from below.")
    if shown:
        architectures_picture.stacks(shown)


def _model(kind: str, notes: Notes) -> str:
    names = architectures_models.names(kind)  # type: ignore[arg-type]
    key = kind.replace("-", "_")
    notes.add(address.settle(key, names, names[0], what=f"{kind} model", among=f"There are {', '.join(names)}"))
    name = st.selectbox("Model", names, key=key, bind="query-params", label_visibility="collapsed")
    return name if name in names else names[0]


def _shown(
    kind: str, name: str, text: str, typed: str, line: loading.Line, place: st.delta_generator.DeltaGenerator
) -> Shown | None:
    """One model on the text; its error in its own place where it cannot read it."""
    try:
        model = loading.wait(architectures_models.job(kind, name), line)  # type: ignore[arg-type]
        target = architectures_models.target_for(kind, name, text, typed)  # type: ignore[arg-type]
        asked = TraceRequest(model=architectures_models.request(kind, name), text=text, target=target)  # type: ignore[arg-type]
        traced = loading.wait(shelves.trace_job(asked, model), line)
        return architectures_models.show(model, traced)  # type: ignore[arg-type]
    except Exception as error:  # the page's last resort: the other models are still shown
        with place:
            st.caption(display.markdown(name))
            errors.show(error)
        return None


def theory() -> None:
    """What the three kinds share and where they differ, for those who open it."""
    with st.expander("What the three share, and why the place of the norm matters", icon=":material/school:"):
        st.markdown(THEORY.read_text(encoding="utf-8"))

"""The Inside page: one head, step by step, on the visitor's own text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.text import display
from tfmviz.ui import (
    cache,
    errors,
    inputs,
    inside_closer,
    inside_inputs,
    inside_jobs,
    inside_steps,
    inside_words,
    loading,
    stoppable,
)
from tfmviz.ui.address import Notes
from tfmviz.ui.counting import counted
from tfmviz.ui.inside_view import InsideView, look
from tfmviz.ui.requests import TraceRequest

if TYPE_CHECKING:
    from tfmviz.trace import LayerInside
    from tfmviz.ui.inside_inputs import Changes, Place

THEORY = Path(__file__).resolve().parents[2] / "assets" / "texts" / "inside.md"
LAST_GOOD = "inside_last_good"
SKELETON_HEIGHT = 520


def draw(request: TraceRequest) -> None:
    """The whole page.

    Args:
        request: the sidebar's.
    """
    line, notice, body = loading.Line(st.container(key="line")), st.container(), st.container()
    shown: TraceRequest | None = request
    try:
        _look(request, line, body)
        st.session_state[LAST_GOOD] = request
        line.say(_line(request))
    except Exception as error:  # the page's last resort: a visitor sees sentences, never a traceback
        shown = st.session_state.get(LAST_GOOD)
        line.say("This is the last text that worked." if shown is not None else "")
        with notice:
            errors.show(error, request=request)
    if shown is not None:
        with body:
            _head(shown)


def _look(request: TraceRequest, line: loading.Line, body: st.delta_generator.DeltaGenerator) -> None:
    """Wait for the model, showing how far it is, and refuse a text that it does not take."""
    first = LAST_GOOD not in st.session_state
    job = cache.model_job(request.model)
    skeleton = body.skeleton(height=SKELETON_HEIGHT) if first and not job.future.done() else None
    try:
        model = loading.wait(job, line, quiet_s=0 if first else loading.QUIET_S)
    finally:
        if skeleton is not None:
            skeleton.empty()
    if inputs.lacks_a_box(model.kind):
        st.rerun()
    inside_jobs.outline(request)


def _line(request: TraceRequest) -> str:
    model, stacks = cache.model(request.model), inside_jobs.outline(request)
    n_tokens = len(next(iter(stacks.values())).query_tokens)
    return (
        f"One head of **{display.markdown(model.name)}** on {counted(n_tokens, 'token')}, step by step. "
        "Move the slider, or press the left and right arrow keys."
    )


@st.fragment(key="inside")
def _head(request: TraceRequest) -> None:
    """Everything that depends on the head, the step and the tokens followed."""
    stacks, notes, notices = inside_jobs.outline(request), Notes(), st.container()
    strip = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    with strip:
        place = inside_inputs.place(stacks, request.model.name, notes)
        stack = stacks[place.stack]
        query = inside_inputs.query_token(stack, notes)
        key = inside_inputs.key_token(stack, notes)
    step = inside_inputs.step(notes)
    try:
        inside = _inside(request, place, loading.Line(notices))
    except stoppable.Unfinished:
        return
    except Exception as error:  # a layer without queries and keys; the pickers stay
        with notices:
            errors.show(error)
        return
    with strip:
        changes = _changes(inside, notes)
    view = look(inside, stack, place, query, key, changes)
    left, right = st.columns([11, 9], gap="medium")
    with left:
        inside_steps.draw(step, view)
        _words(step, view)
    with right:
        kind = inside_inputs.closer(notes, rotates=inside.unrotated is not None)
        inside_closer.draw(kind, step, view)
    notes.say(notices)


def _inside(request: TraceRequest, place: Place, line: loading.Line) -> LayerInside:
    """The layer, in a pass that ends there: in a deep model long before a whole pass would."""
    asked = inside_jobs.InsideRequest(trace=request, stack=place.stack, layer=place.layer)
    inside = stoppable.wait("inside", asked, lambda: inside_jobs.inside_job(asked), line)
    line.clear()
    return inside


def _changes(inside: LayerInside, notes: Notes) -> Changes:
    scales, rotates = inside.source.scale != 1.0, inside.unrotated is not None
    return inside_inputs.changes(notes, scales=scales, rotates=rotates)


def _words(step: str, view: InsideView) -> None:
    st.markdown(inside_words.paragraph(step, view))
    said = inside_words.check_line(view.checked, view.inside)
    with st.container(key="check"):
        if inside_words.checks_out(view.checked):
            st.success(said, icon=":material/check:")
        else:
            st.warning(f"These steps are not exactly the model's. {said}", icon=":material/warning:")
    for remark in inside_words.remarks(view.inside):
        st.caption(remark)


def theory() -> None:
    """The steps in words and formulas, for those who open it."""
    with st.expander("The steps in words, and where these numbers come from", icon=":material/school:"):
        st.markdown(THEORY.read_text(encoding="utf-8"))

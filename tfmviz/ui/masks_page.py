"""The Masks page: six masks side by side, the masks a model really applies, padding, and the leakage test."""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.ui import cache, errors, inputs, loading, masks_effects, masks_jobs, masks_panels, pickers, stoppable
from tfmviz.ui.address import Notes
from tfmviz.ui.masks_jobs import PaddedRequest
from tfmviz.ui.requests import TraceRequest

if TYPE_CHECKING:
    from tfmviz.models import Model

DRAW = {
    "side by side": masks_panels.side_by_side,
    "this model": masks_panels.this_model,
    "padding": masks_effects.padding,
    "leakage": masks_effects.leakage,
}
VIEWS = tuple(DRAW)
THEORY = Path(__file__).resolve().parents[2] / "assets" / "texts" / "masks.md"
SKELETON_HEIGHT = 560
# Whether a visitor has seen a picture here: the first one is waited for with a skeleton.
SEEN = "masks_seen"


def draw(request: TraceRequest) -> None:
    """The whole page.

    Args:
        request: the sidebar's.
    """
    line, notes, notices = loading.Line(st.container(key="line")), Notes(), st.container()
    view = pickers.view("mask_view", VIEWS, notes)
    notes.say(notices)
    try:
        model = _model(request, line)
        _check_length(request, model)
    except Exception as error:  # the page's last resort: a visitor sees sentences, never a traceback
        line.say("")
        errors.show(error, request=request)
        return
    _picture(view, request, model, line)
    st.session_state[SEEN] = True


@st.fragment(key="masks")
def _picture(view: str, request: TraceRequest, model: Model, line: loading.Line) -> None:
    """One view with its controls: what is changed there draws only this again."""
    # Plotly takes pandas as it finds it, half imported too, while another visitor's first picture is still importing it
    importlib.import_module("pandas")
    try:
        with contextlib.suppress(stoppable.Unfinished):
            DRAW.get(view, masks_panels.side_by_side)(request, model, line)
    except Exception as error:  # likewise; a fragment's errors do not reach the page
        line.say("")
        errors.show(error)


def _check_length(request: TraceRequest, model: Model) -> None:
    """Refuse a text that does not fit before the fragment: the button that cuts it draws the whole page again.

    Raises:
        TextTooLong: if it does not fit.
    """
    n_tokens = len(model.tokenize(request.text, request.pair))
    if model.max_tokens is not None and n_tokens > model.max_tokens:
        masks_jobs.padded_job(PaddedRequest(trace=request, pads=0, side="right"), model).future.result()


def _model(request: TraceRequest, line: loading.Line) -> Model:
    """The model, waited for; the sidebar is drawn again where it turns out to take a second text."""
    job = cache.model_job(request.model)
    skeleton = None
    if SEEN not in st.session_state and not job.future.done():
        skeleton = st.empty()
        skeleton.skeleton(height=SKELETON_HEIGHT)
    model = loading.wait(job, line)
    if skeleton is not None:
        skeleton.empty()
    if inputs.lacks_a_box(model.kind):
        st.rerun()
    return model


def theory() -> None:
    """What each mask is for, for those who open it."""
    with st.expander("What each mask is for, and the formula", icon=":material/school:"):
        st.markdown(THEORY.read_text(encoding="utf-8"))

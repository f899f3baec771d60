"""The Positions page: sinusoids, rotary pairs, biases, the loaded model's table, order on a text, and longer texts."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from tfmviz.ui import errors, loading, pickers, positions_jobs, positions_schemes, positions_text
from tfmviz.ui.address import Notes
from tfmviz.ui.requests import TraceRequest

DRAW = {
    "sinusoids": positions_schemes.sinusoids,
    "rotary": positions_schemes.rotary,
    "biases": positions_schemes.biases,
    "this model": positions_text.this_model,
    "order": positions_text.order,
    "longer texts": positions_text.longer,
}
VIEWS = tuple(DRAW)
SKELETON_HEIGHT = 560
THEORY = Path(__file__).resolve().parents[2] / "assets" / "texts" / "positions.md"


def draw(request: TraceRequest) -> None:
    """The whole page.

    Args:
        request: the sidebar's.
    """
    line, notes, notices = loading.Line(st.container(key="line")), Notes(), st.container()
    view = pickers.view("position_view", VIEWS, notes)
    notes.say(notices)
    _picture(view, request, line)


@st.fragment(key="positions")
def _picture(view: str, request: TraceRequest, line: loading.Line) -> None:
    """One view with its controls: what is changed there draws only this again."""
    ready = positions_jobs.ready_job()
    skeleton = st.empty()
    if not ready.future.done():
        skeleton.skeleton(height=SKELETON_HEIGHT)
    try:
        loading.wait(ready, line)
        skeleton.empty()
        DRAW.get(view, positions_schemes.sinusoids)(request, line)
    except Exception as error:  # the page's last resort: a visitor sees sentences, never a traceback
        line.say("")
        errors.show(error, request=request)


def theory() -> None:
    """What each scheme does, for those who open it."""
    with st.expander("What each scheme does, and the formulas", icon=":material/school:"):
        st.markdown(THEORY.read_text(encoding="utf-8"))

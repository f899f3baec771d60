"""The Memory page: attention measured live, where a model's bytes go, the cache of generation, and padding."""

from __future__ import annotations

import importlib
from pathlib import Path

import streamlit as st

from tfmviz.ui import errors, pickers
from tfmviz.ui.address import Notes
from tfmviz.ui.requests import TraceRequest

# Each view is a module with a ``draw(request)`` that draws all of it, its first line included. Imported when it is
# first looked at: a visitor of one view does not wait for what the others need.
VIEWS = {
    "measure": "tfmviz.ui.memory_measure",
    "bytes": "tfmviz.ui.memory_bytes",
    "cache": "tfmviz.ui.memory_cache",
    "padding": "tfmviz.ui.memory_padding",
}
THEORY = Path(__file__).resolve().parents[2] / "assets" / "texts" / "memory.md"


def draw(request: TraceRequest) -> None:
    """The whole page.

    Args:
        request: the sidebar's.
    """
    notes, notices = Notes(), st.container()
    view = pickers.view("memory_view", tuple(VIEWS), notes)
    notes.say(notices)
    _picture(view if view in VIEWS else next(iter(VIEWS)), request)


@st.fragment(key="memory")
def _picture(view: str, request: TraceRequest) -> None:
    """One view with its controls: what is changed there draws only this again."""
    # Plotly takes pandas as it finds it, half imported too, while another visitor's first picture is still importing it
    importlib.import_module("pandas")
    try:
        importlib.import_module(VIEWS[view]).draw(request)
    except Exception as error:  # the page's last resort: a visitor sees sentences, never a traceback
        errors.show(error, request=request)


def theory() -> None:
    """What takes the memory, and why, for those who open it."""
    with st.expander("What takes the memory, and the formulas", icon=":material/school:"):
        st.markdown(THEORY.read_text(encoding="utf-8"))

"""The Explore page's parts: the trace behind it, and the picture that a click on a head draws again by itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.text import display
from tfmviz.ui import cache, errors, loading
from tfmviz.ui.requests import TraceRequest

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

# The last request whose picture this visitor has seen; what stays on the page while a new one fails.
LAST_GOOD = "explore_last_good"
SKELETON_HEIGHT = 560

_stopwatch = loading.Stopwatch()


def frame() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Claim the page's places: one line that says what it shows, and the picture under it."""
    return st.empty(), st.container()


def trace(request: TraceRequest, *, line: DeltaGenerator, place: DeltaGenerator) -> TraceRequest | None:
    """Make sure that there is a trace, and say which request the picture is about.

    Where the new request fails, its error is shown and the last good picture of this visitor stays.

    Returns:
        The request to show; None where nothing has ever succeeded.
    """
    try:
        _make(request, line=line, place=place)
    except Exception as error:  # the page's last resort: a visitor sees sentences, never a traceback
        with line.container():
            errors.show(error, text=request.text)
        last = st.session_state.get(LAST_GOOD)
        if last is None or not _still_there(last):
            return None
        with place:
            st.caption(f"Still showing {display.markdown(last.model.name)} on the last text that worked.")
        return last
    st.session_state[LAST_GOOD] = request
    return request


def _make(request: TraceRequest, *, line: DeltaGenerator, place: DeltaGenerator) -> None:
    """Wait for the model and for the pass, showing how far they are where it takes long."""
    first = LAST_GOOD not in st.session_state
    loading_model = cache.model_job(request.model)
    if not loading_model.future.done():
        with place.skeleton(height=SKELETON_HEIGHT):
            loading.wait(loading_model, line, quiet_s=0 if first else loading.QUIET_S)
    model = loading_model.future.result()
    started = time.monotonic()
    running = cache.trace_job(request, model)
    expected = _stopwatch.expect(request.model.name, len(request.text))
    made = loading.wait(running, line, expected_s=expected)
    if running.seconds < time.monotonic() - started + 0.01:
        _stopwatch.note(request.model.name, len(request.text), started)
    line.markdown(_line(made))


def _line(traced: cache.Traced) -> str:
    """What the page shows, in one line."""
    trace = traced.trace
    heads = sum(stack.n_layers * stack.n_heads for stack in trace.stacks.values())
    n = len(trace.tokens)
    return (
        f"**{display.markdown(trace.model)}** read {n:,} tokens. Each small square is one of its {heads} heads: "
        "rows are tokens that look, columns are tokens looked at, dark is much."
    )


def _still_there(request: TraceRequest) -> bool:
    try:
        cache.traced(request)
    except Exception:
        return False
    return True

"""The Explore page's parts: the trace behind it, and the picture that a click on a head draws again by itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.text import display
from tfmviz.ui import cache, errors, inputs, loading, stoppable
from tfmviz.ui.requests import TraceRequest

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

# The last request whose picture this visitor has seen; what stays on the page while a new one fails.
LAST_GOOD = "explore_last_good"
SKELETON_HEIGHT = 560
THEORY = Path(__file__).resolve().parents[2] / "assets" / "texts" / "explore.md"


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """The page's places, claimed first and always the same: what is redrawn stays where it was.

    Attributes:
        line: one line that says what the page shows, or how far it is.
        notice: an error, or what the address asked for in vain.
        skeleton: grey shapes where the picture will be.
        picture: the picture.
    """

    line: loading.Line
    notice: DeltaGenerator
    skeleton: DeltaGenerator
    picture: DeltaGenerator


def frame() -> Frame:
    """Claim the page's places."""
    return Frame(
        line=loading.Line(st.container(key="line")),
        notice=st.container(),
        skeleton=st.container(),
        picture=st.container(),
    )


def trace(request: TraceRequest, frame: Frame) -> TraceRequest | None:
    """Make sure that there is a trace, and say which request the picture is about.

    Where the new request fails, its error is shown and the last good picture of this visitor stays; so it does while a
    long pass is under way, and after it was stopped.

    Returns:
        The request to show; None where nothing has ever succeeded.
    """
    try:
        _make(request, frame)
    except stoppable.Unfinished:
        return _instead(frame)  # under the bar, with its pickers: what was chosen in them is kept
    except Exception as error:  # the page's last resort: a visitor sees sentences, never a traceback
        with frame.notice:
            errors.show(error, request=request)
        return _instead(frame)
    st.session_state[LAST_GOOD] = request
    return request


def _make(request: TraceRequest, frame: Frame) -> None:
    """Wait for the model and for the pass, showing how far they are where it takes long."""
    first = LAST_GOOD not in st.session_state
    loading_model = cache.model_job(request.model)
    skeleton = None
    if first and not loading_model.future.done():
        skeleton = frame.skeleton.skeleton(height=SKELETON_HEIGHT)
    model = loading.wait(loading_model, frame.line, quiet_s=0 if first else loading.QUIET_S)
    if inputs.lacks_a_box(model.kind):
        st.rerun()
    try:
        with frame.notice:
            ask = partial(cache.trace_job, request, model)
            nothing_there = _last_good() is None
            traced = cache.kept(request) or stoppable.wait("explore", request, ask, frame.line, skeleton=nothing_there)
    finally:
        if skeleton is not None:
            skeleton.empty()
    frame.line.say(_line(traced))


def _line(traced: cache.Traced) -> str:
    """What the page shows, in one line."""
    trace = traced.trace
    heads = sum(stack.n_layers * stack.n_heads for stack in trace.stacks.values())
    n = len(trace.tokens)
    return (
        f"**{display.markdown(trace.model)}** read {n:,} tokens. Each small square is one of its {heads} heads: "
        "rows are tokens that look, columns are tokens looked at, and a stronger colour is a larger weight."
    )


def theory() -> None:
    """What a head is and where the numbers come from, for those who open it."""
    with st.expander("What a head is, and where these numbers come from", icon=":material/school:"):
        st.markdown(THEORY.read_text(encoding="utf-8"))


def _instead(frame: Frame) -> TraceRequest | None:
    """What is shown where there is nothing new, and the line that says so."""
    last = _last_good()
    frame.line.say("" if last is None else f"{_line(cache.traced(last))} This is the last text that worked.")
    return last


def _last_good() -> TraceRequest | None:
    """The last request that worked, if its trace is still kept."""
    last: TraceRequest | None = st.session_state.get(LAST_GOOD)
    return last if last is not None and cache.kept(last) is not None else None

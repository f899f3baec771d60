"""Waiting for what may take a minute: the page stays alive meanwhile, says how long it takes still, and can stop it.

A short wait is waited out, as :mod:`tfmviz.ui.loading` does. While a script or a fragment waits, though, no click in a
fragment gets through. So once a job foretells that it takes long, the page is drawn without its result: a bar that is
drawn again by itself, and a button. When the job has ended, the whole page is drawn again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Hashable, Iterator
from concurrent import futures
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from tfmviz.ui import loading
from tfmviz.ui.shelf import Job, Step, Stopped

if TYPE_CHECKING:
    from tfmviz.models import Model

V = TypeVar("V")

# How long any job is waited out, and how much longer it may take still to be waited for to its end.
PATIENCE_S, MORE_S = 2.0, 5.0
# Without any word on how long it takes, it is waited for as long as this.
UNTOLD_S = 4.0
# A job that nobody looks at for so long ends by itself; a browser lets a hidden tab look once a minute.
LEASE_S = 90.0
EVERY_S = 1.0
SKELETON_HEIGHT = 480


class Unfinished(BaseException):
    """What follows on the page waits for a job. Like Streamlit's own signals it is no error, and no page shows it."""


def wait(name: str, key: Hashable, ask: Callable[[], Job[V]], line: loading.Line, *, skeleton: bool = True) -> V:
    """The result of a job; of a long one once the page is drawn anew.

    Args:
        name: of the page. One job of a page is waited for: one for another key that is still under way is stopped.
        key: what is asked for.
        ask: the job for it. It may be shared with other visitors; if one of those stops it, it is asked for again.
        line: where to say how far it is.
        skeleton: whether grey shapes stand under the bar of a long one, for what comes there.

    Raises:
        Unfinished: if it takes long, or was stopped; the page then holds a bar and a button in its place.
        BaseException: whatever the job raised.
    """
    if st.session_state.get(_stopped(name)) == key:
        line.clear()
        _offer_again(name)
        raise Unfinished
    while True:
        job = ask()
        _take_the_place_of_the_last(name, key, job)
        try:
            if _is_soon_done(job, line):
                st.session_state.pop(_under_way(name), None)
                return job.future.result()
        except Stopped:
            continue  # by another visitor
        line.clear()
        _watch(name, key, job)
        if skeleton:
            st.skeleton(height=SKELETON_HEIGHT)
        raise Unfinished


@contextlib.contextmanager
def passes(job: Job[Any], model: Model, what: str, *, n_passes: float = 1.0) -> Iterator[None]:
    """Passes of a model within a job, which says after each layer how far it is and ends there if it is stopped.

    Args:
        job: the job.
        model: whose passes they are.
        what: what is being done, for the visitor.
        n_passes: how many are made; less than 1 of one that ends early.
    """
    from tfmviz.analysis.pace import paced

    def report(done: float) -> None:
        left = (time.monotonic() - began) * (1 - done) / done if done >= loading.ENOUGH_TO_TELL else None
        job.report(Step(what=what, done=done, seconds_left=left))

    job.report(Step(what="Waiting until the model is free"))
    with paced(model, report, n_passes=n_passes):
        began = time.monotonic()
        job.report(Step(what=what, done=0.0))
        yield


def _is_soon_done(job: Job[Any], line: loading.Line) -> bool:
    """Wait for it, as long as it does not foretell a long wait; whether it has ended."""
    if futures.wait([job.future], timeout=loading.QUIET_S).done:
        return True
    began = time.monotonic()
    while not job.future.done():
        job.want(LEASE_S)
        waited, left = time.monotonic() - began, job.step.seconds_left
        if waited >= (UNTOLD_S if left is None else PATIENCE_S) and (left is None or left >= MORE_S):
            return False
        line.progress(*loading.how_far(job.step, job.seconds))
        futures.wait([job.future], timeout=loading.BEAT_S)
    return True


def _take_the_place_of_the_last(name: str, key: Hashable, job: Job[Any]) -> None:
    before: tuple[Hashable, Job[Any]] | None = st.session_state.get(_under_way(name))
    if before is not None and before[0] != key:
        before[1].stop()
    st.session_state[_under_way(name)] = key, job


def _watch(name: str, key: Hashable, job: Job[Any]) -> None:
    """A bar that is drawn again by itself until the job has ended, and a button that ends it."""

    def part() -> None:
        if job.future.done() or st.session_state.get(_stopped(name)) == key:
            st.rerun()
        job.want(LEASE_S)
        done, text = loading.how_far(job.step, job.seconds)
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            st.progress(done, text=text)
            stop = partial(_stop, name, key, job)
            st.button("Stop", key=f"{name}_stop", icon=":material/stop:", on_click=stop)

    st.fragment(part, run_every=EVERY_S, key=f"{name}_waiting")()


def _stop(name: str, key: Hashable, job: Job[Any]) -> None:
    st.session_state[_stopped(name)] = key
    job.stop()


def _offer_again(name: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.info("Stopped: nothing was kept of it. Shorten the text, or run it again.", icon=":material/stop:")
        st.button("Run it again", key=f"{name}_again", icon=":material/play_arrow:", on_click=partial(_go_on, name))


def _go_on(name: str) -> None:
    st.session_state.pop(_stopped(name), None)


def _under_way(name: str) -> str:
    return f"{name}_under_way"


def _stopped(name: str) -> str:
    return f"{name}_stopped"

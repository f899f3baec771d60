"""Something that is measured point by point in a thread, for one visitor who watches it grow and may stop it.

A measurement is live: it is made for the one who asks, and one runs at a time in the whole process, so that no two
disturb each other. One that nobody looks at any more ends by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import streamlit as st

T = TypeVar("T")
State = Literal["waiting", "running", "stopped", "finished", "failed"]

LEASE_S = 90.0  # without a look at it; a browser lets a hidden tab look once a minute
EVERY_S = 1.0  # between two drawings of what is there
WAITING = "Waiting for a measurement that runs already: two at once would disturb each other"

# A thread that stays: each new thread that calls torch would build a team of OpenMP workers of its own.
_bench = ThreadPoolExecutor(1, thread_name_prefix="tfmviz-live")


class LiveRun(Generic[T]):
    """One measurement.

    Args:
        measure: gives the points as they are made; called in the thread.

    Attributes:
        points: those made so far; only ever grows.
        state: "waiting" (for another visitor's), "running", "stopped", "finished" or "failed".
        error: what went wrong; None if nothing did.
    """

    def __init__(self, measure: Callable[[], Iterator[T]]) -> None:
        self.points: list[T] = []
        self.state: State = "waiting"
        self.error: BaseException | None = None
        self._measure: Callable[[], Iterator[T]] | None = measure
        self._stop = threading.Event()
        self._seen = self._began = time.monotonic()
        self._done = threading.Event()

    def start(self) -> None:
        """Begin as soon as no other measurement runs."""
        _bench.submit(self._run)

    def stop(self) -> None:
        """End after the point under way; returns at once."""
        self._stop.set()

    def heartbeat(self) -> None:
        """Say that somebody looks on."""
        self._seen = time.monotonic()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; whether it has come."""
        return self._done.wait(timeout)

    @property
    def is_under_way(self) -> bool:
        """Whether points may still come."""
        return not self._done.is_set()

    @property
    def seconds(self) -> float:
        """Since it began to run, or since it was asked for while it waits."""
        return time.monotonic() - self._began

    def _run(self) -> None:
        self._began = time.monotonic()
        # What is measured holds a model, and the session holds this run for as long as it lasts.
        measure, self._measure = self._measure, None
        try:
            if measure is not None and self._may_go_on():
                self.state = "running"
                self.state = self._advance(measure)
            else:
                self.state = "stopped"
        except BaseException as error:  # shown to the visitor as a sentence
            self.error, self.state = error, "failed"
        finally:
            self._done.set()

    def _advance(self, measure: Callable[[], Iterator[T]]) -> State:
        points = measure()
        try:
            while self._may_go_on():
                try:
                    point = next(points)
                except StopIteration:
                    return "finished"
                self.points.append(point)
            return "stopped"
        finally:
            if isinstance(points, Generator):
                points.close()  # what it holds, such as a worker process, goes at once

    def _may_go_on(self) -> bool:
        return not self._stop.is_set() and time.monotonic() - self._seen < LEASE_S


def held(name: str, key: Hashable) -> LiveRun[Any] | None:
    """The run of this name in this session, if it was started for ``key``; one for anything else is stopped."""
    kept: tuple[Hashable, LiveRun[Any]] | None = st.session_state.get(_slot(name))
    if kept is None:
        return None
    if kept[0] != key:
        kept[1].stop()
        return None
    return kept[1]


def start(name: str, key: Hashable, measure: Callable[[], Iterator[Any]]) -> None:
    """Begin a run of this name; the one before it, if any, is stopped."""
    kept: tuple[Hashable, LiveRun[Any]] | None = st.session_state.get(_slot(name))
    if kept is not None:
        kept[1].stop()
    run: LiveRun[Any] = LiveRun(measure)
    st.session_state[_slot(name)] = key, run
    run.start()


def button(
    run: LiveRun[Any] | None,
    *,
    name: str,
    first: str,
    icon: str,
    on_start: Callable[[], None],
    on_stop: Callable[[], None] | None = None,
) -> None:
    """Start or Stop, whichever there is to do.

    Args:
        run: the run of this name; None before it was started.
        name: of the run; the buttons have the keys ``<name>_start`` and ``<name>_stop``.
        first: what the button says before there was a run.
        icon: of the button that starts.
        on_start: begins a run.
        on_stop: ends it; None to let the point under way be finished.
    """
    if run is not None and run.is_under_way:
        st.button("Stop", key=f"{name}_stop", icon=":material/stop:", on_click=on_stop or partial(stop, name))
        return
    st.button(first if run is None else "Measure again", key=f"{name}_start", icon=icon, on_click=on_start)


def watch(run: LiveRun[T] | None, draw: Callable[[Sequence[T]], None], *, key: str) -> None:
    """Draw what there is, again and again by itself while points come; the whole page once they have come.

    Args:
        run: what is watched; None before it was started.
        draw: given the points so far; draws the part.
        key: of the fragment.
    """
    under_way = run is not None and run.is_under_way

    def part() -> None:
        if run is not None and under_way and not run.is_under_way:
            st.rerun()  # the buttons stand outside
        points: Sequence[T] = ()
        if run is not None:
            run.heartbeat()
            points = tuple(run.points)
        draw(points)

    st.fragment(part, run_every=EVERY_S if under_way else None, key=key)()


def stop(name: str) -> None:
    """Stop the run of this name, if there is one."""
    kept: tuple[Hashable, LiveRun[Any]] | None = st.session_state.get(_slot(name))
    if kept is not None:
        kept[1].stop()


def _slot(name: str) -> str:
    return f"live_run_{name}"

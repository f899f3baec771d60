"""One training as it is carried out: the loop, what it has shown so far, and the thread that drives it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tfmviz.errors import TfmvizError
from tfmviz.training.loop import Loop, StepReport
from tfmviz.training.queue import Ticket, TrainingQueue
from tfmviz.training.threads import limit_this_thread

State = Literal["ready", "queued", "running", "stopped", "abandoned", "finished", "failed", "closed"]

LOOK_EVERY = 0.5  # seconds between looks at the lease while waiting for a slot
PACE = 0.05  # weight of the latest step in the running mean of seconds a step
N_MEASURED = 100  # held-out texts measured at the end

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far a training has come.

    Attributes:
        state: "ready" (not started), "queued", "running", "stopped", "abandoned" (stopped because nobody looked),
            "finished", "failed" or "closed".
        place: in the queue, 1 for the next; 0 when not queued.
        step: steps done.
        n_steps: steps to do.
        seconds: spent on the steps so far.
        seconds_left: at the present pace, without the wait in the queue; None while there is no pace.
        error: what went wrong, fit to be shown; None if nothing did.
    """

    state: State
    place: int
    step: int
    n_steps: int
    seconds: float
    seconds_left: float | None
    error: str | None = None

    @property
    def fraction(self) -> float:
        """Share of the steps done, 0 to 1."""
        return self.step / self.n_steps


class Job:
    """A loop, its history, and at most one thread at a time that advances it.

    Only that thread touches the loop. Others read: a list that only grows, and values that are replaced whole. The
    lock guards the changes of state and is never held during a step.

    Args:
        loop: what to advance.
        queue: where to wait for a slot.
        lease: seconds without a `heartbeat` after which nobody is taken to look on any more.
        n_threads: cores that a step may use.
    """

    def __init__(self, loop: Loop, *, queue: TrainingQueue, lease: float, n_threads: int) -> None:
        self.history: list[StepReport] = []
        self.measures: Mapping[str, float] | None = None
        self._loop = loop
        self._queue = queue
        self._lease = lease
        self._n_threads = n_threads
        self._lock = threading.Lock()
        self._state: State = "ready"
        self._error: str | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._ticket = Ticket()
        self._seen = time.monotonic()
        self._seconds = 0.0
        self._pace: float | None = None

    def start(self) -> None:
        """Begin or go on, as soon as there is a slot. Nothing happens if it is under way or over."""
        with self._lock:
            under_way = self._state in ("queued", "running") and not self._stop.is_set()
            if under_way or self._state in ("finished", "failed", "closed"):
                return
            self._stop = threading.Event()
            self._ticket = self._queue.enter()
            self._seen = time.monotonic()
            self._state = "queued"
            run = (self._ticket, self._stop, self._thread)
            self._thread = threading.Thread(target=self._run, args=run, name="tfmviz-training", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Let the thread end after its present step; returns at once."""
        self._stop.set()

    def close(self) -> None:
        """Stop for good."""
        with self._lock:
            self._state = "closed"
            self._stop.set()

    def heartbeat(self) -> None:
        """Say that somebody looks on."""
        self._seen = time.monotonic()

    def wait(self, timeout: float | None) -> bool:
        """Wait until nothing is under way; whether that is so."""
        thread = self._thread
        if thread is None:
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def progress(self) -> Progress:
        """How far it has come."""
        state, n_steps = self._state, self._loop.settings.n_steps
        place = self._queue.place(self._ticket) if state == "queued" else 0
        step = len(self.history)
        return Progress(
            state="running" if state == "queued" and not place else state,
            place=place,
            step=step,
            n_steps=n_steps,
            seconds=self._seconds,
            seconds_left=None if self._pace is None else self._pace * (n_steps - step),
            error=self._error,
        )

    def _run(self, ticket: Ticket, stop: threading.Event, previous: threading.Thread | None) -> None:
        """The body of the thread."""
        state: State = "failed"
        try:
            if previous is not None:
                previous.join()  # it was told to stop and is in its last step
            state = self._await_slot(ticket, stop)
            if state == "running":
                self._become(state, stop)
                limit_this_thread(self._n_threads)
                state = self._advance(stop)
        except TfmvizError as error:
            self._error, state = str(error), "failed"
        except Exception:
            log.exception("training failed")
            self._error, state = "The training met an error that is not your doing; the log has it.", "failed"
        finally:
            self._queue.leave(ticket)
            self._become(state, stop)

    def _await_slot(self, ticket: Ticket, stop: threading.Event) -> State:
        while not (stop.is_set() or self._is_abandoned()):
            if self._queue.wait(ticket, LOOK_EVERY):
                return "running"
        return "stopped" if stop.is_set() else "abandoned"

    def _advance(self, stop: threading.Event) -> State:
        settings = self._loop.settings
        while self._loop.step < settings.n_steps:
            if stop.is_set():
                return "stopped"
            if self._is_abandoned():
                return "abandoned"
            began = time.monotonic()
            self.history.append(self._loop.advance())
            took = time.monotonic() - began
            self._seconds += took
            self._pace = took if self._pace is None else (1 - PACE) * self._pace + PACE * took
        # another seed than the training's: the same random texts would be as new, but nobody should have to prove it
        self.measures = settings.task.measure(self._loop.model.eval(), N_MEASURED, settings.seed + 1)
        return "finished"

    def _become(self, state: State, stop: threading.Event) -> None:
        """Change the state, unless a later run or `close` has had its say."""
        with self._lock:
            if self._stop is stop and self._state != "closed":
                self._state = state

    def _is_abandoned(self) -> bool:
        return time.monotonic() - self._seen > self._lease

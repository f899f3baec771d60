"""A bounded store for things that take long to make, shared by every visitor of the process.

Streamlit's own cache is bounded by a count alone, and 64 traces may be 4 MB or 20 GB. This one is bounded by bytes,
makes each thing once however many ask for it, and makes it in a worker thread, so that a page can show how far it is
and leave when the visitor changes their mind.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Stopped(Exception):
    """A job was told to end before it had made anything."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """How far a job is.

    Attributes:
        what: what is being done, for the visitor.
        done: share that is done, 0 to 1; None where it cannot be told.
        seconds_left: the maker's own estimate; None where it has none.
    """

    what: str
    done: float | None = None
    seconds_left: float | None = None


@dataclass(eq=False, slots=True)
class Job(Generic[V]):
    """Something being made, or made already.

    Attributes:
        future: holds the result, or the error.
        started: when it was asked for, on the monotonic clock.
        step: the latest word from the maker.
        is_stopped: whether `stop` was called.
        wanted_until: until when somebody wants it, on the monotonic clock; without end where nobody said so.
    """

    future: Future[V] = field(default_factory=Future)
    started: float = field(default_factory=time.monotonic)
    step: Step = field(default_factory=lambda: Step(what="Waiting for its turn"))
    is_stopped: bool = False
    wanted_until: float = float("inf")

    def report(self, step: Step) -> None:
        """Take the maker's word on how far it is.

        Raises:
            Stopped: if nobody wants the thing any more: the maker ends here, and nothing is kept.
        """
        if self.is_stopped or time.monotonic() > self.wanted_until:
            raise Stopped
        self.step = step

    def want(self, seconds: float) -> None:
        """Say that somebody waits for it, and how soon they will say so again; nobody else may wait in silence."""
        now = time.monotonic() + seconds
        self.wanted_until = now if self.wanted_until == float("inf") else max(now, self.wanted_until)

    def stop(self) -> None:
        """End it where its maker next says how far it is. Who waits for it gets `Stopped`, and may ask anew."""
        self.is_stopped = True

    @property
    def seconds(self) -> float:
        """Seconds since it was asked for."""
        return time.monotonic() - self.started


class Shelf(Generic[K, V]):
    """Keeps what was made, least recently used out first, within a number of bytes and of things.

    Args:
        budget: most bytes to keep. The newest thing stays even if it is larger alone.
        most: most things to keep.
        weigh: bytes of a thing.
        workers: threads that make things; more wait for their turn.
        name: names the threads.
    """

    def __init__(self, *, budget: int, most: int, weigh: Callable[[V], int], workers: int, name: str) -> None:
        self._budget, self._most, self._weigh = budget, most, weigh
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._making: dict[K, Job[V]] = {}
        self._lock = threading.Lock()
        # Threads that stay: each new thread that calls torch would build a team of OpenMP workers of its own.
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=f"tfmviz-{name}")

    def ask(self, key: K, make: Callable[[Job[V]], V]) -> Job[V]:
        """The job for ``key``: finished if it is on the shelf, else running; ``make`` is called at most once."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                job: Job[V] = Job()
                job.future.set_result(self._kept[key])
                return job
            if key in self._making:
                return self._making[key]
            job = self._making[key] = Job()
        self._pool.submit(self._run, key, job, make)
        return job

    def put(self, key: K, made: V) -> None:
        """Keep what was made elsewhere, beside something else."""
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            self._trim()

    def peek(self, key: K) -> V | None:
        """What is on the shelf under ``key``, without making it."""
        with self._lock:
            return self._kept.get(key)

    def keys(self) -> list[K]:
        """What is on the shelf, least recently used first."""
        with self._lock:
            return list(self._kept)

    def clear(self) -> None:
        """Forget everything that is not being made just now."""
        with self._lock:
            self._kept.clear()

    def _run(self, key: K, job: Job[V], make: Callable[[Job[V]], V]) -> None:
        try:
            job.report(Step(what="Getting ready"))
            made = make(job)
        except BaseException as error:
            with self._lock:
                self._making.pop(key, None)
            job.future.set_exception(error)
            return
        self.put(key, made)
        with self._lock:
            self._making.pop(key, None)
        job.future.set_result(made)

    def _trim(self) -> None:
        total = sum(map(self._weigh, self._kept.values()))
        while len(self._kept) > 1 and (total > self._budget or len(self._kept) > self._most):
            _, oldest = self._kept.popitem(last=False)
            total -= self._weigh(oldest)

"""Waiting without a blank page: what is being done, how far it is, and how long it will take still."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from typing import TYPE_CHECKING, TypeVar

from tfmviz.ui.shelf import Job, Step, Stopped

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

V = TypeVar("V")

# A wait shorter than this shows nothing: a bar that flashes is worse than none.
QUIET_S = 0.3
BEAT_S = 0.2
# Share of the work after which its pace says how long the rest takes; before it the estimate would be a wild one.
ENOUGH_TO_TELL = 0.05


class Line:
    """One place on the page that holds a sentence, or a bar while something takes long.

    Nothing is sent until there is something to say: what stood there before stays meanwhile, and nothing jumps.
    """

    def __init__(self, place: DeltaGenerator) -> None:
        self._place = place
        self._slot: DeltaGenerator | None = None

    def progress(self, done: float, text: str) -> None:
        """Show how far it is."""
        if self._slot is None:
            self._slot = self._place.empty()
        self._slot.progress(done, text=text)

    def clear(self) -> None:
        """Take the bar away, if there is one."""
        if self._slot is not None:
            self._slot.empty()

    def say(self, markdown: str) -> None:
        """Show a sentence."""
        (self._slot or self._place).markdown(markdown)


def wait(job: Job[V], line: Line, *, quiet_s: float = QUIET_S) -> V:
    """Wait for a job; show how far it is once the wait is long enough to be felt.

    Every beat passes through Streamlit, so a visitor who changes something meanwhile is not kept waiting: the script
    is left there, and the job goes on for whoever asks next.

    Args:
        job: what is waited for.
        line: where to say it.
        quiet_s: how long to wait before showing anything.

    Raises:
        BaseException: whatever the job raised.
    """
    if futures.wait([job.future], timeout=quiet_s).done:
        return job.future.result()
    while not job.future.done():
        done, text = how_far(job.step, job.seconds)
        line.progress(done, text)
        futures.wait([job.future], timeout=BEAT_S)
    return job.future.result()


def wait_for(ask: Callable[[], Job[V]], line: Line) -> V:
    """Wait for a job that others may wait for too, and ask for it again if one of them stops it.

    Raises:
        BaseException: whatever the job raised.
    """
    while True:
        try:
            return wait(ask(), line)
        except Stopped:
            continue


def how_far(step: Step, seconds: float) -> tuple[float, str]:
    """The bar's length and the words beside it."""
    done = step.done
    if done is None:
        # Nothing to go by: a bar that creeps on and never arrives says no more than it knows.
        return min(0.9, 1 - 1 / (1 + seconds / 6)), f"{step.what}, {seconds:.0f} s"
    left = step.seconds_left
    if left is None and done >= ENOUGH_TO_TELL:
        left = seconds * (1 - done) / done
    return done, step.what if seconds < 1 or left is None else f"{step.what}, about {max(left, 1):.0f} s left"

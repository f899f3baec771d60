"""How far a long step has come, said often enough to be watched and seldom enough to cost nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

REPORT_EVERY = 0.1  # seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """One report of a long step.

    Attributes:
        stage: what is going on: "checking", "downloading", "reading", "converting", "saving" or "loading".
        done: how much is done; bytes or tensors.
        total: of how much; 0 when unknown.
        seconds_left: estimate for this stage from its own pace; None while there is none.
    """

    stage: str
    done: int
    total: int
    seconds_left: float | None = None

    @property
    def fraction(self) -> float:
        """Share done, between 0 and 1; 0 when the total is unknown."""
        return min(1.0, self.done / self.total) if self.total else 0.0


Report = Callable[[Progress], None]


class Meter:
    """Counts one stage and reports it.

    Use as a context: the end is reported when the body succeeds, so that a bar always fills.
    """

    def __init__(self, report: Report | None, stage: str, total: int) -> None:
        self.stage = stage
        self.total = total
        self.done = 0
        self._report = report
        self._started = time.monotonic()
        self._reported = float("-inf")

    def __enter__(self) -> Meter:
        self.set(0)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self._reported = float("-inf")
            self.set(self.total)

    def add(self, amount: int) -> None:
        """Count ``amount`` more as done."""
        self.set(self.done + amount)

    def set(self, done: int) -> None:
        """Say that ``done`` is done by now."""
        self.done = done
        now = time.monotonic()
        if self._report is None or now - self._reported < REPORT_EVERY:
            return
        self._reported = now
        self._report(Progress(stage=self.stage, done=done, total=self.total, seconds_left=self._seconds_left(now)))

    def _seconds_left(self, now: float) -> float | None:
        if not self.done or not self.total:
            return None
        return max(0.0, (now - self._started) / self.done * (self.total - self.done))

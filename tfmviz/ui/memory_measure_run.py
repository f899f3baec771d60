"""One live measurement of a visitor: what is measured, how far it is, and how to stop it in the middle of a call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfmviz.analysis.measure import MeasurementFailed, Worker, measure
from tfmviz.analysis.memory_peak import AttentionCall

if TYPE_CHECKING:
    from tfmviz.analysis.measure_pace import Ahead, Point


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What to measure.

    Attributes:
        call: heads, widths, mask.
        device: as the sidebar names it.
        budget_s: seconds in all.
        lengths: tokens, ascending.
    """

    call: AttentionCall
    device: str
    budget_s: float
    lengths: tuple[int, ...]


class Measurement:
    """What a live run needs beside its points.

    Args:
        asked: what to measure.

    Attributes:
        ahead: what is measured now; None before the first point.
        is_stopped: whether `stop` was called.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.ahead: Ahead | None = None
        self.is_stopped = False
        self._worker: Worker | None = None

    def points(self) -> Iterator[Point]:
        """The points as they are measured; ends early where it is stopped."""
        from tfmviz.models.device import resolve_device

        if self.is_stopped:
            return
        asked = self.asked
        with Worker(str(resolve_device(asked.device))) as self._worker:
            try:
                yield from measure(
                    asked.call,
                    device=asked.device,
                    lengths=asked.lengths,
                    budget_s=asked.budget_s,
                    worker=self._worker,
                    report=self._note,
                )
            except MeasurementFailed:
                if not self.is_stopped:
                    raise

    def stop(self) -> None:
        """End it at once; what was measured stays."""
        self.is_stopped = True
        if self._worker is not None:
            self._worker.close()

    def _note(self, ahead: Ahead) -> None:
        self.ahead = ahead

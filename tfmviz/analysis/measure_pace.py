"""What a measurement has found so far, and from that how long the rest takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tfmviz.nn.config import AttentionForm

START_S = 0.3  # of a point beside its calls: a process of its own, a first short call; before any was seen
CALLS_S = 0.2  # at least so long is a call timed
Outcome = Literal["measured", "would not fit", "would take too long", "failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One form of attention on one length.

    Attributes:
        form: how it is computed.
        n: tokens.
        predicted: bytes at the highest point, by the formula.
        outcome: whether it was measured, and if not, why.
        peak: bytes that were measured; None if it was not.
        seconds: of one call; where it was not measured, what it should take at the pace of the shorter texts, if that
            is known.
        why: in words, where it failed.
    """

    form: AttentionForm
    n: int
    predicted: int
    outcome: Outcome
    peak: int | None = None
    seconds: float | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ahead:
    """What is being done, and how much is left.

    Attributes:
        form, n: the point that is measured now.
        done: share of the work that is done, 0 to 1.
        seconds_left: at the pace of the points so far.
    """

    form: AttentionForm
    n: int
    done: float
    seconds_left: float


@dataclass(kw_only=True, slots=True)
class Pace:
    """How long calls took, by form, and what that says of longer texts.

    Attributes:
        forms, lengths: all that is asked for.
    """

    forms: tuple[AttentionForm, ...]
    lengths: tuple[int, ...]
    _last: dict[AttentionForm, tuple[int, float]] = field(default_factory=dict)
    _start_s: float = START_S
    _ended: dict[AttentionForm, Outcome] = field(default_factory=dict)

    def note(self, point: Point, took: float) -> None:
        """Take what became of a point, and the seconds that it took in all."""
        if point.outcome == "measured" and point.seconds is not None:
            self._last[point.form] = point.n, point.seconds
            self._start_s = max(START_S, took - _calls(point.seconds))
        elif point.outcome != "measured":
            self._ended.setdefault(point.form, point.outcome)

    def ended(self, form: AttentionForm) -> Outcome | None:
        """Why a shorter text was not measured, so that a longer one need not be tried; None if all were."""
        return self._ended.get(form)

    def seconds(self, form: AttentionForm, n: int) -> float | None:
        """Seconds of one call on ``n`` tokens: all forms compute n² scores. None before the first point."""
        if form not in self._last:
            return None
        n_last, seconds = self._last[form]
        return seconds * (n / n_last) ** 2

    def ahead(self, form: AttentionForm, n: int, left: float, budget_s: float) -> Ahead:
        """How far the measurement is before a point of ``left`` remaining seconds of its budget."""
        rest = min(self._rest(form, n, left), max(left, 0.0))
        gone = budget_s - left
        return Ahead(form=form, n=n, done=gone / (gone + rest) if gone + rest > 0 else 0.0, seconds_left=rest)

    def _rest(self, form: AttentionForm, n: int, left: float) -> float:
        """Seconds of the points from here on that will be tried."""
        total = 0.0
        ended = set(self._ended)
        for length, other in self._from(form, n):
            takes = self.wall(self.seconds(other, length) or 0.0)
            if other not in ended and total + takes <= left:
                total += takes
            else:
                ended.add(other)
        return total

    def wall(self, seconds: float) -> float:
        """Seconds that a point takes in all, one of whose calls takes ``seconds``."""
        return self._start_s + _calls(seconds)

    def _from(self, form: AttentionForm, n: int) -> Iterable[tuple[int, AttentionForm]]:
        order = [(length, other) for length in self.lengths for other in self.forms]
        return order[order.index((n, form)) :]


def _calls(seconds: float) -> float:
    """Seconds of a point's calls: one is watched, then some are timed."""
    return seconds + max(CALLS_S, seconds)

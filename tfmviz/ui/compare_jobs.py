"""The passes and the distances behind the Compare page, made once in the background and kept within bounds."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from tfmviz.ui import cache, stoppable
from tfmviz.ui.requests import ModelRequest, TraceRequest
from tfmviz.ui.shelf import Job, Shelf, Step

if TYPE_CHECKING:
    from tfmviz.analysis.alignment import Alignment, Grain
    from tfmviz.analysis.matching import HeadDistances
    from tfmviz.analysis.outputs import Pooling
    from tfmviz.analysis.same_weights import LargestDifferences
    from tfmviz.models import Model
    from tfmviz.trace import AttentionStack, Trace
    from tfmviz.ui.cache import Traced


@dataclass(frozen=True, kw_only=True, slots=True)
class SideRequest:
    """One model on the text, as a side of the comparison.

    Attributes:
        trace: the text and the model.
        mask: a rule in words; None for the model's own.
        silenced: (layer, head) of heads whose output is set to zero.
    """

    trace: TraceRequest
    mask: str | None = None
    silenced: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class PairRequest:
    """Both sides.

    Attributes:
        a, b: the sides.
        grain: how fine the units are.
    """

    a: SideRequest
    b: SideRequest
    grain: Grain


# Passes that are timed; the median of three is not moved by one that was disturbed.
_TIMED = 3

_sides: Shelf[SideRequest, Traced] = Shelf(
    budget=4 * 10**8, most=32, weigh=lambda traced: traced.nbytes, workers=2, name="compare"
)
_distances: Shelf[PairRequest, HeadDistances] = Shelf(
    budget=10**8, most=64, weigh=lambda found: found.values.nbytes, workers=1, name="distances"
)


_same: Shelf[tuple[SideRequest, SideRequest], LargestDifferences] = Shelf(
    budget=10**7, most=64, weigh=lambda found: found.weights.nbytes + found.hidden.nbytes, workers=1, name="same"
)
_said: Shelf[SideRequest, np.ndarray] = Shelf(
    budget=10**8, most=128, weigh=lambda said: said.nbytes, workers=1, name="said"
)
_spellings: Shelf[ModelRequest, tuple[str, ...]] = Shelf(
    budget=10**8, most=8, weigh=lambda names: sum(map(sys.getsizeof, names)), workers=1, name="spellings"
)
_likeness: Shelf[tuple[SideRequest, tuple[str, ...]], Mapping[Pooling, np.ndarray]] = Shelf(
    budget=10**7, most=64, weigh=lambda found: sum(one.nbytes for one in found.values()), workers=1, name="likeness"
)
_seconds: Shelf[SideRequest, float] = Shelf(budget=1, most=64, weigh=lambda _: 0, workers=1, name="seconds")


def read(request: SideRequest, model: Model, text: str | None = None, *, hidden_states: bool = False) -> Trace:
    """One pass of a side over its own text or another; it takes as long as it takes."""
    return model.trace(
        request.trace.text if text is None else text,
        mask=request.mask,
        ablate=request.silenced,
        hidden_states=hidden_states,
    )


def side_job(request: SideRequest, model: Model) -> Job[Traced]:
    """A side's pass. One without a mask or silenced heads is the same as on the other pages, and made once for all."""
    if request.mask is None and not request.silenced:
        return cache.trace_job(request.trace, model)

    def make(job: Job[Traced]) -> Traced:
        with stoppable.passes(job, model, "Running the model"):
            trace = read(request, model)
        return cache.overviewed(trace, job)

    return _sides.ask(request, make)


def distances_job(
    request: PairRequest, a: AttentionStack, b: AttentionStack, alignment: Alignment
) -> Job[HeadDistances]:
    """Distances between all heads."""

    def make(job: Job[HeadDistances]) -> HeadDistances:
        from tfmviz.analysis.matching import head_distances

        job.report(Step(what="Comparing every head with every head"))
        return head_distances(a, b, alignment, silenced_a=request.a.silenced, silenced_b=request.b.silenced)

    return _distances.ask(request, make)


def same_job(requests: tuple[SideRequest, SideRequest], a: Model, b: Model) -> Job[LargestDifferences]:
    """Both models once more, with their hidden states, compared number by number."""

    def make(job: Job[LargestDifferences]) -> LargestDifferences:
        from tfmviz.analysis.same_weights import largest_differences

        job.report(Step(what="Comparing every number of both models"))
        first, second = (read(one, model, hidden_states=True) for one, model in zip(requests, (a, b), strict=True))
        return largest_differences(first, second)

    return _same.ask(requests, make)


def said_job(request: SideRequest, model: Model) -> Job[np.ndarray]:
    """Logarithms of the probabilities of what comes after a side's text."""

    def make(job: Job[np.ndarray]) -> np.ndarray:
        from tfmviz.analysis.outputs import log_probabilities

        job.report(Step(what="Asking what comes next"))
        return log_probabilities(read(request, model))

    return _said.ask(request, make)


def spellings_job(request: ModelRequest, trace: Trace) -> Job[tuple[str, ...]]:
    """A model's vocabulary as it reads, from any of its passes."""

    def make(job: Job[tuple[str, ...]]) -> tuple[str, ...]:
        from tfmviz.analysis.outputs import spellings

        return spellings(trace, lambda done: job.report(Step(what="Reading the vocabulary", done=done)))

    return _spellings.ask(request, make)


def likeness_job(request: SideRequest, model: Model, sentences: tuple[str, ...]) -> Job[Mapping[Pooling, np.ndarray]]:
    """How alike a side finds some sentences."""

    def make(job: Job[Mapping[Pooling, np.ndarray]]) -> Mapping[Pooling, np.ndarray]:
        from tfmviz.analysis.outputs import similarities

        job.report(Step(what="Reading the sentences"))
        return similarities(lambda text: read(request, model, text, hidden_states=True), sentences)

    return _likeness.ask((request, sentences), make)


def seconds_job(request: SideRequest, model: Model) -> Job[float]:
    """How long a side's pass takes: the median of three, the first one left out."""

    def make(job: Job[float]) -> float:
        taken = []
        for turn in range(1 + _TIMED):
            job.report(Step(what="Timing a pass", done=turn / (1 + _TIMED)))
            start = time.perf_counter()
            read(request, model)
            taken.append(time.perf_counter() - start)
        return median(taken[1:])

    return _seconds.ask(request, make)

"""The passes and the distances behind the Compare page, made once in the background and kept within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfmviz.ui import cache
from tfmviz.ui.requests import TraceRequest
from tfmviz.ui.shelf import Job, Shelf, Step

if TYPE_CHECKING:
    from tfmviz.analysis.alignment import Alignment, Grain
    from tfmviz.analysis.matching import HeadDistances
    from tfmviz.models import Model
    from tfmviz.trace import AttentionStack
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


_sides: Shelf[SideRequest, Traced] = Shelf(
    budget=4 * 10**8, most=32, weigh=lambda traced: traced.nbytes, workers=2, name="compare"
)
_distances: Shelf[PairRequest, HeadDistances] = Shelf(
    budget=10**8, most=64, weigh=lambda found: found.values.nbytes, workers=1, name="distances"
)


def side_job(request: SideRequest, model: Model) -> Job[Traced]:
    """A side's pass. One without a mask or silenced heads is the same as on the other pages, and made once for all."""
    if request.mask is None and not request.silenced:
        return cache.trace_job(request.trace, model)

    def make(job: Job[Traced]) -> Traced:
        job.report(Step(what="Running the model"))
        return cache.overviewed(model.trace(request.trace.text, mask=request.mask, ablate=request.silenced))

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

"""A visitor's run over many texts: what is measured, and how; it is theirs alone, and ends when they leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tfmviz.ui import compare_jobs

if TYPE_CHECKING:
    from tfmviz.analysis.alignment import Grain
    from tfmviz.analysis.batch import Measured, Reader
    from tfmviz.analysis.matching import Head
    from tfmviz.ui.compare_jobs import SideRequest
    from tfmviz.ui.compare_sides import Side


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchRequest:
    """What the numbers of a run depend on.

    Attributes:
        a, b: the models; their own text does not matter, and is empty.
        heads: which head of each is looked at.
        grain: how fine the units are.
        texts: one after the other.
    """

    a: SideRequest
    b: SideRequest
    heads: tuple[Head, Head]
    grain: Grain
    texts: tuple[str, ...]


def request(a: Side, b: Side, heads: tuple[Head, Head], grain: Grain, texts: tuple[str, ...]) -> BatchRequest:
    """What to measure."""
    first, second = (replace(side.request, trace=replace(side.request.trace, text="")) for side in (a, b))
    return BatchRequest(a=first, b=second, heads=heads, grain=grain, texts=texts)


def measured(asked: BatchRequest, a: Side, b: Side) -> Iterator[Measured]:
    """The texts as they are read.

    Args:
        asked: what to measure.
        a, b: the sides whose models those are.
    """
    from tfmviz.analysis.batch import measure

    yield from measure(
        asked.texts,
        _reader(asked.a, a, asked.heads[0]),
        _reader(asked.b, b, asked.heads[1]),
        grain=asked.grain,
        one_vocabulary=_one_vocabulary(a, b),
    )


def _reader(request: SideRequest, side: Side, head: Head) -> Reader:
    from tfmviz.analysis.batch import Reader

    model = side.model
    return Reader(
        read=lambda text: compare_jobs.read(request, model, text, hidden_states=True),
        head=head,
        silenced=request.silenced,
    )


def _one_vocabulary(a: Side, b: Side) -> bool:
    """Whether both are decoders over the same pieces; in the background, for it may take seconds to find out."""
    from tfmviz.analysis.outputs import same_vocabulary

    if a.model.kind != "decoder" or b.model.kind != "decoder":
        return False
    names = [compare_jobs.spellings_job(side.request.trace.model, side.traced.trace).future.result() for side in (a, b)]
    return same_vocabulary(names[0], names[1])

"""Layers that were looked into, made once and shared within bounds, as models and traces are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfmviz.errors import OutOfRange
from tfmviz.ui import cache
from tfmviz.ui.requests import TraceRequest
from tfmviz.ui.shelf import Job, Shelf, Step

if TYPE_CHECKING:
    from tfmviz.models import Model
    from tfmviz.trace import LayerInside, Trace


@dataclass(frozen=True, kw_only=True, slots=True)
class InsideRequest:
    """One layer of one pass.

    Attributes:
        trace: the pass.
        stack: the stack's name.
        layer: from 0.
    """

    trace: TraceRequest
    stack: str
    layer: int


_layers: Shelf[InsideRequest, LayerInside] = Shelf(
    budget=250_000_000, most=64, weigh=lambda inside: inside.nbytes, workers=2, name="inside"
)


def trace_job(request: TraceRequest, model: Model, place: tuple[str, int]) -> Job[cache.Traced]:
    """The pass behind the page, which looks into the layer that will be shown too: one pass in place of two.

    Args:
        request: the pass.
        model: the model.
        place: the stack and layer that will be shown, as far as that can be told before the pass.
    """

    def run() -> Trace:
        text, pair, target = request.text, request.pair, request.target
        try:
            made = model.trace(text, pair=pair, target=target, inside=place)
        except OutOfRange:
            return model.trace(text, pair=pair, target=target)
        for (stack, layer), inside in made.looked_into.items():
            _layers.put(InsideRequest(trace=request, stack=stack, layer=layer), inside)
        return made

    return cache.trace_job(request, model, run)


def inside_job(request: InsideRequest) -> Job[LayerInside]:
    """The job that looks into a layer, in one pass of the model, or that has done so."""

    def make(job: Job[LayerInside]) -> LayerInside:
        job.report(Step(what="Running the model"))
        asked = request.trace
        model = cache.model(asked.model)
        return model.look_inside(request.stack, request.layer, text=asked.text, pair=asked.pair, target=asked.target)

    return _layers.ask(request, make)


def clear() -> None:
    """Forget every layer; for tests."""
    _layers.clear()

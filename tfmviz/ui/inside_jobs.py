"""Layers that were looked into, made once and shared within bounds, as models and traces are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfmviz.ui import cache, stoppable
from tfmviz.ui.requests import TraceRequest
from tfmviz.ui.shelf import Job, Shelf

if TYPE_CHECKING:
    from tfmviz.models.model import StackOutline
    from tfmviz.trace import LayerInside


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
_outlines: Shelf[TraceRequest, Mapping[str, StackOutline]] = Shelf(
    budget=1, most=64, weigh=lambda _: 0, workers=2, name="outline"
)


def outline(request: TraceRequest) -> Mapping[str, StackOutline]:
    """The stacks that the text has in its model, which must be loaded."""

    def make(job: Job[Mapping[str, StackOutline]]) -> Mapping[str, StackOutline]:
        return cache.model(request.model).outline(request.text, request.pair, request.target)

    return _outlines.ask(request, make).future.result()


def inside_job(request: InsideRequest) -> Job[LayerInside]:
    """The job that looks into a layer, in a pass of the model that ends there, or that has done so."""

    def make(job: Job[LayerInside]) -> LayerInside:
        asked = request.trace
        model, part = cache.model(asked.model), _part(request)
        with stoppable.passes(job, model, "Running the model", n_passes=part):
            return model.look_inside(
                request.stack, request.layer, text=asked.text, pair=asked.pair, target=asked.target
            )

    return _layers.ask(request, make)


def _part(request: InsideRequest) -> float:
    """How much of a whole pass leads to the layer."""
    stacks = outline(request.trace)
    before = stacks["encoder"].n_layers if request.stack in ("decoder", "cross") else 0
    layers = sum(stack.n_layers for name, stack in stacks.items() if name != "cross")
    return (before + request.layer + 1) / layers


def clear() -> None:
    """Forget every layer; for tests."""
    _layers.clear()
    _outlines.clear()

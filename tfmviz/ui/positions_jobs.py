"""What the Positions page waits for: the schemes on a text, the loaded model's table, and the trained small models."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING

from tfmviz.ui.loading import ENOUGH_TO_TELL
from tfmviz.ui.requests import ModelRequest, TraceRequest
from tfmviz.ui.shelf import Job, Shelf, Step

if TYPE_CHECKING:
    from torch import Tensor

    from tfmviz.analysis.positions import Lengths, SchemeOnText
    from tfmviz.analysis.positions_own import OwnBias, OwnRotation
    from tfmviz.models import Model

    Own = tuple[tuple[OwnRotation, ...], tuple[OwnBias, ...]]

_ready: Shelf[str, bool] = Shelf(budget=1, most=1, weigh=lambda _: 0, workers=1, name="ready")
_orders: Shelf[TraceRequest, tuple[SchemeOnText, ...]] = Shelf(
    budget=10**8,
    most=32,
    weigh=lambda found: sum(one.weights.nbytes for one in found),
    workers=1,
    name="order",
)
_tables: Shelf[ModelRequest, Tensor | None] = Shelf(
    budget=10**8, most=8, weigh=lambda table: 0 if table is None else table.nbytes, workers=1, name="table"
)
_own: Shelf[ModelRequest, Own] = Shelf(budget=10**7, most=8, weigh=lambda _: 100_000, workers=1, name="own")
_lengths: Shelf[tuple[str, int], Lengths] = Shelf(
    budget=10**7, most=64, weigh=lambda _: 10_000, workers=1, name="lengths"
)


def ready_job() -> Job[bool]:
    """The job that imports what the page computes with: seconds, the first time in a process."""

    def make(job: Job[bool]) -> bool:
        job.report(Step(what="Starting PyTorch"))
        importlib.import_module("tfmviz.analysis.positions")
        # Plotly takes pandas as it finds it, half imported too, while another visitor's first picture imports it
        importlib.import_module("pandas")
        return True

    return _ready.ask("ready", make)


def order_job(request: TraceRequest, model: Model) -> Job[tuple[SchemeOnText, ...]]:
    """Every scheme on the text and on the shuffled text."""

    def make(job: Job[tuple[SchemeOnText, ...]]) -> tuple[SchemeOnText, ...]:
        from tfmviz.analysis.positions import order
        from tfmviz.analysis.positions_order import LONGEST

        job.report(Step(what="Running six small models twice"))
        return order(model.tokenize(request.text, request.pair)[:LONGEST])  # the page says where it stops

    return _orders.ask(request, make)


def table_job(request: ModelRequest, model: Model) -> Job[Tensor | None]:
    """The learned positions of the loaded model, or None."""

    def make(job: Job[Tensor | None]) -> Tensor | None:
        from tfmviz.analysis.positions import learned

        job.report(Step(what="Reading the table of positions"))
        return learned(model)

    return _tables.ask(request, make)


def own_job(request: ModelRequest, model: Model) -> Job[Own]:
    """The rotations and the biases of the loaded model; empty where it has none."""

    def make(job: Job[Own]) -> Own:
        from tfmviz.analysis import positions_own

        job.report(Step(what="Reading the model's own positions"))
        return positions_own.rotations(model), positions_own.biases(model)

    return _own.ask(request, make)


def is_measured(scheme: str, seed: int) -> bool:
    """Whether one scheme's model is there already."""
    return _lengths.peek((scheme, seed)) is not None


def lengths_job(scheme: str, seed: int) -> Job[Lengths]:
    """One scheme's small model, trained and measured; kept for whoever asks next."""

    def make(job: Job[Lengths]) -> Lengths:
        from tfmviz.analysis.positions import extrapolation
        from tfmviz.training.threads import limit_this_thread

        limit_this_thread(1)
        began = time.monotonic()

        def report(done: float) -> None:
            left = (time.monotonic() - began) * (1 - done) / done if done >= ENOUGH_TO_TELL else None
            which = "without positions" if scheme == "none" else f"with {scheme} positions"
            job.report(Step(what=f"Training a small model {which}", done=done, seconds_left=left))

        return extrapolation(scheme, seed, report=report)  # type: ignore[arg-type]

    return _lengths.ask((scheme, seed), make)

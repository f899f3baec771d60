"""Models and traces, made once and shared by every visitor, within bounds.

Keys are whole requests, compared field by field: two texts never meet under one key, and nobody is given a trace of a
text that they did not type themselves.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tfmviz.analysis.head_notes import HeadNotes, head_notes
from tfmviz.errors import ConfigError
from tfmviz.ui import stoppable, training_models
from tfmviz.ui.requests import ModelRequest, TraceRequest
from tfmviz.ui.shelf import Job, Shelf, Step, Stopped

if TYPE_CHECKING:
    from tfmviz.models import Model
    from tfmviz.models.progress import Progress
    from tfmviz.trace import AttentionStack, Trace

_GB = 10**9
_FLOAT = 4

# What the visitor reads for each stage of loading a model.
_STAGES = {
    "checking": "Checking the model's files",
    "downloading": "Downloading the model",
    "reading": "Reading the weights",
    "converting": "Unpacking the weights, once",
    "saving": "Keeping the unpacked weights for next time",
    "loading": "Loading the model",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Traced:
    """A trace with what the atlas shows of it, which takes longer to compute than to keep.

    Attributes:
        trace: the trace.
        overviews: for each stack, uint8 [layers, heads, <=64, <=64].
        reachable: for each stack, bool [layers, <=64, <=64]: False where nothing in the block may be looked at.
    """

    trace: Trace
    overviews: dict[str, np.ndarray]
    reachable: dict[str, np.ndarray]

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        small = sum(array.nbytes for array in (*self.overviews.values(), *self.reachable.values()))
        return self.trace.memory.kept + small


def gigabytes(variable: str, usual: float) -> int:
    """Bytes that a variable of the environment allows.

    Raises:
        ConfigError: if it holds no number above 0.
    """
    asked = os.environ.get(variable) or usual
    try:
        allowed = float(asked)
    except ValueError:
        allowed = math.nan
    if not 0 < allowed < math.inf:
        raise ConfigError(f"{variable}={asked!r} is no amount of memory. Set it to gigabytes, such as {usual:g}.")
    return int(allowed * _GB)


_models: Shelf[ModelRequest, Model] = Shelf(
    budget=gigabytes("TFMVIZ_MODEL_GB", 6),
    most=6,
    weigh=lambda model: _FLOAT * model.n_parameters,
    workers=2,
    name="load",
)
_traces: Shelf[TraceRequest, Traced] = Shelf(
    budget=gigabytes("TFMVIZ_TRACE_GB", 1),
    most=256,
    weigh=lambda traced: traced.nbytes,
    workers=4,
    name="trace",
)
_notes: Shelf[TraceRequest, dict[str, HeadNotes]] = Shelf(
    budget=1, most=256, weigh=lambda _: 0, workers=1, name="notes"
)


def model_job(request: ModelRequest) -> Job[Model]:
    """The job that loads a model, or that has loaded it."""
    if training_models.is_ours(request):
        return training_models.job(request)
    anywhere = replace(request, device="auto")
    twin = _models.peek(anywhere)
    if twin is not None and str(twin.device) == request.device:
        request = anywhere  # the same model, loaded already

    def make(job: Job[Model]) -> Model:
        job.report(Step(what="Starting PyTorch"))
        # The first import of torch and transformers takes seconds; here it happens behind the painted page.
        from tfmviz.models import load_model

        job.report(Step(what="Loading the model"))
        return load_model(
            request.name,
            device=request.device,
            progress=lambda step: job.report(_step(step)),
            allow_local=local_models_allowed(),
        )

    return _models.ask(request, make)


def trace_job(request: TraceRequest, model: Model) -> Job[Traced]:
    """The job that runs one forward pass, or that has run it."""

    def make(job: Job[Traced]) -> Traced:
        with stoppable.passes(job, model, "Running the model"):
            trace = model.trace(request.text, pair=request.pair, target=request.target)
        return overviewed(trace, job)

    return _traces.ask(request, make)


def overviewed(trace: Trace, job: Job[Traced] | None = None) -> Traced:
    """A trace with what the atlas shows of it; the job says how far it is, for that takes seconds in a long text."""
    trace = replace(trace, revisit=None)  # which holds the model
    began = time.monotonic()

    def report(done: float) -> None:
        if job is not None:
            left = (time.monotonic() - began) * (1 - done) / done
            job.report(Step(what="Drawing all heads", done=done, seconds_left=left))

    overviews = {name: stack.overview(report=report).numpy() for name, stack in trace.stacks.items()}
    reachable = {name: _reachable(stack, overviews[name]) for name, stack in trace.stacks.items()}
    return Traced(trace=trace, overviews=overviews, reachable=reachable)


def notes_job(request: TraceRequest, made: Traced) -> Job[dict[str, HeadNotes]]:
    """The job that finds out what every head of a trace does; it starts once the picture is on its way."""

    def make(job: Job[dict[str, HeadNotes]]) -> dict[str, HeadNotes]:
        return {name: head_notes(stack) for name, stack in made.trace.stacks.items()}

    return _notes.ask(request, make)


def traced(request: TraceRequest) -> Traced:
    """A trace, waiting for it in silence: for reruns after the page has shown it once."""
    while True:
        try:
            return trace_job(request, model_job(request.model).future.result()).future.result()
        except Stopped:
            continue  # by another visitor, who waited for it too


def kept(request: TraceRequest) -> Traced | None:
    """A trace if it is there; nothing is run for it."""
    return _traces.peek(request)


def model(request: ModelRequest) -> Model:
    """A model, waiting for it in silence."""
    return model_job(request).future.result()


def local_models_allowed() -> bool:
    """Whether what is typed as a model may be a path: never in a shared app, unless its owner says so."""
    return os.environ.get("TFMVIZ_LOCAL_MODELS") == "1"


def loaded_models() -> list[str]:
    """Names of the models in memory."""
    return sorted({request.name for request in _models.keys()})  # noqa: SIM118 - a method, not a dict's


def is_loaded(request: ModelRequest) -> bool:
    """Whether the model is in memory, so that the page can ask it without waiting."""
    return bool(request.private) or request in _models.keys()  # noqa: SIM118


def clear() -> None:
    """Forget every model and trace; for tests."""
    _models.clear()
    _traces.clear()
    _notes.clear()


def _reachable(stack: AttentionStack, overview: np.ndarray) -> np.ndarray:
    """Which blocks of each layer hold anything that may be looked at: bool [layers, rows, cols].

    Masks are asked at the corners of the blocks, which settles causal, sliding and prefix masks and padding; a block
    that holds weight is reachable whatever its corners say.
    """
    layers, _, rows, cols = overview.shape
    row, col = _corners(len(stack.query_tokens), rows), _corners(len(stack.key_tokens), cols)
    out = np.ones((layers, rows, cols), dtype=bool)
    for layer in range(layers):
        if not stack.status(layer).startswith("none"):
            seen = stack.visible(layer, 0, row, col).numpy().reshape(rows, 2, cols, 2).any(axis=(1, 3))
            out[layer] = seen | overview[layer].any(axis=0)
    return out


def _corners(length: int, blocks: int) -> list[int]:
    size = -(-length // blocks)
    return [at for block in range(blocks) for at in (block * size, min((block + 1) * size, length) - 1)]


def _step(progress: Progress) -> Step:
    return Step(
        what=_STAGES.get(progress.stage, progress.stage),
        done=progress.fraction if progress.total else None,
        seconds_left=progress.seconds_left,
    )

"""Which models the Architectures page shows, one of each kind, and what they make of the visitor's text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tfmviz.models.catalog import Kind, catalog
from tfmviz.models.sources import is_here
from tfmviz.ui import cache as shelves
from tfmviz.ui import training_models
from tfmviz.ui.requests import ModelRequest
from tfmviz.ui.shelf import Job, Shelf, Step

if TYPE_CHECKING:
    from tfmviz.analysis.architecture import Column
    from tfmviz.models import Model, ScratchModel
    from tfmviz.ui.cache import Traced

KINDS: tuple[Kind, ...] = ("encoder", "decoder", "encoder-decoder")
UNTRAINED = "small, untrained"
# What to begin with, best first: small ones whose attention can be read.
FIRST = ("scratch-minilm", "scratch-induction", "scratch-dates", "scratch-untrained")
# Longest target that is taken from the text where the decoder has nothing of its own to say.
BORROWED = 12
MOST_WRITTEN = 24
_written: Shelf[tuple[ModelRequest, str], str | None] = Shelf(
    budget=10**6, most=256, weigh=lambda target: len(target or ""), workers=1, name="write"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """One model on the visitor's text.

    Attributes:
        traced: its attention.
        columns: its diagram.
        target: what its decoder has read, in an encoder-decoder; None else.
    """

    traced: Traced
    columns: tuple[Column, ...]
    target: str | None


def names(kind: Kind) -> list[str]:
    """From-scratch models of a kind that are at hand, the best one to begin with first."""
    here = [entry.name for entry in catalog() if entry.kind == kind and (entry.adapts or entry.made) and is_here(entry)]
    here.sort(key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
    mine = [name for name in training_models.names() if training_models.kind_of(name) == kind]
    return [*here, *mine, UNTRAINED]


def job(kind: Kind, name: str) -> Job[Model]:
    """The model as a job, made or being made."""
    if name == UNTRAINED:
        done: Job[Model] = Job()
        done.future.set_result(_untrained(kind))
        return done
    return shelves.model_job(request(kind, name))


def request(kind: Kind, name: str) -> ModelRequest:
    """What names the model in the caches; the small ones differ by kind."""
    return ModelRequest(name=f"{UNTRAINED} {kind}") if name == UNTRAINED else training_models.request(name, "cpu")


@cache
def _untrained(kind: Kind) -> ScratchModel:
    from tfmviz.analysis.architecture import untrained
    from tfmviz.models.scratch_load import byte_model

    return byte_model(untrained(kind), name=f"{UNTRAINED} {kind}")


def target_for(kind: Kind, name: str, model: ScratchModel, text: str, typed: str) -> Job[str | None]:
    """What the decoder of an encoder-decoder reads: what was typed, else what a trained model itself writes.

    A model that has learnt nothing would write bytes that are no text: it reads the beginning of the text instead. So
    does one that cannot read the text to its end; the pass then says so.
    """
    target = None if kind != "encoder-decoder" else typed or text[:BORROWED]
    if target is None or typed or name == UNTRAINED or not _fits(model, text):
        done: Job[str | None] = Job()
        done.future.set_result(target)
        return done

    def make(job: Job[str | None]) -> str | None:
        from tfmviz.training.pairs import write

        job.report(Step(what="Letting the model write"))
        return write(model.module, [text], most=MOST_WRITTEN)[0]

    return _written.ask((request(kind, name), text), make)


def _fits(model: ScratchModel, text: str) -> bool:
    return model.max_tokens is None or len(model.tokenize(text)) <= model.max_tokens


def show(model: ScratchModel, traced: Traced) -> Shown:
    """A model's trace with its diagram."""
    from tfmviz.analysis.architecture import columns

    trace = traced.trace
    if model.kind == "encoder-decoder":
        lengths = {"encoder": len(trace.tokens), "decoder": len(trace.target_tokens)}
    else:
        lengths = {"self": len(trace.tokens)}
    return Shown(traced=traced, columns=columns(model.module.config, lengths), target=trace.target)  # type: ignore[arg-type]

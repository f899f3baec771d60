"""The passes behind the Masks page, made once in the background and kept within bounds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tfmviz.ui import stoppable
from tfmviz.ui.requests import HeadChoice, TraceRequest
from tfmviz.ui.shelf import Job, Shelf, Step

if TYPE_CHECKING:
    from tfmviz.analysis.head_view import HeadView
    from tfmviz.analysis.masks import Leakage, PaddingEffect, Passed, Pattern, Sizes
    from tfmviz.models import Model
    from tfmviz.trace import AttentionStack, Trace

NAME = "masks"  # of the page, whose jobs take each other's place
Side = Literal["left", "right"]
SIDES: tuple[Side, ...] = ("right", "left")


@dataclass(frozen=True, kw_only=True, slots=True)
class PaddedRequest:
    """One text with padding.

    Attributes:
        trace: the text and the model.
        pads: padding tokens to add; fewer where the model has no room for them.
        side: where they go.
    """

    trace: TraceRequest
    pads: int
    side: Side


@dataclass(frozen=True, kw_only=True, slots=True)
class UnderRequest:
    """The same text through the whole model under each pattern.

    Attributes:
        padded: the text.
        window, prefix: sizes of two of the patterns.
    """

    padded: PaddedRequest
    window: int
    prefix: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewsRequest:
    """One head, or a mean over some, under its own mask and under each pattern.

    Attributes:
        under: the text and the patterns.
        whole: whether the whole model ran under each of them.
        stack: the stack's name.
        choice: which head.
        window: first row and first column of the pictures.
    """

    under: UnderRequest
    whole: bool
    stack: str
    choice: HeadChoice
    window: tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class LeakRequest:
    """One changed token under one mask.

    Attributes:
        trace: the text and the model.
        at: position of the token.
        mask: a rule in words; None for the model's own.
    """

    trace: TraceRequest
    at: int
    mask: str | None


_padded: Shelf[PaddedRequest, Trace] = Shelf(
    budget=4 * 10**8, most=64, weigh=lambda trace: trace.memory.kept, workers=2, name="masks"
)
_under: Shelf[UnderRequest, Mapping[Pattern, Passed]] = Shelf(
    budget=4 * 10**8,
    most=16,
    weigh=lambda passes: sum(one.stack.nbytes + sum(h.nbytes for h in one.hidden) for one in passes.values()),
    workers=1,
    name="under",
)
_views: Shelf[ViewsRequest, Mapping[str, HeadView]] = Shelf(
    budget=10**8,
    most=64,
    weigh=lambda views: sum(2 * one.weights.nbytes for one in views.values()),
    workers=2,
    name="views",
)
_effects: Shelf[PaddedRequest, PaddingEffect] = Shelf(
    budget=10**7, most=64, weigh=lambda _: 10**5, workers=1, name="padding"
)
_leaks: Shelf[LeakRequest, Leakage] = Shelf(budget=10**7, most=64, weigh=lambda _: 10**5, workers=1, name="leakage")


def room(model: Model, n_tokens: int, wanted: int) -> int:
    """How much padding a text of so many tokens can have."""
    return wanted if model.max_tokens is None else max(0, min(wanted, model.max_tokens - n_tokens))


def padded_job(request: PaddedRequest, model: Model) -> Job[Trace]:
    """The text with its padding, under the model's own mask."""

    def make(job: Job[Trace]) -> Trace:
        asked = request.trace
        n_tokens = len(model.tokenize(asked.text, asked.pair))
        pads = room(model, n_tokens, request.pads)
        with stoppable.passes(job, model, "Running the model"):
            return model.trace(
                asked.text,
                pair=asked.pair,
                target=asked.target,
                pad_to=n_tokens + pads if pads else None,
                pad_side=request.side if pads else None,
            )

    return _padded.ask(request, make)


def under_job(request: UnderRequest, model: Model, trace: Trace) -> Job[Mapping[Pattern, Passed]]:
    """The whole model under every pattern."""

    def make(job: Job[Mapping[Pattern, Passed]]) -> Mapping[Pattern, Passed]:
        from tfmviz.analysis.masks import PATTERNS, passed, rule

        found: dict[Pattern, Passed] = {}
        with stoppable.passes(job, model, "Running the model under six masks", n_passes=len(PATTERNS)):
            for pattern in PATTERNS:
                mask = rule(pattern, trace.tokens, sizes(request), causal=model.kind == "decoder")
                found[pattern] = passed(model, trace.tokens, mask, hide_padding=False)
        return found

    return _under.ask(request, make)


def views_job(request: ViewsRequest, stacks: Mapping[str, AttentionStack]) -> Job[Mapping[str, HeadView]]:
    """The numbers of the pictures: of one head at once, of a mean over all heads of a long text in a minute."""

    def make(job: Job[Mapping[str, HeadView]]) -> Mapping[str, HeadView]:
        from tfmviz.analysis.head_view import head_view

        found: dict[str, HeadView] = {}
        began = time.monotonic()
        for name, stack in stacks.items():
            left = (time.monotonic() - began) * (len(stacks) / len(found) - 1) if found else None
            what = "Computing the weights under each mask"
            job.report(Step(what=what, done=len(found) / len(stacks), seconds_left=left))
            found[name] = head_view(stack, request.choice.layer, request.choice.head, window=request.window)
        return found

    return _views.ask(request, make)


def sizes(request: UnderRequest) -> Sizes:
    """The sizes of a request as the analysis takes them."""
    from tfmviz.analysis.masks import Sizes

    return Sizes(window=request.window, prefix=request.prefix)


def padding_job(request: PaddedRequest, model: Model) -> Job[PaddingEffect]:
    """The text padded and unpadded, with and without the padding mask."""

    def make(job: Job[PaddingEffect]) -> PaddingEffect:
        from tfmviz.analysis.masks import padding

        asked = request.trace
        n_tokens = len(model.tokenize(asked.text, asked.pair))
        with stoppable.passes(job, model, "Running the model with and without padding", n_passes=3):
            return padding(model, asked.text, n_tokens + request.pads, request.side, pair=asked.pair)

    return _effects.ask(request, make)


def leak_job(request: LeakRequest, model: Model) -> Job[Leakage]:
    """The text with one token changed."""

    def make(job: Job[Leakage]) -> Leakage:
        from tfmviz.analysis.masks import leakage

        with stoppable.passes(job, model, "Running the model twice", n_passes=2):
            return leakage(model, request.trace.text, request.at, mask=request.mask, pair=request.trace.pair)

    return _leaks.ask(request, make)

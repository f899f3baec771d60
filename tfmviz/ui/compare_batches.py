"""A visitor's run over many texts: started and stopped by them alone, made in the background, kept within bounds."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.ui import compare_jobs
from tfmviz.ui.shelf import Job, Shelf, Step

if TYPE_CHECKING:
    from tfmviz.analysis.alignment import Grain
    from tfmviz.analysis.batch import Measured, Reader
    from tfmviz.analysis.matching import Head
    from tfmviz.ui.compare_jobs import SideRequest
    from tfmviz.ui.compare_sides import Side

_RUN, _KEPT = "compare_run", "compare_run_found"
# Bytes that are reckoned for a text with its numbers.
_A_TEXT = 4000


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One press of the button.

    Attributes:
        request: what is measured.
        ticket: of this run alone, so that nobody else's stops with it.
        stop: set once the visitor has had enough.
    """

    request: BatchRequest
    ticket: str = field(default_factory=lambda: secrets.token_hex(8))
    stop: threading.Event = field(default_factory=threading.Event, compare=False)


_runs: Shelf[Run, tuple[Measured, ...]] = Shelf(
    budget=5 * 10**7, most=64, weigh=lambda found: _A_TEXT * len(found), workers=1, name="texts"
)


def request(a: Side, b: Side, heads: tuple[Head, Head], grain: Grain, texts: tuple[str, ...]) -> BatchRequest:
    """What to measure."""
    first, second = (replace(side.request, trace=replace(side.request.trace, text="")) for side in (a, b))
    return BatchRequest(a=first, b=second, heads=heads, grain=grain, texts=texts)


def held() -> Run | None:
    """The last run of this session."""
    return st.session_state.get(_RUN)


def start(asked: BatchRequest) -> None:
    """Begin a run; one that is under way is left."""
    stop()
    st.session_state[_RUN] = Run(request=asked)


def stop() -> None:
    """Leave the run after the text that is being read; what was measured stays."""
    if (run := held()) is not None:
        run.stop.set()


def forget() -> None:
    """Let go of a run that failed."""
    st.session_state.pop(_RUN, None)


def job(run: Run, a: Side, b: Side) -> Job[tuple[Measured, ...]]:
    """The run, under way or done.

    Args:
        run: what was started.
        a, b: the sides as they are now, whose models are those of the run if their requests are.
    """

    def make(job: Job[tuple[Measured, ...]]) -> tuple[Measured, ...]:
        from tfmviz.analysis.batch import measure

        asked, texts = run.request, run.request.texts
        return measure(
            texts,
            _reader(asked.a, a, asked.heads[0]),
            _reader(asked.b, b, asked.heads[1]),
            grain=asked.grain,
            one_vocabulary=_one_vocabulary(a, b),
            heard=lambda done: job.report(
                Step(what=f"Text {done + 1:,} of {len(texts):,}", done=done / max(len(texts), 1))
            ),
            stopped=run.stop.is_set,
        )

    return _runs.ask(run, make)


def found(run: Run) -> tuple[Measured, ...] | None:
    """What a run has found, once it is over."""
    kept = st.session_state.get(_KEPT)
    return kept[1] if kept and kept[0] == run.ticket else _runs.peek(run)


def keep(run: Run, found: tuple[Measured, ...]) -> None:
    """Hold what was found for as long as the session, so that no other visitor's run can push it out."""
    st.session_state[_KEPT] = (run.ticket, found)


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

"""What the two models say of one text: the next piece, how alike sentences are, and facts of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from tfmviz.charts import curves_layout
from tfmviz.charts import outputs as chart
from tfmviz.errors import TfmvizError
from tfmviz.text import display
from tfmviz.ui import address, compare_jobs, compare_said, compare_words, errors, loading, pickers
from tfmviz.ui.address import Notes

if TYPE_CHECKING:
    from tfmviz.analysis.alignment import Alignment
    from tfmviz.analysis.outputs import Pooling
    from tfmviz.ui.compare_sides import Side
    from tfmviz.ui.requests import TraceRequest

LIKELIEST = 8
MOST_SENTENCES = 8
_LONGEST = 80


def draw(a: Side, b: Side, alignment: Alignment, request: TraceRequest) -> None:
    """All three, each with its own faults."""
    parts = st.columns(2, gap="medium")
    with parts[0]:
        _guarded(_next_piece, a, b, alignment)
        facts = st.container()
    with parts[1]:
        _guarded(_sentences, a, b, request)
    with facts:  # last, for passes that are timed must not stand in the way of others
        _guarded(_facts, a, b, request)


def _guarded(part: Callable[..., None], *given: object) -> None:
    """One part of the page; what fails in it leaves the others alone."""
    try:
        part(*given)
    except TfmvizError as error:
        errors.show(error)


def _next_piece(a: Side, b: Side, alignment: Alignment) -> None:
    """Both distributions of what comes after a piece of the text."""
    from tfmviz.analysis.outputs import next_pieces

    others = [side for side in (a, b) if side.model.kind != "decoder"]
    if others:
        st.markdown(f"**What comes next** {compare_said.no_decoder(others)}")
        return
    line = loading.Line(st.container())
    unit = alignment.units[len(alignment.units) - 1 - _unread(len(alignment.units) - 1)]
    said, names = [], []
    for side in (a, b):
        asked = replace(side.request, trace=replace(side.request.trace, text=side.request.trace.text[: unit.end]))
        said.append(loading.wait(compare_jobs.said_job(asked, side.model), line))
        names.append(loading.wait(compare_jobs.spellings_job(side.request.trace.model, side.traced.trace), line))
    found = next_pieces(said[0], said[1], names[0], names[1], LIKELIEST)
    line.say(f"**What comes next** {compare_said.next_piece(found, unit.text, len(names[0]), len(names[1]))}")
    st.plotly_chart(
        chart.next_pieces(found, dark=pickers.is_dark()),
        key="next_pieces",
        theme=None,
        config=curves_layout.config("tfmviz what comes next"),
        alt="Probabilities of the likeliest next pieces, A filled, B outlined",
    )


def _unread(most: int) -> int:
    """How many pieces at the end of the text are held back."""
    notes, notices = Notes(), st.container()
    notes.add(address.settle_number("unread", 0, most, 0, what="pieces left unread"))
    notes.say(notices)
    if not most:
        return 0
    unread = st.slider(
        "Pieces at the end that neither has read",
        0,
        most,
        0,
        key="unread",
        bind="query-params",
        help="Pieces are the units of the maps above: places where both models have cut the text.",
    )
    return min(max(int(unread), 0), most)


def _sentences(a: Side, b: Side, request: TraceRequest) -> None:
    """How alike both models find the lines of the text, or the two sentences of a pair."""
    from tfmviz.analysis.outputs import POOLINGS

    every = sentences_of(request)
    if len(every) < 2:
        st.markdown(f"**How alike sentences are** {compare_said.ONE_SENTENCE}")
        return
    shown = every[:MOST_SENTENCES]
    line = loading.Line(st.container())
    pooling = _pooling(POOLINGS)
    found = [loading.wait(compare_jobs.likeness_job(side.request, side.model, shown), line) for side in (a, b)]
    pairs = list(combinations(range(len(shown)), 2))
    values = {(at, how): _of_pairs(found[at].get(how), pairs) for at in (0, 1) for how in POOLINGS}
    names = [f"{i + 1} with {j + 1}" for i, j in pairs]
    of_a, of_b = values[0, pooling], values[1, pooling]
    lacking = [side for side, one in zip((a, b), found, strict=True) if pooling not in one]
    line.say(f"**How alike sentences are** {compare_said.alike(names, of_a, of_b, pooling, lacking)}")
    st.plotly_chart(
        chart.similarities(names, of_a, of_b, dark=pickers.is_dark()),
        key="similarities",
        theme=None,
        config=curves_layout.config("tfmviz similarities"),
        alt="Cosine of each pair of sentences, A filled, B outlined",
    )
    _list_sentences(shown, len(every))
    _table(names, values, POOLINGS)


def _pooling(poolings: tuple[Pooling, ...]) -> Pooling:
    notes, notices, first = Notes(), st.container(), poolings[0]
    notes.add(address.settle("pooling", poolings, first, what="pooling", among=f"There are {', '.join(poolings)}"))
    notes.say(notices)
    chosen = st.segmented_control(
        "Pooling",
        poolings,
        default=first,
        key="pooling",
        bind="query-params",
        required=True,
        help="How the vectors of a sentence's tokens become one: their mean, the first special token's, the largest "
        "number of each dimension.",
    )
    return chosen if chosen in poolings else first


def sentences_of(request: TraceRequest) -> tuple[str, ...]:
    """The two sentences of a pair, else the lines of the text that have something on them."""
    if request.pair:
        return (request.text, request.pair)
    return tuple(line.strip() for line in request.text.splitlines() if line.strip())


def _of_pairs(cosines: np.ndarray | None, pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array([np.nan if cosines is None else cosines[pair] for pair in pairs])


def _list_sentences(shown: tuple[str, ...], n: int) -> None:
    cut = (one if len(one) <= _LONGEST else f"{one[:_LONGEST]}…" for one in shown)
    lines = [f"{at}. {display.markdown(one)}" for at, one in enumerate(cut, 1)]
    if n > len(shown):
        lines.append(f"\nThe first {len(shown)} of {n:,} lines; *many texts* reads them all.")
    st.markdown("\n".join(lines))


def _table(names: list[str], values: dict[tuple[int, Pooling], np.ndarray], poolings: tuple[Pooling, ...]) -> None:
    import pandas as pd

    known = [(at, how) for how in poolings for at in (0, 1) if not np.isnan(values[at, how]).all()]
    columns = {f"{'AB'[at]} {how}": values[at, how].round(4) for at, how in known}
    st.dataframe(
        pd.DataFrame({"sentences": names, **columns}),
        key="similarity_numbers",
        hide_index=True,
        height=min(38 + 36 * len(names), 180),
    )


def _facts(a: Side, b: Side, request: TraceRequest) -> None:
    line = loading.Line(st.container())
    seconds = [loading.wait(compare_jobs.seconds_job(side.request, side.model), line) for side in (a, b)]
    line.say("**Facts of both**")
    st.markdown(compare_words.table(a, b, request.text, (seconds[0], seconds[1])))

"""What padding wastes: the lines of the visitor's text as a batch, padded in three ways, counted and timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.charts import memory_padding as chart
from tfmviz.ui import address, cache, errors, live_run, loading, memory_padding_words, pickers
from tfmviz.ui.address import Notes
from tfmviz.ui.live_run import LiveRun
from tfmviz.ui.positions_schemes import chart as draw_chart
from tfmviz.ui.requests import TraceRequest

if TYPE_CHECKING:
    from tfmviz.analysis.padding_times import BatchTime
    from tfmviz.analysis.padding_waste import Batching, Line
    from tfmviz.models import Model

NAME = "padding"
BUCKETS = (2, 4, 8, 16, 32)
USUAL_LENGTH, LONGEST = 512, 4096
MOST_LINES = 256
ROUNDS, FEW_TOKENS = 3, 8192  # a median of three rounds, where they are not long
SKELETON_HEIGHT = 560


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What is asked for.

    Attributes:
        model: which reads the lines.
        lines: of the text.
        max_length: what the first way pads to.
        bucket: lines of a bucket.
        batchings: the three ways.
    """

    model: Model
    lines: tuple[Line, ...]
    max_length: int
    bucket: int
    batchings: tuple[Batching, ...]

    @property
    def n_rounds(self) -> int:
        """How often each way is timed."""
        return ROUNDS if self.n_tokens <= FEW_TOKENS else 1

    @property
    def n_tokens(self) -> int:
        """Tokens of one round."""
        return sum(one.n_tokens for one in self.batchings)


def draw(request: TraceRequest) -> None:
    """The whole view.

    Args:
        request: the sidebar's; the lines of its text are the batch.
    """
    line = loading.Line(st.container(key="line"))
    skeleton, asked = st.empty(), cache.model_job(request.model)
    if not asked.future.done():
        skeleton.skeleton(height=SKELETON_HEIGHT)
    model = loading.wait(asked, line)
    skeleton.empty()
    from tfmviz.analysis import padding_times, padding_waste

    lines = padding_waste.lines_of(model, request.text, MOST_LINES)
    n_typed = sum(1 for one in request.text.splitlines() if one.strip())
    line.say(memory_padding_words.line(model, len(lines), n_typed))
    notes, notices = Notes(), st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        setting = _setting(model, lines, notes)
        key = (request.model, request.text, setting.max_length, setting.bucket)
        run = live_run.held(NAME, key)
        measure = partial(padding_times.times, model, lines, setting.batchings, setting.n_rounds)
        start = partial(live_run.start, NAME, key, measure)
        live_run.button(run, name=NAME, first="Measure the time", icon=":material/timer:", on_start=start)
    notes.say(notices)
    live_run.watch(run, partial(_picture, run=run, setting=setting), key="padding_live")


def _setting(model: Model, lines: tuple[Line, ...], notes: Notes) -> Setting:
    from tfmviz.analysis import padding_waste

    lengths = [len(line.ids) for line in lines]
    longest = max(lengths)
    most = max(longest, min(model.max_tokens or LONGEST, LONGEST))
    max_length = _max_length(longest, most, notes)
    notes.add(address.settle("bucket", BUCKETS, 4, what="bucket", among=f"There are {', '.join(map(str, BUCKETS))}"))
    bucket = st.select_slider("Lines in a bucket", BUCKETS, 4, key="bucket", bind="query-params", width=220)
    bucket = bucket if bucket in BUCKETS else 4
    return Setting(
        model=model,
        lines=lines,
        max_length=max_length,
        bucket=bucket,
        batchings=(
            padding_waste.fixed(lengths, max_length),
            padding_waste.dynamic(lengths),
            padding_waste.bucketed(lengths, bucket),
        ),
    )


def _max_length(longest: int, most: int, notes: Notes) -> int:
    """What the first way pads to: 512, as is often set, or what comes nearest to it."""
    default = min(most, max(USUAL_LENGTH, longest))
    notes.add(address.settle_number("max_length", longest, most, default, what="max_length"))
    if longest == most:
        return longest
    chosen = st.number_input(
        "max_length",
        longest,
        most,
        default,
        key="max_length",
        bind=address.number_binding("max_length"),
        width=160,
        help=f"From your longest line, {longest:,} tokens, to {most:,}.",
    )
    return min(max(int(chosen), longest), most)


def _picture(points: Sequence[BatchTime], run: LiveRun[BatchTime] | None, setting: Setting) -> None:
    from tfmviz.analysis import padding_times

    if run is not None:
        whole = setting.n_tokens * setting.n_rounds
        done = sum(one.n_tokens for one in points)
        st.progress(min(done / whole, 1.0), text=memory_padding_words.state(run, done, whole, setting.n_rounds))
        if run.error is not None:
            errors.show(run.error)
    seconds = padding_times.seconds_of(points, setting.batchings)
    for batching, place in zip(setting.batchings, st.columns(3, gap="medium"), strict=True):
        with place:
            st.markdown(memory_padding_words.title(batching, setting.max_length, setting.bucket))
            _batches(batching, setting)
    shape = padding_times.shape_of(setting.model)
    left, right = st.columns([11, 9], gap="medium")
    with left:
        st.markdown(memory_padding_words.table(setting.batchings, setting.model.n_heads, shape, seconds))
    with right:
        st.markdown(memory_padding_words.seen(setting.batchings, setting.max_length, setting.model.n_heads, seconds))


def _batches(batching: Batching, setting: Setting) -> None:
    """The rectangles of one way, all ways on the same axis."""
    rows = [
        [
            chart.Row(
                text=setting.lines[line].text,
                number=line + 1,
                n_tokens=len(setting.lines[line].ids),
                length=batch.length,
            )
            for line in batch.lines
        ]
        for batch in batching.batches
    ]
    figure = chart.figure(rows, longest=setting.max_length, dark=pickers.is_dark())
    alt = f"Lines in their batches, {batching.method} padding: text and padding in tokens"
    draw_chart(figure, f"batches_{batching.method}", alt)
    if (hidden := len(setting.lines) - chart.MOST_ROWS) > 0:
        st.markdown(f":small[:gray[{hidden:,} more lines are counted and not drawn.]]")

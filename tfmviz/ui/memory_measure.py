"""The live measurement: attention on longer and longer texts, its memory and its time, as they are measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from tfmviz.analysis.measure import LENGTHS
from tfmviz.analysis.memory_peak import AttentionCall
from tfmviz.charts import curves_layout, memory_growth
from tfmviz.charts.memory_levels import Level
from tfmviz.charts.memory_numbers import bytes_text
from tfmviz.ui import address, errors, live_run, loading, memory_measure_words, pickers
from tfmviz.ui.address import Notes
from tfmviz.ui.live_run import LiveRun
from tfmviz.ui.memory_measure_picture import memory_growths, time_growths
from tfmviz.ui.memory_measure_run import Asked, Measurement
from tfmviz.ui.requests import TraceRequest
from tfmviz.ui.shelf import Job, Shelf, Step

if TYPE_CHECKING:
    from tfmviz.analysis.measure_pace import Point

NAME = "measure"
HEADS = (1, 2, 4, 8, 16, 32)
WIDTHS = (32, 64, 128, 256)
BATCHES = (1, 2, 4, 8)
DTYPES = ("float32", "bfloat16", "float16")
BUDGETS = (5, 15, 30, 60, 180)
_MEASUREMENT = "memory_measurement"

_free: Shelf[tuple[str, int], tuple[str, int]] = Shelf(
    budget=10**4, most=64, weigh=lambda _: 100, workers=1, name="free"
)


def draw(request: TraceRequest) -> None:
    """The whole view.

    Args:
        request: the sidebar's; of it the device counts.
    """
    line, notes, notices = loading.Line(st.container(key="line")), Notes(), st.container()
    controls = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    with controls:
        asked = _asked(request.model.device, notes)
    notes.say(notices)
    where, free = loading.wait(_free_job(request.model.device), line)
    line.say(memory_measure_words.line(where, asked.call))
    run = live_run.held(NAME, asked)
    if run is None:
        _stop()  # one for other choices, if there is any
    with controls:
        live_run.button(
            run,
            name=NAME,
            first="Measure",
            icon=":material/play_arrow:",
            on_start=partial(_start, asked),
            on_stop=_stop,
        )
    _live(run, asked, free)


def _asked(device: str, notes: Notes) -> Asked:
    """What the controls say, made to go together."""
    heads = _pick("Heads", "attn_heads", HEADS, 8, notes)
    kv = _pick("KV heads", "attn_kv", HEADS, 8, notes)
    d_head = _pick("d_head", "attn_width", WIDTHS, 64, notes)
    batch = _pick("Batch", "attn_batch", BATCHES, 1, notes)
    dtype = _pick("Format", "attn_dtype", DTYPES, "float32", notes)
    budget = _pick("Seconds", "attn_seconds", BUDGETS, 30, notes)
    causal = _switch("Causal", "attn_causal", notes)
    backward = _switch("Backward", "attn_backward", notes)
    if heads % kv:
        notes.add(f"{kv} KV heads do not divide {heads} heads: each head has keys of its own here.")
        kv = heads
    call = AttentionCall(
        n_heads=heads, n_kv_heads=kv, d_head=d_head, batch=batch, dtype=dtype, causal=causal, backward=backward
    )
    return Asked(call=call, device=device, budget_s=float(budget), lengths=LENGTHS)


def _pick(label: str, key: str, options: Sequence[Any], default: Any, notes: Notes) -> Any:
    among = f"There are {', '.join(map(str, options))}"
    notes.add(address.settle(key, options, default, what=label, among=among))
    value = st.selectbox(
        label,
        options,
        index=list(options).index(default),
        key=key,
        bind="query-params",
        persist_state="session",
        width=116 if key == "attn_dtype" else 96,
    )
    return value if value in options else default


def _switch(label: str, key: str, notes: Notes) -> bool:
    notes.add(address.settle_switch(key, what=label.lower()))
    return st.toggle(label, key=key, bind="query-params", persist_state="session")


def _start(asked: Asked) -> None:
    _stop()
    measurement = st.session_state[_MEASUREMENT] = Measurement(asked)
    live_run.start(NAME, asked, measurement.points)


def _stop() -> None:
    """End what is measured now, in the middle of a call too."""
    measurement: Measurement | None = st.session_state.get(_MEASUREMENT)
    if measurement is not None:
        measurement.stop()
    live_run.stop(NAME)


def _live(run: LiveRun[Point] | None, asked: Asked, free: int) -> None:
    """The part that is drawn again by itself while points come in."""

    def part(points: Sequence[Point]) -> None:
        _progress(run, points)
        _picture(asked, points, free)

    live_run.watch(run, part, key="measure_live")


def _progress(run: LiveRun[Point] | None, points: Sequence[Point]) -> None:
    """How far it is, and how long it takes still; always as high, so that nothing jumps."""
    measurement: Measurement | None = st.session_state.get(_MEASUREMENT)
    done, text = memory_measure_words.progress(run, measurement, points)
    st.progress(done, text=text)
    if run is not None and run.error is not None:
        errors.show(run.error)


def _picture(asked: Asked, points: Sequence[Point], free: int) -> None:
    dark = pickers.is_dark()
    left, right = st.columns(2, gap="medium")
    with left:
        figure = memory_growth.figure(
            memory_growths(asked, points, free),
            title="peak memory of one call",
            unit="bytes",
            lengths=asked.lengths,
            levels=[Level(name=f"may be taken here: {bytes_text(free)}", value=free)],
            dark=dark,
        )
        _chart(figure, "memory_chart", "Peak memory of attention against the length of the text")
    with right:
        figure = memory_growth.figure(
            time_growths(points), title="time of one call", unit="seconds", lengths=asked.lengths, dark=dark
        )
        _chart(figure, "time_chart", "Time of attention against the length of the text, measured")
    st.markdown(memory_measure_words.seen(asked, points, free))
    if points:
        with st.expander("Numbers", icon=":material/table_rows:"):
            st.markdown(memory_measure_words.table(points))
    st.caption(memory_measure_words.HOW)


def _chart(figure: Any, key: str, alt: str) -> None:
    config = curves_layout.config(f"tfmviz {key}")
    st.plotly_chart(figure, key=key, theme=None, config=config, alt=alt)


def _free_job(device: str) -> Job[tuple[str, int]]:
    """Which device that is, and the bytes that a call may take there; asks torch, which is slow the first time."""

    def make(job: Job[tuple[str, int]]) -> tuple[str, int]:
        job.report(Step(what="Starting PyTorch"))
        from tfmviz.analysis.measure import SHARE
        from tfmviz.models.device import resolve_device
        from tfmviz.models.memory import available_bytes

        where = resolve_device(device)
        return str(where), int(SHARE * available_bytes(where))

    return _free.ask((device, int(time.time() // 60)), make)

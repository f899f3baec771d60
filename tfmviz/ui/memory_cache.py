"""The cache of keys and values at work: a decoder writes on with it and without it, and every token is timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.charts import memory_cache as chart
from tfmviz.text import display
from tfmviz.ui import cache, errors, live_run, loading, memory_cache_words, pickers
from tfmviz.ui.address import Notes
from tfmviz.ui.live_run import LiveRun
from tfmviz.ui.positions_schemes import chart as draw_chart
from tfmviz.ui.positions_schemes import number
from tfmviz.ui.requests import TraceRequest

if TYPE_CHECKING:
    from tfmviz.analysis.generation import CacheShape, TokenStep
    from tfmviz.models import Model

NAME = "cache"
FEWEST, MOST, USUAL = 4, 256, 48
SKELETON_HEIGHT = 560


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What is asked for.

    Attributes:
        model: a decoder.
        n_prompt: tokens of the text.
        n_new: tokens to write.
        shape: of the model's cache.
    """

    model: Model
    n_prompt: int
    n_new: int
    shape: CacheShape


def draw(request: TraceRequest) -> None:
    """The whole view.

    Args:
        request: the sidebar's; its text is the prompt.
    """
    line = loading.Line(st.container(key="line"))
    skeleton, asked = st.empty(), cache.model_job(request.model)
    if not asked.future.done():
        skeleton.skeleton(height=SKELETON_HEIGHT)
    model = loading.wait(asked, line)
    skeleton.empty()
    if model.kind != "decoder":
        line.say("")
        st.info(memory_cache_words.no_cache(model), icon=":material/block:")
        return
    from tfmviz.analysis import generation

    notes, notices = Notes(), st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        setting = _setting(request, model, notes)
        if setting is not None:
            key = (request.model, request.text, setting.n_new)
            run = live_run.held(NAME, key)
            start = partial(live_run.start, NAME, key, partial(generation.write, model, request.text, setting.n_new))
            live_run.button(run, name=NAME, first="Start", icon=":material/play_arrow:", on_start=start)
    notes.say(notices)
    if setting is None:
        line.say("")
        return
    line.say(memory_cache_words.line(model))
    live_run.watch(run, partial(_picture, run=run, setting=setting), key="cache_live")


def _setting(request: TraceRequest, model: Model, notes: Notes) -> Setting | None:
    from tfmviz.analysis import generation

    n_prompt = len(generation.prompt(model, request.text, n_new=0))
    left = generation.room(model, n_prompt)
    most = MOST if left is None else min(MOST, left)
    if most <= FEWEST:
        st.info(memory_cache_words.no_room(model, n_prompt), icon=":material/block:")
        return None
    n_new = number("New tokens", "new_tokens", FEWEST, most, min(USUAL, most), notes)
    return Setting(model=model, n_prompt=n_prompt, n_new=n_new, shape=generation.cache_shape(model))


def _picture(steps: Sequence[TokenStep], run: LiveRun[TokenStep] | None, setting: Setting) -> None:
    done = len(steps) / setting.n_new
    st.progress(done, text=memory_cache_words.state(run, len(steps), setting.n_new))
    if run is not None and run.error is not None:
        errors.show(run.error)
    left, right = st.columns([13, 7], gap="medium")
    with left:
        _curves(steps, setting)
    with right:
        st.markdown(memory_cache_words.seen(steps, setting.n_prompt, setting.n_new, setting.shape))
        if steps:
            _written(steps, setting.model)
        st.markdown(f":small[:gray[{memory_cache_words.formula(setting.shape)}]]")


def _curves(steps: Sequence[TokenStep], setting: Setting) -> None:
    measured = chart.CacheCurves(
        lengths=[step.length for step in steps],
        seconds=[step.seconds for step in steps],
        seconds_without=[step.seconds_without for step in steps],
        cache_bytes=[step.cache_bytes for step in steps],
    )
    lengths = range(setting.n_prompt, setting.n_prompt + setting.n_new)
    figure = chart.figure(
        measured,
        n_prompt=setting.n_prompt,
        n_new=setting.n_new,
        predicted=[setting.shape.nbytes(length) for length in lengths],
        dark=pickers.is_dark(),
    )
    draw_chart(figure, "cache_chart", "Time of each token with and without the cache, and the bytes of the cache")


def _written(steps: Sequence[TokenStep], model: Model) -> None:
    """What was written, once where both wrote the same."""
    with st.container(border=True, key="written_on", gap="small"):
        for heading, ids in memory_cache_words.versions(steps):
            st.markdown(f"**{heading}**")
            st.markdown(display.markdown(model.text_of(ids)) or f":gray[{memory_cache_words.NOTHING_TO_SEE}]")
        ending = memory_cache_words.ending(steps, model.end_id)
        if ending:
            st.markdown(f":small[:gray[{ending}]]")

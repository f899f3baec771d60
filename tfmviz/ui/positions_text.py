"""Positions at work: the loaded model's own, every scheme on the visitor's text, and texts longer than trained."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from tfmviz.charts import mask_panels, position_curves
from tfmviz.charts.mask_panels import MaskPanel
from tfmviz.charts.position_curves import Line
from tfmviz.errors import EmptyText
from tfmviz.text import display
from tfmviz.ui import cache, loading, pickers, positions_jobs, positions_own, positions_words
from tfmviz.ui.address import Notes
from tfmviz.ui.counting import counted
from tfmviz.ui.positions_schemes import chart, number
from tfmviz.ui.requests import TraceRequest
from tfmviz.ui.shelf import Job, Stopped
from tfmviz.ui.training_picture import duration

if TYPE_CHECKING:
    from torch import Tensor

    from tfmviz.analysis.positions import Lengths, SchemeOnText
    from tfmviz.models import Model
    from tfmviz.text import Token

EVERY_S = 1.0
STOPPED = "lengths_stopped"  # the seed whose models this visitor stopped


def this_model(request: TraceRequest, line: loading.Line) -> None:
    """The learned table of the loaded model: how alike its positions are; or what it has in place of one."""
    model = loading.wait(cache.model_job(request.model), line)
    table = loading.wait(positions_jobs.table_job(request.model, model), line)
    name = display.markdown(model.name)
    if table is None:
        _in_scores(request, model, line)
        return
    line.say(
        f"**{name}** learned one vector for each of {len(table):,} positions. Here is how alike they are, the mean "
        "vector taken off."
    )
    _table(table)


def _in_scores(request: TraceRequest, model: Model, line: loading.Line) -> None:
    """A model that adds nothing to its token vectors: it turns queries and keys, or adds to scores."""
    turned, added = loading.wait(positions_jobs.own_job(request.model, model), line)
    line.say(
        f"**{display.markdown(model.name)}** has no table of positions: nothing is added to its token vectors. "
        f"{positions_words.in_scores(turned, added)}"
    )
    if turned:
        positions_own.rotations(turned)
    elif added:
        positions_own.biases(added)
    else:
        st.markdown(positions_words.no_table(_scheme(model)))


def _scheme(model: Model) -> str | None:
    from tfmviz.analysis.positions_learned import scheme

    return scheme(model)


def _table(table: Tensor) -> None:
    from tfmviz.analysis.positions import similarity

    notes, notices = Notes(), st.container()
    at = number("Position compared", "compared", 0, len(table) - 1, min(20, len(table) - 1), notes)
    notes.say(notices)
    alike = similarity(table)
    dark = pickers.is_dark()
    left, right = st.columns(2, gap="medium")
    with left:
        figure = position_curves.heat(
            alike.numpy(), x_title="position", y_title="position", title="cosine of every two positions", dark=dark
        )
        chart(figure, "alike", "Cosine between every two learned positions")
    with right:
        curve = Line(name="cosine", x=np.arange(len(table), dtype=np.float32), y=alike[at].numpy())
        title = f"cosine of position {at:,} to all others"
        figure = position_curves.lines([curve], x_title="position", title=title, mark=at, dark=dark)
        chart(figure, "alike_row", title)
    st.markdown(positions_words.learned(alike))


def order(request: TraceRequest, line: loading.Line) -> None:
    """The same text in six small models that differ in the scheme alone, and what shuffling it does."""
    model = loading.wait(cache.model_job(request.model), line)
    tokens = model.tokenize(request.text, request.pair)
    if all(token.is_special for token in tokens):
        raise EmptyText(f"There is nothing to look at: {model.name} finds no token in the text. Type some words.")
    found = loading.wait(positions_jobs.order_job(request, model), line)
    shown = len(found[0].weights)
    which = f"Your text's {counted(shown, 'token')}"
    if shown < len(tokens):
        which = f"The first {shown:,} of your text's {len(tokens):,} tokens"
    line.say(
        f"{which} in six **small untrained encoders** that differ in how order gets in, and "
        "in nothing else: where does a token look, and does shuffling the text matter?"
    )
    for some in (found[:3], found[3:]):
        for one, place in zip(some, st.columns(3, gap="medium"), strict=True):
            with place:
                _panel(one, tokens[:shown])
    st.markdown(positions_words.order(found))


def _panel(one: SchemeOnText, tokens: Sequence[Token]) -> None:
    weights = one.weights.numpy()
    everywhere = np.ones(weights.shape, dtype=bool)
    st.markdown(positions_words.panel(one))
    panel = MaskPanel(visible=everywhere, weights=weights, own_visible=everywhere, own_weights=weights)
    figure = mask_panels.figure(panel, tokens, tokens, "weights", dark=pickers.is_dark())
    st.plotly_chart(
        figure,
        key=f"scheme_{one.scheme}",
        theme=None,
        config=mask_panels.CONFIG,
        alt=f"Mean weights of the last layer with {one.scheme} positions: queries down, keys across",
    )


def longer(request: TraceRequest, line: loading.Line) -> None:
    """Accuracy at lengths beyond the trained one, of one small model a scheme, trained here."""
    from tfmviz.analysis.positions import SCHEMES, TRAINED_LENGTH

    del request  # the task has random texts of its own
    notes, notices = Notes(), st.container()
    strip = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    with strip:
        seed = number("Seed", "lengths_seed", 0, 2, 0, notes)
    notes.say(notices)
    line.say(
        f"Six small decoders, trained **here** on texts of {TRAINED_LENGTH} tokens to say which token stood three "
        "places back, then asked on longer texts."
    )
    stopped = st.session_state.get(STOPPED) == seed
    jobs: dict[str, Job[Lengths]] = {
        scheme: positions_jobs.lengths_job(scheme, seed)
        for scheme in SCHEMES
        if not stopped or positions_jobs.is_measured(scheme, seed)
    }
    live = any(not job.future.done() for job in jobs.values())
    with strip:
        if live:
            st.button("Stop", key="lengths_stop", icon=":material/stop:", on_click=partial(_stop, seed, jobs))
        elif stopped:
            st.button("Go on", key="lengths_go_on", icon=":material/play_arrow:", on_click=_go_on)

    def part() -> None:
        if live and all(job.future.done() for job in jobs.values()):
            st.rerun()
        _lengths(jobs)

    st.fragment(part, run_every=EVERY_S if live else None, key="lengths")()


def _stop(seed: int, jobs: dict[str, Job[Lengths]]) -> None:
    """End what is being trained; what was measured stays. Another visitor's page asks for the rest by itself."""
    st.session_state[STOPPED] = seed
    for job in jobs.values():
        job.stop()


def _go_on() -> None:
    st.session_state.pop(STOPPED, None)


def _lengths(jobs: dict[str, Job[Lengths]]) -> None:
    """The curves of those that are done."""
    from tfmviz.analysis.positions import SCHEMES, TRAINED_LENGTH

    done = {
        scheme: job.future.result()
        for scheme, job in jobs.items()
        if job.future.done() and not isinstance(job.future.exception(), Stopped)
    }
    running = next((job for job in jobs.values() if not job.future.done() and job.step.done is not None), None)
    share = (len(done) + ((running.step.done or 0.0) if running else 0.0)) / len(SCHEMES)
    text = _how_far(len(jobs) - len(done), running)
    if len(jobs) < len(SCHEMES):
        text = f"Stopped: {len(done)} of {len(SCHEMES)} models are trained"
    st.progress(min(share, 1.0), text=text)
    if not done:
        if jobs:
            st.skeleton(height=380)
        return
    figure = position_curves.lines(
        [
            Line(
                name=scheme,
                x=np.array(list(one.accuracy), np.float32),
                y=np.array(list(one.accuracy.values()), np.float32),
                dots=True,
            )
            for scheme, one in done.items()
        ],
        x_title="tokens in the text (log axis); dashed: trained length",
        title="share of tokens guessed at the end of the text",
        log_x=True,
        mark=TRAINED_LENGTH,
        dark=pickers.is_dark(),
    )
    chart(figure, "longer_chart", "Accuracy against length of six small models, one a scheme")
    st.markdown(positions_words.longer(done))


def _how_far(n_left: int, running: Job[Lengths] | None) -> str:
    """What is being trained, and how long all that is left will take: as long for each as for the one under way."""
    if not n_left:
        return "Computed here, and kept for whoever asks next"
    if running is None:
        return "Waiting for its turn"
    step = running.step
    if step.seconds_left is None or step.done is None:
        return step.what
    each = step.seconds_left / max(1 - step.done, 1e-3)
    return f"{step.what}, {duration(step.seconds_left + (n_left - 1) * each)} left for all"

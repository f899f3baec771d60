"""What the training at hand shows: how far it is, its curves, and the attention of every head at one of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.analysis.head_roles import head_role, role_of_weights
from tfmviz.analysis.head_view import HeadView, head_view
from tfmviz.charts import curves, curves_layout, head_map
from tfmviz.components.atlas import atlas
from tfmviz.text import display
from tfmviz.ui import cache, errors, pickers, reading, training_session
from tfmviz.ui.address import Notes
from tfmviz.ui.requests import HeadChoice

if TYPE_CHECKING:
    from tfmviz.trace import AttentionStack
    from tfmviz.training import Progress, Trainer
    from tfmviz.ui.cache import Traced
    from tfmviz.ui.training_inputs import Watched

_TRACED = "training_traced"
# Heads whose role is worked out for the atlas; more would take longer than a look a second leaves.
MOST_ROLES = 32


def draw(trainer: Trainer, watched: Watched) -> None:
    """Curves beside the attention of all heads, and one head closely. Called again and again while it trains."""
    trainer.heartbeat()
    progress = trainer.progress
    _bar(trainer, progress)
    left, right = st.columns([9, 11], gap="medium")
    with right:
        step = _step(trainer, progress)
    with left:
        _curves(trainer, step)
        words = st.container()
    with right:
        try:
            traced = _traced(trainer, step, watched)
        except Exception as error:  # a text that the model cannot read: the training goes on beside the sentence
            errors.show(error)
            return
        view, choice = _heads(traced)
    with words:
        _words(trainer, step, view, choice)


def _bar(trainer: Trainer, progress: Progress) -> None:
    """How far it is, in one line that is always there."""
    st.progress(progress.fraction, text=state_sentence(progress))


def state_sentence(progress: Progress) -> str:
    """How far a training is, as Markdown."""
    done = f"step {progress.step:,} of {progress.n_steps:,}"
    match progress.state:
        case "queued":
            return f"In the queue: place {progress.place}. It begins by itself when a training before it ends."
        case "running" if progress.step == progress.n_steps:
            return f"Trained all {progress.n_steps:,} steps. Now it is tested on texts that it never saw."
        case "running":
            left = "" if progress.seconds_left is None else f", {duration(progress.seconds_left)} left"
            return f"Training: {done}{left}"
        case "finished":
            return f"Finished: {done}, {duration(progress.seconds)} of training"
        case "failed":
            return f"Stopped at {done}. {display.markdown(progress.error or '')}"
        case "abandoned":
            return f"Paused at {done}, because nobody was looking. Resume goes on from there."
        case "stopped" if progress.step:
            return f"Paused at {done}. Resume goes on exactly from there."
        case _:
            return f"Ready: {progress.n_steps:,} steps. Below is the model before it learns."


def duration(seconds: float) -> str:
    """Seconds in words: ``12 s``, ``3 min 20 s``."""
    whole = max(1, round(seconds))
    return f"about {whole} s" if whole < 90 else f"about {whole // 60} min {whole % 60} s"


def _step(trainer: Trainer, progress: Progress) -> int:
    """Which step to look at: the latest one, or where the visitor scrubbed to. Snaps to the nearest kept step.

    A slider that moves by itself cannot be told from one that a visitor moves: a slow browser sends back the place that
    it has not heard to be old. So the slider that follows a training under way is another one, which only shows.
    """
    steps = trainer.snapshot_steps
    follow = st.session_state.setdefault("follow", True)
    if follow or "step_shown" not in st.session_state:
        st.session_state["step_shown"] = steps[-1]
    wanted = st.session_state["step_shown"] = min(st.session_state["step_shown"], trainer.settings.n_steps)
    label, last = "Step that is shown", trainer.settings.n_steps
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if follow and training_session.phase(progress) == "under way":
            st.session_state["step_followed"] = wanted
            help_ = "It moves by itself. Switch Follow off to scrub back in time."
            st.slider(label, 0, last, key="step_followed", disabled=True, help=help_)
        else:
            wanted = st.slider(label, 0, last, key="step_shown", on_change=_let_go, help="Scrub back in time.")
        st.toggle("Follow", key="follow", help="Show the latest step as the training goes on.")
    return min(steps, key=lambda kept: (abs(kept - wanted), kept))


def _let_go() -> None:
    st.session_state["follow"] = False


def _curves(trainer: Trainer, step: int) -> None:
    history = trainer.history
    figure = curves.training(
        [report.loss for report in history],
        [report.accuracy for report in history],
        n_steps=trainer.settings.n_steps,
        shown=step,
        dark=pickers.is_dark(),
    )
    st.plotly_chart(
        figure,
        key="curves",
        theme=None,
        config=curves_layout.config("tfmviz training"),
        alt="Loss and accuracy of every training step so far",
    )


def _traced(trainer: Trainer, step: int, watched: Watched) -> Traced:
    """The watched text read by the model as it was after a step; kept until another one is asked for."""
    which = (training_session.run_number(), step, watched)
    if (last := st.session_state.get(_TRACED)) is not None and last[0] == which:
        return last[1]
    from tfmviz.models.scratch_load import byte_model

    model = byte_model(trainer.model_at(step), name=f"{trainer.settings.task.name} at step {step}")
    traced = cache.overviewed(model.trace(watched.text, target=watched.target))
    st.session_state[_TRACED] = (which, traced)
    return traced


def _heads(traced: Traced) -> tuple[HeadView, HeadChoice]:
    notes, notices = Notes(), st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = pickers.stack_name(traced.trace.stacks, notes)
        stack = traced.trace[name]
        choice = pickers.head_choice(stack, "", notes)
    notes.say(notices)
    reachable = traced.reachable[name]
    atlas(
        traced.overviews[name],
        n_tokens=(len(stack.query_tokens), len(stack.key_tokens)),
        selected=(-1 if choice.layer is None else choice.layer, -1 if choice.head is None else choice.head),
        roles=_roles(stack),
        statuses=[stack.status(layer) for layer in range(stack.n_layers)],
        visible=reachable,
        max_height=300,
        key="atlas",
        on_change=pickers.select_head,
    )
    view = head_view(stack, choice.layer, choice.head)
    figure = head_map.figure(
        view.weights, view.visible, view.query_tokens, view.key_tokens, title=choice.name, dark=pickers.is_dark()
    )
    st.plotly_chart(
        figure,
        key="head_map",
        theme=None,
        config=head_map.config(f"tfmviz {choice.name}"),
        alt=f"Attention of {choice.name}: queries down, keys across",
    )
    return view, choice


def _roles(stack: AttentionStack) -> list[list[str]]:
    if stack.n_layers * stack.n_heads > MOST_ROLES:
        return []
    return [
        [reading.short_role(head_role(stack, layer, head)) for head in range(stack.n_heads)]
        for layer in range(stack.n_layers)
    ]


def _words(trainer: Trainer, step: int, view: HeadView, choice: HeadChoice) -> None:
    import torch

    from tfmviz.training import PRESETS

    role = role_of_weights(torch.from_numpy(view.weights), view.query_tokens, view.key_tokens)
    at = f"Step {step:,}, before anything is learnt." if step == 0 else _at(trainer, step)
    seen = f"**What you see** {at} {reading.head_sentence(choice, role)}"
    st.markdown(
        f"{seen}\n\n**Try** {invitation(trainer)}\n\n:small[:gray[{PRESETS[trainer.settings.task.name].shows}]]"
    )


def _at(trainer: Trainer, step: int) -> str:
    reports = trainer.history
    if step > len(reports):  # the weights of a step are kept a moment before its numbers
        return f"Step {step:,}."
    report = reports[step - 1]
    return f"Step {step:,}: loss {report.loss:.2g}, {100 * report.accuracy:.0f} % of tokens guessed."


def invitation(trainer: Trainer) -> str:
    """One thing to do, depending on how far the training is."""
    match training_session.phase(trainer.progress):
        case "new":
            return "Press Start and watch the squares: which head finds its pattern first?"
        case "under way":
            return "Click a square to see that head closely while it forms."
        case "paused":
            return "Scrub back through the steps, or resume."
        case _:
            return "Scrub to the step at which the loss falls, and look at each head just before and after."

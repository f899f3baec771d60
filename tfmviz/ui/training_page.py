"""The Training page: its places, its buttons, and the part that is drawn every second while a training runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.text import display
from tfmviz.ui import errors, loading, training_inputs, training_models, training_picture, training_session
from tfmviz.ui.address import Notes
from tfmviz.ui.shelf import Job, Shelf, Step

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from tfmviz.training import Example, Settings, Trainer
    from tfmviz.ui.training_inputs import Watched

EVERY_S = 1.0
THEORY = Path(__file__).resolve().parents[2] / "assets" / "texts" / "training.md"
EXPLORE = Path(__file__).resolve().parents[2] / "pages" / "explore.py"

_parts: Shelf[str, bool] = Shelf(budget=1, most=1, weigh=lambda _: 0, workers=1, name="training-import")


def prepare() -> loading.Line:
    """Claim the page's first line; import PyTorch behind the painted page where that has not happened yet."""
    line = loading.Line(st.container(key="line"))
    loading.wait(_parts.ask("training", _import), line)
    return line


def _import(job: Job[bool]) -> bool:
    job.report(Step(what="Starting PyTorch"))
    import tfmviz.training  # noqa: F401 - slow the first time

    return True


def draw(line: loading.Line) -> None:
    """The whole page under the first line."""
    busy = training_session.is_under_way()
    notes, notices = Notes(), st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        task = training_inputs.task_choice(notes, disabled=busy)
        with st.popover("Model and optimizer", icon=":material/tune:"):
            if busy:
                st.caption("Stop the training to change its settings.")
            settings = _settings(task, notes, notices, busy=busy)
        buttons = st.container(horizontal=True, width="content", gap="small")
    notes.say(notices)
    if settings is None:
        return
    trainer = training_session.ready(settings)
    line.say(_line(trainer.settings))
    with buttons:
        _buttons(trainer, settings)
    with st.container(key="watched"):
        watched = training_inputs.watched(trainer.settings.task.name)
    _live(trainer, watched)
    _models(trainer.settings.task.name, watched)


def _settings(task: str, notes: Notes, notices: DeltaGenerator, *, busy: bool) -> Settings | None:
    try:
        return training_inputs.settings(task, notes, disabled=busy)
    except Exception as error:  # numbers that describe no model
        with notices:  # the popover around the controls is closed, and would hide it
            errors.show(error)
        return None


def _line(settings: Settings) -> str:
    """What is trained, in one line."""
    config = settings.config()
    article, layers = "A", f"{config.n_layers} layer{'s' if config.n_layers != 1 else ''}"
    if config.is_encoder_decoder:
        article, layers = "An", f"{config.n_layers} + {config.n_decoder_layers} layers (encoder + decoder)"
    return (
        f"{article} **{display.markdown(config.architecture)}** of {layers}, {config.n_heads} heads and width "
        f"{config.d_model}, {config.block}, learns **{settings.task.name}** from random weights, seed {settings.seed}. "
        "Each small square is one head."
    )


def _buttons(trainer: Trainer, settings: Settings) -> None:
    phase = training_session.phase(trainer.progress)
    changed = trainer.settings != settings
    play, again = ":material/play_arrow:", ":material/restart_alt:"
    if phase == "under way":
        st.button("Stop", key="stop", icon=":material/pause:", on_click=training_session.stop)
        return
    if changed or phase == "new":
        label = "Start anew" if changed else "Start"
        st.button(label, key="start", icon=play, on_click=training_session.start, args=(settings,))
    elif phase == "paused":
        st.button("Resume", key="resume", icon=play, on_click=training_session.start, args=(settings,))
    if phase != "new":
        st.button("Reset", key="reset", icon=again, on_click=training_session.reset)
        _keep_button(trainer)


def _keep_button(trainer: Trainer) -> None:
    """Put the model of the step that is shown on the list; the finished one is there already."""
    if trainer.progress.state == "failed":
        return

    def keep() -> None:
        steps = trainer.snapshot_steps
        wanted = st.session_state.get("step_shown", steps[-1])
        training_session.keep(trainer, min(steps, key=lambda kept: (abs(kept - wanted), kept)))

    st.button("Keep this step", key="keep", icon=":material/add:", on_click=keep, help="Put it on your list of models.")


def _live(trainer: Trainer, watched: Watched) -> None:
    """The part that is drawn again by itself while something happens."""
    under_way = training_session.is_under_way()

    def part() -> None:
        if under_way and not training_session.is_under_way():
            st.rerun()  # the buttons and the list of models stand outside
        training_picture.draw(trainer, watched)

    if trainer.progress.state == "finished" and training_session.keep_finished(trainer):
        st.rerun()  # the list of models in the sidebar was drawn before
    st.fragment(part, run_every=EVERY_S if under_way else None, key="training")()


def _models(task: str, watched: Watched) -> None:
    """The models of this session, and the way to look at one of them in Explore, on the text that was watched."""
    names = training_models.names()
    if not names:
        return
    st.markdown("**Your models.** They are on the list in the sidebar until you close this page; nobody else has them.")
    with st.container(horizontal=True):
        for name in names:
            seen = watched if task == _task_of(name) else _example(name)
            training_models.offer(name, seen.text, seen.target)
            st.page_link(
                EXPLORE,
                label=f"{display.markdown(name)} in Explore",
                icon=":material/arrow_forward:",
                query_params={training_models.OPEN: name},
            )


def _task_of(name: str) -> str:
    """What a model of this session learnt; its name says so."""
    return name.removeprefix(training_models.PREFIX).split("-")[0]


def _example(name: str) -> Example:
    from tfmviz.training import TASKS

    return TASKS[_task_of(name)].example


def theory() -> None:
    """What happens in a training step, and why heads form, for those who open it."""
    with st.expander("What a training step does, and how induction heads form", icon=":material/school:"):
        st.markdown(THEORY.read_text(encoding="utf-8"))

"""The training that a visitor holds: made when they open the page, gone with their session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import streamlit as st

from tfmviz.ui import training_models
from tfmviz.ui.training_models import TrainedModel

if TYPE_CHECKING:
    from tfmviz.training import Progress, Settings, Trainer

Phase = Literal["new", "under way", "paused", "over"]
_TRAINER = "trainer"
_RUN = "training_run"
_KEPT = "trainings_kept"
# A stop takes effect after the step under way; waiting that long spares the page one more drawing.
STOP_S = 0.5


def held() -> Trainer | None:
    """The trainer of this session, if there is one."""
    return st.session_state.get(_TRAINER)


def phase(progress: Progress) -> Phase:
    """What one can do with a training now."""
    match progress.state:
        case "queued" | "running":
            return "under way"
        case "finished" | "failed":
            return "over"
        case _:
            return "paused" if progress.step else "new"


def is_under_way() -> bool:
    """Whether this session's training runs or waits for its turn."""
    trainer = held()
    return trainer is not None and phase(trainer.progress) == "under way"


def ready(settings: Settings) -> Trainer:
    """The trainer to show: a new one for these settings, unless the one at hand has something to show already."""
    from tfmviz.training import Trainer

    trainer = held()
    if trainer is None or (trainer.settings != settings and phase(trainer.progress) == "new"):
        if trainer is not None:
            trainer.close()
        trainer = st.session_state[_TRAINER] = Trainer(settings)
        _another_run()
    return trainer


def run_number() -> int:
    """Tells trainings of this session apart: another number after every reset."""
    return st.session_state.get(_RUN, 0)


def start(settings: Settings) -> None:
    """Begin with these settings, or go on if they are those of the training at hand."""
    trainer = ready(settings)
    if trainer.settings != settings:
        trainer.reset(settings)
        _another_run()
    st.session_state["follow"] = True
    trainer.start()


def stop() -> None:
    """Stop after the step under way."""
    if (trainer := held()) is not None:
        trainer.stop()
        trainer.wait(STOP_S)


def reset() -> None:
    """Throw away what was learnt."""
    if (trainer := held()) is not None:
        trainer.close()
        del st.session_state[_TRAINER]
        st.session_state["follow"] = True


def keep_finished(trainer: Trainer) -> bool:
    """Put a finished model on the list; whether it was not there already."""
    last = trainer.progress.n_steps
    if (run_number(), last) in st.session_state.get(_KEPT, {}):
        return False
    keep(trainer, last)
    return True


def keep(trainer: Trainer, step: int) -> TrainedModel:
    """Put the model of a step on this session's list of models, once."""
    from tfmviz.models.scratch_load import byte_model

    kept: dict[tuple[int, int], str] = st.session_state.setdefault(_KEPT, {})
    which = (run_number(), step)
    if which in kept and (known := training_models.listed(kept[which])) is not None:
        return known
    task = trainer.settings.task.name
    name = f"{training_models.PREFIX}{task}"
    taken = training_models.names()
    if name in taken:
        name = next(f"{name}-{n}" for n in range(2, len(taken) + 3) if f"{name}-{n}" not in taken)
    title = f"Trained here: {task}, {step:,} steps"
    trained = TrainedModel(model=byte_model(trainer.model_at(step), name=name), title=title)
    training_models.add(trained)
    kept[which] = trained.token
    return trained


def _another_run() -> None:
    st.session_state[_RUN] = run_number() + 1

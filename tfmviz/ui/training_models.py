"""Models that a visitor trained here: theirs alone, for as long as their session lasts.

The session holds the models. The process only knows them weakly and by a token that nobody can guess, so that worker
threads and caches can be asked for one without ever mixing up two visitors.
"""

from __future__ import annotations

import copy
import secrets
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.errors import ModelNotFound
from tfmviz.ui.requests import ModelRequest
from tfmviz.ui.shelf import Job

if TYPE_CHECKING:
    from tfmviz.models import Model, ScratchModel

PREFIX = "trained:"
MOST = 8
OPEN = "open"
_SESSION = "trained_models"
_OFFERED = "trained_models_offered"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, weakref_slot=True)
class TrainedModel:
    """A model of this session.

    Attributes:
        model: the model itself.
        title: what it is, in words.
        token: names it in the process.
    """

    model: ScratchModel
    title: str
    token: str = field(default_factory=lambda: secrets.token_hex(8))


_known: weakref.WeakValueDictionary[str, TrainedModel] = weakref.WeakValueDictionary()


def add(trained: TrainedModel) -> None:
    """Put a model on this session's list; another of the same name goes, and the oldest one where there are many."""
    models: dict[str, TrainedModel] = st.session_state.setdefault(_SESSION, {})
    models.pop(trained.model.name, None)
    models[trained.model.name] = trained
    _known[trained.token] = trained
    while len(models) > MOST:
        del models[next(iter(models))]


def names() -> list[str]:
    """Names of this session's models, oldest first."""
    return list(st.session_state.get(_SESSION, {}))


def find(name: str) -> TrainedModel | None:
    """The model that this session has under a name."""
    models: dict[str, TrainedModel] = st.session_state.get(_SESSION, {})
    return models.get(name)


def offer(name: str, text: str, target: str | None) -> None:
    """What a link within this session that asks to open a model should show it on."""
    st.session_state.setdefault(_OFFERED, {})[name] = {"model": name, "text": text, "target": target or ""}


def take_offer() -> None:
    """Where the address asks to open a model of this session, fill it in. Call it before the sidebar is drawn.

    Names and texts in the address itself would yield to what the session has chosen before.
    """
    asked = st.query_params.get(OPEN)
    if asked is None:
        return
    del st.query_params[OPEN]
    if find(asked) is not None:
        st.session_state.update(st.session_state.get(_OFFERED, {}).get(asked, {}))


def listed(token: str) -> TrainedModel | None:
    """The model of this session's list that has a token; a name may be given again once its model has gone."""
    models: dict[str, TrainedModel] = st.session_state.get(_SESSION, {})
    return next((trained for trained in models.values() if trained.token == token), None)


def kind_of(name: str) -> str | None:
    """Encoder, decoder or both; None where the session has no such model."""
    mine = find(name)
    return mine.model.kind if mine else None


def request(name: str, device: str) -> ModelRequest:
    """A request for a model by name: for this session's own where it has one of that name."""
    mine = find(name)
    return ModelRequest(name=name, device=device, private=mine.token if mine else "")


def is_ours(request: ModelRequest) -> bool:
    """Whether a request can only mean a model that somebody trained here."""
    return bool(request.private) or request.name.startswith(PREFIX)


def job(request: ModelRequest) -> Job[Model]:
    """The model as a job that has ended, in error where the session it belonged to is gone."""
    done: Job[Model] = Job()
    trained = _known.get(request.private)
    if trained is None:
        why = "models trained in this browser session: none of this name; they end with the session that trained them"
        done.future.set_exception(ModelNotFound(request.name, [why]))
        return done
    try:
        done.future.set_result(_on(trained.model, request.device))
    except Exception as error:  # a device that is not there
        done.future.set_exception(error)
    return done


def _on(model: ScratchModel, device: str) -> ScratchModel:
    """The model where it is asked for; it was trained on the CPU, and "auto" leaves something this small there."""
    if device in ("auto", "cpu"):
        return model
    from tfmviz.models.device import resolve_device
    from tfmviz.models.scratch_load import byte_model

    return byte_model(copy.deepcopy(model.module).to(resolve_device(device)), name=model.name)

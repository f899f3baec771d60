"""The card of a training: everything that one needs to make the model again, and how good it is."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version

from tfmviz.models.scratch_checkpoint import Card
from tfmviz.nn import AnyTransformer
from tfmviz.training.settings import Settings

LIBRARIES = ("torch", "numpy", "safetensors")


def card_of(
    name: str,
    model: AnyTransformer,
    settings: Settings,
    *,
    steps: int,
    seconds: float,
    measures: Mapping[str, float],
    n_measured: int,
) -> Card:
    """A card for a model trained with these settings; the arguments are the card's fields."""
    return Card(
        name=name,
        task=settings.task.name,
        task_options=settings.task.options(),
        config=model.config.to_dict(),
        settings=settings.to_dict(),
        seed=settings.seed,
        steps=steps,
        measures={key: round(float(value), 6) for key, value in measures.items()},
        n_measured=n_measured,
        seconds=round(seconds, 1),
        versions={"python": platform.python_version(), **{library: version(library) for library in LIBRARIES}},
        n_parameters=sum(parameter.numel() for parameter in model.parameters()),
    )

"""Where models come from and how they are run.

The catalogue, the places where models are looked for and the errors need no torch; the rest is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tfmviz.models.catalog import CatalogEntry, Kind, catalog
from tfmviz.models.load import load_model
from tfmviz.models.progress import Progress
from tfmviz.models.sources import is_here, offered

if TYPE_CHECKING:
    from tfmviz.models.device import devices
    from tfmviz.models.huggingface import HuggingFaceModel
    from tfmviz.models.model import Model
    from tfmviz.models.scratch import ScratchModel

_HOMES = {
    "HuggingFaceModel": "tfmviz.models.huggingface",
    "Model": "tfmviz.models.model",
    "ScratchModel": "tfmviz.models.scratch",
    "devices": "tfmviz.models.device",
}

__all__ = [
    "CatalogEntry",
    "HuggingFaceModel",
    "Kind",
    "Model",
    "Progress",
    "ScratchModel",
    "catalog",
    "devices",
    "is_here",
    "load_model",
    "offered",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tfmviz.models' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

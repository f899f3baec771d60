"""See where every head of a transformer looks.

    import tfmviz
    trace = tfmviz.load_model("minilm").trace("The cat sat.")
    trace["self"].weights(layer=2, head=5)

The names below are imported on first use: torch and transformers take seconds to import, and the app paints its
first page before it needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tfmviz.errors import TfmvizError

if TYPE_CHECKING:
    from tfmviz.models import Model, load_model
    from tfmviz.text import Token
    from tfmviz.trace import AttentionStack, Trace

_HOMES = {
    "load_model": "tfmviz.models",
    "Model": "tfmviz.models",
    "Trace": "tfmviz.trace",
    "AttentionStack": "tfmviz.trace",
    "Token": "tfmviz.text",
}

__all__ = ["AttentionStack", "Model", "TfmvizError", "Token", "Trace", "load_model"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tfmviz' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

"""Real checkpoints for the transformer from scratch: one file a family of formats."""

from __future__ import annotations

from tfmviz.errors import UnsupportedModel
from tfmviz.models.adapters import bart, bert, gpt2, llama, t5
from tfmviz.models.adapters.family import Family, Settings, State
from tfmviz.nn import AnyTransformer

FAMILIES: tuple[Family, ...] = (bert.FAMILY, llama.FAMILY, gpt2.FAMILY, t5.FAMILY, bart.FAMILY)

__all__ = ["FAMILIES", "Family", "family_of", "from_checkpoint"]


def family_of(settings: Settings) -> Family:
    """The family of a config.json.

    Raises:
        UnsupportedModel: if there is no adapter for it; the message lists those there are.
    """
    kind = settings.get("model_type")
    for family in FAMILIES:
        if kind in family.model_types:
            return family
    known = ", ".join(name for family in FAMILIES for name in family.model_types)
    raise UnsupportedModel(f"model_type={kind!r} has no adapter to the from-scratch transformer. There are: {known}.")


def from_checkpoint(settings: Settings, state: State) -> AnyTransformer:
    """Our transformer with the weights of a checkpoint.

    Args:
        settings: its config.json.
        state: its tensors by name.

    Raises:
        UnsupportedModel: if no adapter computes what it needs.
        CheckpointError: if a tensor is missing, has no place, has another shape, or is not finite.
    """
    return family_of(settings).load(settings, state)

"""The table of learned positions of a loaded model, where it has one."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from tfmviz.models import HuggingFaceModel, Model, ScratchModel

_TABLES = ("position_embeddings.weight", "wpe.weight", "embed_positions.weight")


def learned(model: Model) -> Float[Tensor, "n d_model"] | None:
    """The learned position vectors of a loaded model, one row a position.

    Returns:
        float32 on the CPU; None where order gets in by another way, such as rotation or a bias.
    """
    if isinstance(model, ScratchModel):
        return _own(model)
    table = model.weight(_TABLES) if isinstance(model, HuggingFaceModel) else None
    return None if table is None else _rows(table, model)


def _own(model: ScratchModel) -> Float[Tensor, "n d_model"] | None:
    config = model.module.config
    if config.position != "learned":
        return None
    embedding = model.module.source_embedding if config.is_encoder_decoder else model.module.embedding
    table: Tensor = embedding.position.table.weight
    return table.detach()[config.position_offset :].float().cpu()


def _rows(table: Float[Tensor, "rows d_model"], model: Model) -> Float[Tensor, "n d_model"]:
    """Some families leave the first rows to padding: the last ``max_tokens`` rows are the positions."""
    return table if model.max_tokens is None or len(table) <= model.max_tokens else table[-model.max_tokens :]


def scheme(model: Model) -> str | None:
    """How order gets into one of our own models, in its config's word; None for a pretrained one."""
    return model.module.config.position if isinstance(model, ScratchModel) else None


__all__ = ["learned", "scheme"]

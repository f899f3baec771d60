"""The table of learned positions of a loaded model, where it has one."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from tfmviz.models import Model, ScratchModel

_TABLES = ("position_embeddings.weight", "wpe.weight", "embed_positions.weight")


def learned(model: Model) -> Float[Tensor, "n d_model"] | None:
    """The learned position vectors, one row a position.

    Args:
        model: one of ours is asked for its table; of a pretrained one the weights' file is read again, the table alone.

    Returns:
        float32 on the CPU; None where order gets in by another way, such as rotation or a bias.

    Raises:
        TfmvizError: if the weights of a pretrained model are no longer where they were.
    """
    if isinstance(model, ScratchModel):
        return _own(model)
    from safetensors import safe_open

    from tfmviz.models.checkpoint import inspect
    from tfmviz.models.sources import locate

    found = locate(model.name, allow_local=True, allow_download=False)
    if found.path.suffix.lower() == ".gguf":
        return None  # the models that come so are Llama's kin, which turn their queries and keys
    checkpoint = inspect(found.path)
    name = next((name for name in sorted(checkpoint.names) if name.endswith(_TABLES)), None)
    if name is None:
        return None
    for path in checkpoint.weights:
        with safe_open(path, framework="pt") as file:
            if name in file.keys():  # noqa: SIM118 - a file, not a dict
                table = file.get_tensor(name).float()
                return _rows(table, model)
    return None


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


def rotary_settings(model: Model) -> tuple[int, float] | None:
    """Width of the turned part of a head, and the base, of one of our own rotary models."""
    if not isinstance(model, ScratchModel) or model.module.config.position != "rotary":
        return None
    config = model.module.config
    return config.d_rotary, config.position_base


__all__ = ["learned", "rotary_settings", "scheme"]

"""The sizes of a model that has not been loaded: from its config, its parameters counted without any memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tfmviz.analysis.memory_models import ModelShape
from tfmviz.models.catalog import CatalogEntry, find
from tfmviz.models.checkpoint import Checkpoint, inspect
from tfmviz.models.load import SCRATCH
from tfmviz.models.progress import Report
from tfmviz.models.sources import CHECKPOINTS, locate
from tfmviz.nn.config import TransformerConfig


def model_shape(name: str, *, allow_local: bool = True, report: Report | None = None) -> ModelShape:
    """The sizes of a model by name, as `load_model` takes it; its weights are not read.

    Args:
        name: of the catalogue, a folder, a GGUF file, or a Hub id.
        allow_local: False refuses paths.
        report: called with progress where files have to be fetched first.

    Raises:
        ModelNotFound: if there is none.
        CheckpointError: if its files are damaged.
        UnsupportedModel: if it is no text model, or no adapter takes its weights.
    """
    entry = find(name)
    if entry is not None and entry.made:
        return of_config(_made_config(entry), name=name)
    ours = bool(entry and entry.adapts) or name.startswith(SCRATCH)
    source = entry.adapts if entry and entry.adapts else name.removeprefix(SCRATCH)
    found = locate(source, allow_local=allow_local, report=report)
    from tfmviz.models.gguf import unpacked

    folder = unpacked(found.path, report) if found.path.suffix.lower() == ".gguf" else found.path
    checkpoint = inspect(folder)
    return of_config(_adapted_config(checkpoint), name=name) if ours else _pretrained(checkpoint, name)


def of_config(config: TransformerConfig, *, name: str) -> ModelShape:
    """The sizes of a model of the transformer written here."""
    import torch

    from tfmviz.nn import build

    with torch.device("meta"):  # shapes without memory
        module = build(config, seed=None)
    decodes = config.architecture != "encoder"
    decoder_layers = config.n_decoder_layers if config.is_encoder_decoder else config.n_layers
    return ModelShape(
        name=name,
        n_layers=config.n_layers + config.n_decoder_layers,
        n_attention=config.n_layers + 2 * config.n_decoder_layers,
        n_cached=(2 if config.is_encoder_decoder else 1) * decoder_layers if decodes else 0,
        d_model=config.d_model,
        n_heads=config.n_heads,
        n_kv_heads=config.n_kv_heads,
        d_head=config.d_head,
        d_ff=config.d_ff,
        n_parameters=sum(weight.numel() for weight in module.parameters()),
    )


def _made_config(entry: CatalogEntry) -> TransformerConfig:
    from tfmviz.models.scratch_checkpoint import read_card
    from tfmviz.models.scratch_load import UNTRAINED

    if entry.made == "seed":
        return UNTRAINED
    return TransformerConfig.from_dict(dict(read_card(Path(CHECKPOINTS), entry.name).config))


def _adapted_config(checkpoint: Checkpoint) -> TransformerConfig:
    """The config with which our transformer takes the weights of a checkpoint."""
    import torch

    from tfmviz.models.adapters import family_of

    family = family_of(checkpoint.config)
    # adapters look at which tensors there are, and at nothing in them
    nothing = torch.empty(0, device="meta")
    names = {family.rename(name): nothing for name in checkpoint.names}
    for copy, original in family.copies.items():
        if names.pop(copy, None) is not None:
            names[original] = nothing
    return family.config(checkpoint.config, names)


def _pretrained(checkpoint: Checkpoint, name: str) -> ModelShape:
    """The sizes of a model of transformers, which is built without memory to count its parameters."""
    import torch
    from transformers import AutoConfig

    from tfmviz.models.kinds import auto_class, kind_of
    from tfmviz.models.loading import LOADING, explained, quiet_transformers
    from tfmviz.models.shapes import feed_forward_width

    with LOADING, quiet_transformers(), explained(name, "its config"):
        config = AutoConfig.from_pretrained(checkpoint.folder, local_files_only=True, trust_remote_code=False)
        kind = kind_of(config, name)
        with torch.device("meta"):
            module = _with_its_head(auto_class(kind, config).from_config(config), checkpoint)
    text = config.get_text_config()
    n_heads = int(text.num_attention_heads)
    d_head = getattr(text, "head_dim", None) or getattr(text, "d_kv", None) or text.hidden_size // n_heads
    n_layers = int(text.num_hidden_layers)
    n_decoder = _decoder_layers(text, n_layers) if kind == "encoder-decoder" else 0
    return ModelShape(
        name=name,
        n_layers=n_layers + n_decoder,
        n_attention=n_layers + 2 * n_decoder,
        n_cached={"encoder": 0, "decoder": n_layers, "encoder-decoder": 2 * n_decoder}[kind],
        d_model=int(text.hidden_size),
        n_heads=n_heads,
        n_kv_heads=int(getattr(text, "num_key_value_heads", None) or n_heads),
        d_head=int(d_head),
        d_ff=feed_forward_width(text, int(text.hidden_size)),
        n_parameters=sum(weight.numel() for weight in module.parameters()),
    )


def _decoder_layers(config: Any, n_layers: int) -> int:
    found = getattr(config, "num_decoder_layers", None) or getattr(config, "decoder_layers", None)
    return int(found or n_layers)


def _with_its_head(module: Any, checkpoint: Checkpoint) -> Any:
    """The model without its language head where the checkpoint has no weights for one, as it would be loaded."""
    body = module.base_model
    if body is module:
        return module
    in_body = {id(weight) for weight in body.parameters()}
    of_head = [key for key, weight in module.named_parameters() if id(weight) not in in_body]
    return module if not of_head or any(key in checkpoint.names for key in of_head) else body

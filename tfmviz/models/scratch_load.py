"""Where from-scratch models get their weights: a pretrained checkpoint, a seed, or a training done here."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file

from tfmviz.models.adapters import family_of, from_checkpoint
from tfmviz.models.catalog import CatalogEntry
from tfmviz.models.checkpoint import Checkpoint, inspect, read_json
from tfmviz.models.loading import LOADING, explained, open_tokenizer, quiet_transformers
from tfmviz.models.memory import room_for
from tfmviz.models.progress import Meter, Report
from tfmviz.models.scratch import ScratchModel
from tfmviz.models.scratch_checkpoint import read_checkpoint
from tfmviz.models.scratch_text import BYTES, ByteText, PretrainedText
from tfmviz.models.sources import CHECKPOINTS
from tfmviz.nn import AnyTransformer, TransformerConfig, build
from tfmviz.nn.feedforward import FeedForward

UNTRAINED = TransformerConfig(
    architecture="decoder",
    vocab_size=BYTES.size,
    d_model=256,
    n_heads=8,
    n_layers=4,
    max_positions=2048,
    position="rotary",
    block="pre-norm",
    norm="rms",
    feed_forward="gated",
    activation="silu",
)
"""The shape of ``scratch-untrained``: a small decoder of today."""

SEED = 0


def adapted(
    folder: Path, *, name: str, device: torch.device, dtype: torch.dtype, report: Report | None = None
) -> ScratchModel:
    """Our transformer with the weights and the tokenizer of a folder in Hugging Face's layout.

    Raises:
        UnsupportedModel: if no adapter computes what the checkpoint needs.
        CheckpointError: if files are missing or damaged, or a tensor is missing, has no place, has another shape or is
            not finite.
        NotEnoughMemory: if the weights do not fit.
    """
    checkpoint = inspect(folder)
    family_of(checkpoint.config)  # refuse before anything heavy is read
    n_bytes = checkpoint.n_values * torch.float32.itemsize
    room = room_for(n_bytes, torch.device("cpu"), what=f"Loading {name}")
    with room, Meter(report, "loading", n_bytes) as meter:
        with LOADING, quiet_transformers():
            tokenizer = open_tokenizer(folder, name)
        with explained(name, "its weights"):
            state = {key: value for path in checkpoint.weights for key, value in load_file(path).items()}
            meter.set(n_bytes // 2)
            module = from_checkpoint(checkpoint.config, state).to(device=device, dtype=dtype)
            if device.type == "cpu" and dtype == torch.float32:
                for layer in module.modules():
                    if isinstance(layer, FeedForward):
                        layer.store_by_input()
    texts = PretrainedText(tokenizer, module.config, name=name, start_id=_start_id(checkpoint))
    return ScratchModel(module, texts, name=name)


def made_here(entry: CatalogEntry, *, device: torch.device, dtype: torch.dtype) -> ScratchModel:
    """A model of the catalogue whose weights come with this package or from a seed.

    Raises:
        CheckpointError: if its checkpoint is missing or damaged.
    """
    module: AnyTransformer
    if entry.made == "seed":
        module = build(UNTRAINED, seed=SEED).eval().requires_grad_(False)
    else:
        module, _ = read_checkpoint(CHECKPOINTS, entry.name)
    module = module.to(device=device, dtype=dtype)
    return byte_model(module, name=entry.name)


def byte_model(module: AnyTransformer, *, name: str) -> ScratchModel:
    """A transformer over bytes, such as one trained in this session, as a model like any other."""
    return ScratchModel(module.eval(), ByteText(module.config, name=name), name=name)


def _start_id(checkpoint: Checkpoint) -> int | None:
    """The token with which the decoder of an encoder-decoder starts, from either of the files that may say so."""
    path = checkpoint.folder / "generation_config.json"
    written = read_json(path, needed=path.name) if path.is_file() else {}
    for settings in (checkpoint.config, written):
        for name in ("decoder_start_token_id", "bos_token_id"):
            if isinstance(settings.get(name), int):
                return int(settings[name])
    return None

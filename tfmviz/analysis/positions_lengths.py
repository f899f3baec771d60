"""Beyond the trained length: small models, one a scheme, trained here on short texts and asked on longer ones.

The task: say which token stood a fixed number of places back, which nothing but position can tell. Twice that distance
fits into the trained length many times, so a failure on longer texts is the scheme's and not the task's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from tfmviz.analysis.positions_order import SCHEMES
from tfmviz.nn import Transformer, TransformerConfig
from tfmviz.nn.config import Position

TRAINED_LENGTH, BACK = 24, 3
LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128)
ALPHABET, WIDTH, HEADS, LAYERS = 16, 48, 4, 2
STEPS, BATCH, RATE, WARMUP = 400, 32, 3e-3, 40
TEXTS = 64  # random texts for each measured length


@dataclass(frozen=True, kw_only=True, slots=True)
class Lengths:
    """One scheme's small model, as measured.

    Attributes:
        scheme: how order gets in.
        accuracy: share of the last tokens of random texts guessed right, by length; lengths that the model cannot read
            are left out. Guessing evenly gets 1/16.
        loss: at the last training step, in nats.
        n_parameters: of the model.
    """

    scheme: Position
    accuracy: Mapping[int, float]
    loss: float
    n_parameters: int


def config(scheme: Position) -> TransformerConfig:
    """The small decoder; a learned table has rows for the trained length and no more."""
    return TransformerConfig(
        architecture="decoder",
        vocab_size=ALPHABET,
        d_model=WIDTH,
        n_heads=HEADS,
        n_layers=LAYERS,
        max_positions=TRAINED_LENGTH,
        position=scheme,
        embedding_scale=WIDTH**0.5 if scheme == "sinusoidal" else 1.0,
    )


def extrapolation(
    scheme: Position, seed: int = 0, *, n_steps: int = STEPS, report: Callable[[float], None] = lambda _: None
) -> Lengths:
    """Train one small model on texts of 24 tokens and measure it on shorter and longer ones.

    Args:
        scheme: how order gets in.
        seed: of the weights and the texts.
        n_steps: training steps.
        report: told the share that is done, 0 to 1.

    Raises:
        ConfigError: if there is no such scheme.
    """
    model = Transformer(config(scheme), seed=seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    draw = torch.Generator().manual_seed(seed)
    loss = torch.zeros(())
    for step in range(n_steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARMUP)
        tokens = _texts(BATCH, TRAINED_LENGTH, draw)
        loss = F.cross_entropy(model(tokens)[:, BACK:].flatten(0, 1), tokens[:, :-BACK].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        report((step + 1) / n_steps)
    return Lengths(
        scheme=scheme,
        accuracy=_measured(model.eval(), seed),
        loss=float(loss.detach()),
        n_parameters=sum(weight.numel() for weight in model.parameters()),
    )


def _measured(model: Transformer, seed: int) -> dict[int, float]:
    """Accuracy on texts that training did not draw, at the last 5 tokens: they have the whole length behind them."""
    draw, found = torch.Generator().manual_seed(seed + 10**6), {}
    for length in LENGTHS:
        tokens = _texts(TEXTS, length, draw)
        if model.config.position == "learned" and length > model.config.max_positions:
            continue  # there is no row for the last positions
        with torch.inference_mode():
            guessed = model(tokens)[:, -5:].argmax(-1)
        found[length] = float((guessed == tokens[:, length - 5 - BACK : length - BACK]).float().mean())
    return found


def _texts(size: int, length: int, draw: torch.Generator) -> Int[Tensor, "b n"]:
    return torch.randint(ALPHABET, (size, length), generator=draw)


__all__ = ["BACK", "LENGTHS", "SCHEMES", "TRAINED_LENGTH", "Lengths", "config", "extrapolation"]

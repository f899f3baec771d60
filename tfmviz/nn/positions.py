"""Positions that are added to token vectors: sinusoids and learned tables."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfmviz.errors import ConfigError, OutOfRange
from tfmviz.nn.config import TransformerConfig


def sinusoidal(positions: Int[Tensor, "*b n"], d_model: int, base: float = 10_000.0) -> Float[Tensor, "*b n d_model"]:
    """Sines and cosines of wavelengths from 2π to base · 2π, for any width and any position.

    Dimension 2i is sin(p / base^(2i/d)) and dimension 2i+1 its cosine; of an odd width the last sine has no cosine.

    Source: Vaswani et al. 2017, section 3.5.
    """
    even = torch.arange(0, d_model, 2).double()
    # float64, which some devices lack: at position 1,000,000 an angle in float32 is off by 0.06
    angles = positions[..., None].cpu().double() / base ** (even / d_model)
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)
    return pairs.flatten(-2)[..., :d_model].float().to(positions.device)


def positions_of(tokens: Int[Tensor, "b n"], first: int = 0) -> Int[Tensor, " n"]:
    """0, 1, 2, ... for the tokens of a text, or from ``first`` on if a cache holds those before."""
    return torch.arange(first, first + tokens.shape[-1], device=tokens.device)


class AddedPosition(nn.Module):
    """The vector that says where a token stands, added to the token's own; nothing for schemes that act elsewhere."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        if config.position == "learned":
            self.table = nn.Embedding(config.max_positions + config.position_offset, config.d_model)

    def forward(self, x: Float[Tensor, "b n d_model"], positions: Int[Tensor, "*b n"]) -> Float[Tensor, "b n d_model"]:
        """Token vectors with their positions.

        Raises:
            ConfigError: if a learned table has no row for a position.
            OutOfRange: if a position is below 0.
        """
        if self.config.position == "sinusoidal":
            return x + sinusoidal(positions, self.config.d_model, self.config.position_base).to(x.dtype)
        if self.config.position == "learned":
            first, last = map(int, positions.aminmax()) if positions.numel() else (0, -1)  # no tokens fit any table
            if first < 0:
                raise OutOfRange(f"Position {first} was given. Positions begin at 0; padding may stand at 0 as well.")
            if last >= self.config.max_positions:
                raise ConfigError(
                    f"max_positions={self.config.max_positions} learned positions have no row for position {last}. "
                    "Shorten the text, or build the model with more."
                )
            return x + self.table(positions + self.config.position_offset)
        return x

"""Rotary positions: a query and a key are turned by angles that grow with their positions.

Dimensions are taken in pairs and pair i of a token at position p is turned by p · base^(-2i/d). The product of a turned
query and a turned key then depends on the difference of their positions only.

Source: Su et al. 2021 (RoFormer).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfmviz.nn.config import RotaryPairing, TransformerConfig


class Rotation(NamedTuple):
    """Cosine and sine of every token's angles, computed once for all layers of a pass. Shapes [(b,) 1, n, pairs]."""

    cos: Float[Tensor, "*b 1 n pairs"]
    sin: Float[Tensor, "*b 1 n pairs"]


def frequencies(config: TransformerConfig, device: torch.device | None = None) -> Float[Tensor, " pairs"]:
    """Radians that each pair turns from one position to the next, after the scaling for long contexts."""
    pair = torch.arange(0, config.d_rotary, 2, device=device).float()
    base = config.position_base
    if config.rotary_scaling == "ntk":
        # a larger base slows the slow pairs by the whole factor and leaves the fastest as it is
        base *= config.rotary_factor ** (config.d_rotary / max(config.d_rotary - 2, 1))
    plain = 1.0 / base ** (pair / config.d_rotary)
    if config.rotary_scaling == "linear":
        return plain / config.rotary_factor  # Chen et al. 2023: squeeze positions into the trained range
    if config.rotary_scaling == "llama3":
        return _llama3(plain, config)
    return plain


def _llama3(plain: Float[Tensor, " pairs"], config: TransformerConfig) -> Float[Tensor, " pairs"]:
    """Slow only the pairs that turn few times within the trained length (Llama 3.1), with a smooth passage between."""
    turns = config.rotary_trained_length * plain / (2 * math.pi)
    low, high = config.rotary_low_frequency, config.rotary_high_frequency
    kept = ((turns - low) / (high - low)).clamp(0.0, 1.0)  # 1: fast pair, kept; 0: slow pair, divided by the factor
    return kept * plain + (1 - kept) * plain / config.rotary_factor


def rotation(positions: Int[Tensor, "*b n"], config: TransformerConfig) -> Rotation:
    """The angles of tokens at these positions, as cosine and sine, with a place for heads."""
    angles = positions[..., None].float() * frequencies(config, positions.device)
    angles = angles.unsqueeze(-3)
    return Rotation(angles.cos(), angles.sin())


def rotate(x: Float[Tensor, "b h n d"], turn: Rotation, pairing: RotaryPairing = "half") -> Float[Tensor, "b h n d"]:
    """Turn the leading ``2 · pairs`` dimensions of queries or keys; the others pass through.

    Args:
        pairing: which dimensions form pair i: "half" takes i and i + pairs (GPT-NeoX, Llama), "interleaved" takes 2i
            and 2i + 1 (RoFormer, GPT-J). The two are one model up to the order of dimensions.
    """
    pairs = turn.cos.shape[-1]
    # a far position's angle needs the digits of float32, whatever the model's type; its cosine and sine do not
    turn = Rotation(turn.cos.to(x.dtype), turn.sin.to(x.dtype))
    turned, still = x[..., : 2 * pairs], x[..., 2 * pairs :]
    if pairing == "half":
        a, b = turned.chunk(2, dim=-1)
    else:
        a, b = turned[..., 0::2], turned[..., 1::2]
    # (a, b) turned by an angle is (a cos - b sin, b cos + a sin); addcmul is one pass where a*cos - b*sin is three
    new_a = torch.addcmul(a * turn.cos, b, turn.sin, value=-1)
    new_b = torch.addcmul(b * turn.cos, a, turn.sin)
    both = _beside(new_a, new_b) if pairing == "half" else torch.stack([new_a, new_b], dim=-1).flatten(-2)
    return _beside(both, still) if still.shape[-1] else both


def _beside(a: Float[Tensor, "b h n d"], b: Float[Tensor, "b h n e"]) -> Float[Tensor, "b h n d+e"]:
    """One after the other, in memory token by token, as projections leave them.

    PyTorch's kernel lays its output out as it finds the queries, so that the heads of a token then lie together.
    """
    return torch.cat([a.transpose(1, 2), b.transpose(1, 2)], dim=-1).transpose(1, 2)

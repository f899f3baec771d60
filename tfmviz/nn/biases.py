"""Positions that are added to attention scores: ALiBi and T5's relative buckets."""

from __future__ import annotations

import math

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfmviz.nn.config import TransformerConfig


def alibi_slopes(n_heads: int) -> Float[Tensor, " heads"]:
    """How much each head loses per token of distance.

    For 2^m heads: the powers of 2^(-8 / n_heads), from the first. For other counts: the slopes of the next smaller
    power of two, then every second slope of the next larger one, as in the authors' code.

    Source: Press et al. 2021 (ALiBi), section 3.
    """
    power = 2 ** int(math.log2(n_heads))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    between = [2 ** (-8 * (i + 1) / (2 * power)) for i in range(0, 2 * power, 2)]
    return torch.tensor(slopes + between[: n_heads - power])


class AlibiBias(nn.Module):
    """-slope · |i - j|: the farther away, the less attention, at a rate of each head's own; nothing is learned."""

    slopes: Tensor

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", alibi_slopes(n_heads), persistent=False)

    def block(self, rows: Int[Tensor, " q"], cols: Int[Tensor, " k"]) -> Float[Tensor, "heads q k"]:
        """The bias where queries at positions ``rows`` meet keys at positions ``cols``."""
        return -self.slopes[:, None, None] * (rows[:, None] - cols).abs()


def relative_bucket(
    distance: Int[Tensor, "q k"], n_buckets: int, max_distance: int, *, both_directions: bool
) -> Int[Tensor, "q k"]:
    """Which bucket a distance (key position - query position) falls into.

    Half of a direction's buckets hold one distance each; the others grow as powers up to ``max_distance``, and the
    last holds all beyond. In both directions, keys to the right have the upper half of all buckets; else keys to the
    right share bucket 0.

    Source: Raffel et al. 2020 (T5), section 2.1.
    """
    offset = torch.zeros_like(distance)
    if both_directions:
        n_buckets //= 2
        offset = (distance > 0) * n_buckets
        back = distance.abs()
    else:
        back = (-distance).clamp(min=0)
    exact = n_buckets // 2
    octaves = torch.log(back.float().clamp(min=1) / exact) / math.log(max_distance / exact)
    far = exact + (octaves * (n_buckets - exact)).to(distance.dtype)
    return offset + torch.where(back < exact, back, far.clamp(max=n_buckets - 1))


class RelativeBias(nn.Module):
    """A learned number for every head and bucket of distance; one table serves all layers of a stack (T5)."""

    def __init__(self, config: TransformerConfig, *, both_directions: bool) -> None:
        super().__init__()
        self.config = config
        self.both_directions = both_directions
        self.table = nn.Embedding(config.relative_buckets, config.n_heads)

    def block(self, rows: Int[Tensor, " q"], cols: Int[Tensor, " k"]) -> Float[Tensor, "heads q k"]:
        """The bias where queries at positions ``rows`` meet keys at positions ``cols``."""
        buckets = relative_bucket(
            cols - rows[:, None],
            self.config.relative_buckets,
            self.config.relative_max_distance,
            both_directions=self.both_directions,
        )
        return rearrange(self.table(buckets), "q k heads -> heads q k")

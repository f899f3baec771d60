"""How order gets into a model: the numbers behind every scheme, for any size and for the model that is loaded.

`encoding`, `dots_by_distance`: sinusoids. `turns`, `score_by_distance`: rotary pairs and their scaled variants.
`alibi`, `buckets`: biases. `learned`, `similarity`: tables of a loaded model. `order`, `extrapolation`: what the
schemes do to a text, and beyond the length that they were trained for. Shapes: n positions, d width, h heads.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfmviz.analysis.positions_learned import learned
from tfmviz.analysis.positions_lengths import LENGTHS, TRAINED_LENGTH, Lengths, extrapolation
from tfmviz.analysis.positions_order import SCHEMES, SchemeOnText, order, small_model
from tfmviz.analysis.positions_rotary import SCALINGS, Turns, score_by_distance, turns
from tfmviz.errors import ConfigError
from tfmviz.nn import alibi_slopes, relative_bucket, sinusoidal

__all__ = [
    "LENGTHS",
    "SCALINGS",
    "SCHEMES",
    "TRAINED_LENGTH",
    "Lengths",
    "SchemeOnText",
    "Turns",
    "alibi",
    "buckets",
    "dots_by_distance",
    "encoding",
    "extrapolation",
    "learned",
    "order",
    "score_by_distance",
    "similarity",
    "small_model",
    "turns",
    "wavelengths",
]
MOST = 1 << 22  # numbers in one picture


def encoding(length: int, d_model: int, base: float = 10_000.0) -> Float[Tensor, "n d_model"]:
    """The sinusoidal encoding of the first ``length`` positions, for any width, odd ones too.

    Raises:
        ConfigError: if a size is below 1, the base is not above 1, or there are too many numbers to draw.

    Source: Vaswani et al. 2017, section 3.5.
    """
    if length < 1 or d_model < 1 or length * d_model > MOST:
        raise ConfigError(f"length={length:,} and d_model={d_model:,}: use 1 or more, at most {MOST:,} numbers in all.")
    if base <= 1:
        raise ConfigError(f"base={base} must be above 1. The usual one is 10000.")
    return sinusoidal(torch.arange(length), d_model, base)


def wavelengths(d_model: int, base: float = 10_000.0) -> Float[Tensor, " pairs"]:
    """Positions after which each pair of dimensions (sine, cosine) repeats: from 2π to nearly 2π · base."""
    return (2 * torch.pi * base ** (torch.arange(0, d_model, 2).double() / d_model)).float()


def dots_by_distance(table: Float[Tensor, "n d"], at: int = 0) -> Float[Tensor, " n"]:
    """Dot product of the encoding at one position with that of every other, over its product with itself.

    For sinusoids of even width it depends on the distance alone: sin a sin b + cos a cos b = cos(a - b). In one
    dimension position 0 is sin 0: its products are 0, and so are their shares.

    Args:
        table: encodings.
        at: the position that is compared with all.
    """
    return table @ table[at] / table[at].square().sum().clamp(min=torch.finfo(table.dtype).tiny)


def similarity(table: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    """Cosine between every two positions, the mean over positions taken off first.

    Learned tables share a large common part that says nothing of where a token stands; without it neighbours can be
    told from strangers.
    """
    centred = (table - table.mean(0)).double()
    unit = centred / centred.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    return (unit @ unit.T).float()


def alibi(n_heads: int, length: int) -> tuple[Float[Tensor, " h"], Float[Tensor, "h n"]]:
    """ALiBi's slope of each head, and its bias at distances 0 to ``length`` - 1.

    Raises:
        ConfigError: if a size is below 1.

    Source: Press et al. 2021, section 3.
    """
    if n_heads < 1 or length < 1:
        raise ConfigError(f"n_heads={n_heads} and length={length}: use 1 or more.")
    slopes = alibi_slopes(n_heads)
    return slopes, -slopes[:, None] * torch.arange(length)


def buckets(
    length: int, n_buckets: int = 32, max_distance: int = 128, *, both_directions: bool = True
) -> tuple[Int[Tensor, " m"], Int[Tensor, " m"]]:
    """T5's bucket of every distance (key minus query) from -(length - 1) to length - 1, or to 0 in one direction.

    Returns:
        Distances and buckets, m each.

    Raises:
        ConfigError: if there is no logarithmic bucket left.

    Source: Raffel et al. 2020, section 2.1.
    """
    if length < 1 or n_buckets < 4 or max_distance <= n_buckets // 2:
        raise ConfigError(
            f"n_buckets={n_buckets} with max_distance={max_distance} over {length} positions: use at least 4 buckets "
            "and a distance above half of them."
        )
    distance = torch.arange(-(length - 1), length if both_directions else 1)
    return distance, relative_bucket(distance, n_buckets, max_distance, both_directions=both_directions)

"""Rotary positions as numbers: how fast each pair turns, and what is left of a score at a distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.nn import TransformerConfig, frequencies
from tfmviz.nn.config import RotaryScaling

SCALINGS: tuple[RotaryScaling, ...] = get_args(RotaryScaling)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Turns:
    """How the pairs of one head turn.

    Attributes:
        scaling: which variant.
        radians: of each pair from one position to the next, fastest first. [pairs]
        trained_length: positions that the plain variant is trained for.
        factor: how many times longer texts are wanted.
    """

    scaling: RotaryScaling
    radians: Float[Tensor, " pairs"]
    trained_length: int
    factor: float

    @property
    def wavelength(self) -> Float[Tensor, " pairs"]:
        """Positions after which each pair is back where it began."""
        return 2 * torch.pi / self.radians

    @property
    def unseen(self) -> int:
        """Pairs that do not come round once within the trained length: beyond it they show angles never seen."""
        return int((self.wavelength > self.trained_length).sum())

    def angles(self, position: int) -> Float[Tensor, " pairs"]:
        """Where each pair stands at a position, in radians."""
        return position * self.radians


def turns(
    d_head: int,
    *,
    base: float = 10_000.0,
    scaling: RotaryScaling = "none",
    factor: float = 1.0,
    trained_length: int = 2048,
) -> Turns:
    """The turning speed of every pair of a head, plain or scaled for longer texts.

    Args:
        d_head: width of a head; even.
        base: of the geometric row of speeds.
        scaling: "none"; "linear" squeezes positions (Chen et al. 2023); "ntk" raises the base, which leaves fast pairs
            alone; "llama3" slows slow pairs only.
        factor: how many times longer than trained.
        trained_length: in positions.

    Raises:
        ConfigError: if the width is odd, the base is not above 1 or the factor is below 1.

    Source: Su et al. 2021 (RoFormer), section 3.2.
    """
    config = TransformerConfig(
        architecture="decoder",
        vocab_size=2,
        d_model=d_head,
        n_heads=1,
        n_layers=1,
        position="rotary",
        position_base=base,
        rotary_scaling=scaling,
        rotary_factor=factor,
        rotary_trained_length=trained_length,
    )
    return Turns(scaling=scaling, radians=frequencies(config), trained_length=trained_length, factor=factor)


def score_by_distance(turning: Turns, distances: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """What is left of q · k at each distance if both are one and the same vector of ones: 1 at distance 0.

    It is the mean of cos(distance · speed) over pairs. Real queries and keys weigh the pairs as they need.

    Source: Su et al. 2021, section 3.4.3.
    """
    return (distances.double()[:, None] * turning.radians.double()).cos().mean(-1).float()

"""Why the root of d is there: what the size of the scores does to a softmax and to the gradient through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

DIMENSIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
N_KEYS = 64
N_QUERIES = 256


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Spread:
    """How the rows of a map are spread out.

    Attributes:
        entropy: [q], in bits: 0 where one key has all, log2 of the keys in sight where all have the same.
        largest: [q], the largest weight.
        gradient: [q], how strongly the row's scores still move its weights: the Frobenius norm of the softmax's
            Jacobian ``diag(w) - w wᵀ``; 0 where it is saturated, 0.5 at most.
    """

    entropy: Float[Tensor, " q"]
    largest: Float[Tensor, " q"]
    gradient: Float[Tensor, " q"]


def spread(weights: Float[Tensor, "q k"]) -> Spread:
    """How the rows of a map are spread out. Weights are those of keys (and a sink, if its column is there)."""
    w = weights.double()
    entropy = -torch.special.xlogy(w, w).sum(-1) / np.log(2)
    two, three = w.pow(2).sum(-1), w.pow(3).sum(-1)
    # the squares of w_i (1 - w_i) on the diagonal and of w_i w_j beside it, added up
    squared = two - 2 * three + two.pow(2)
    return Spread(
        entropy=entropy.clamp(min=0).float(),
        largest=w.amax(-1).float(),
        gradient=squared.clamp(min=0).sqrt().float(),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Saturation:
    """What random queries and keys of one width give.

    Attributes:
        d: the width.
        scaled: whether scores were divided by the root of d.
        variance: of the scores.
        entropy: mean over rows, in bits.
        largest: mean largest weight.
        gradient: mean Frobenius norm of the softmax's Jacobian.
    """

    d: int
    scaled: bool
    variance: float
    entropy: float
    largest: float
    gradient: float


def saturation(
    dimensions: Sequence[int] = DIMENSIONS, *, n_keys: int = N_KEYS, n_queries: int = N_QUERIES, seed: int = 0
) -> list[Saturation]:
    """Attention of random vectors at each width, with and without the root of d.

    Components are independent with mean 0 and variance 1, so q · k has mean 0 and variance d.

    Args:
        dimensions: the widths.
        n_keys: keys a query chooses from.
        n_queries: rows to average over.
        seed: of the vectors.

    Source: Vaswani et al. 2017, section 3.2.1, footnote 4.
    """
    generator = torch.Generator().manual_seed(seed)
    found = []
    for d in dimensions:
        query = torch.randn(n_queries, d, generator=generator)
        key = torch.randn(n_queries, n_keys, d, generator=generator)  # keys of each query's own: rows independent
        scores = torch.einsum("qd,qkd->qk", query, key)
        for scaled in (False, True):
            rows = scores * d**-0.5 if scaled else scores
            how = spread(torch.softmax(rows, -1))
            found.append(
                Saturation(
                    d=d,
                    scaled=scaled,
                    variance=float(rows.var()),
                    entropy=float(how.entropy.mean()),
                    largest=float(how.largest.mean()),
                    gradient=float(how.gradient.mean()),
                )
            )
    return found

"""One head of A against one head of B: what moved, and how far apart each row is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Difference:
    """Two heads on the same units.

    Attributes:
        a, b: their weights between units, [units, columns].
        signed: b - a.
        distance: Jensen-Shannon distance of each row, 0 for equal rows, 1 for rows that share no key; [units].
    """

    a: Float[np.ndarray, "units columns"]
    b: Float[np.ndarray, "units columns"]
    signed: Float[np.ndarray, "units columns"]
    distance: Float[np.ndarray, " units"]


def difference(a: Float[np.ndarray, "units columns"], b: Float[np.ndarray, "units columns"]) -> Difference:
    """Compare two heads, both as :func:`tfmviz.analysis.alignment.unit_weights` gives them."""
    return Difference(a=a, b=b, signed=b - a, distance=jensen_shannon(a, b))


def jensen_shannon(
    p: Float[np.ndarray, "*rows columns"], q: Float[np.ndarray, "*rows columns"]
) -> Float[np.ndarray, "*rows"]:
    """Jensen-Shannon distance of rows that sum to 1: the square root of the divergence in bits, 0 to 1.

    Source: Endres and Schindelin 2003, *A new metric for probability distributions*.
    """
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    middle = (p + q) / 2
    divergence = (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2
    return np.sqrt(np.clip(divergence, 0, 1))


def _relative_entropy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """In bits; a key without weight adds nothing."""
    some = p > 0
    ratio = np.divide(p, q, out=np.ones_like(p), where=some)
    return (p * np.log2(ratio)).sum(-1)

"""Which head of B does what a head of A does: distances between all heads, nearest ones, the best one-to-one match.

The distance of two heads is Hellinger's, over all rows: the root of the mean, over units, of 1 - sum of sqrt(p q). It
is 0 for heads with equal rows and 1 for heads that never look at the same unit. Written as half the squared length of
sqrt(p) - sqrt(q), the distances of all heads are one matrix product, which is summed over blocks of rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from tfmviz.analysis.alignment import Alignment, layer_rows
from tfmviz.errors import ConfigError, NoAttention

if TYPE_CHECKING:
    from tfmviz.trace import AttentionStack

Head = tuple[int, int]
Kind = Literal["one-to-one", "nearest", "same place"]
KINDS: tuple[Kind, ...] = ("one-to-one", "nearest", "same place")
# Bytes of the square roots that are held at once.
BLOCK_BYTES = 1 << 26
_FLOAT64 = 8


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HeadDistances:
    """Every head of A against every head of B.

    Attributes:
        heads_a, heads_b: (layer, head) of the rows and of the columns; layers without attention have none.
        values: 0 to 1, [heads of A, heads of B].
    """

    heads_a: tuple[Head, ...]
    heads_b: tuple[Head, ...]
    values: Float[np.ndarray, "heads_a heads_b"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """A head of A with one of B.

    Attributes:
        a, b: (layer, head).
        distance: Hellinger's, 0 to 1.
    """

    a: Head
    b: Head
    distance: float


def head_distances(
    a: AttentionStack,
    b: AttentionStack,
    alignment: Alignment,
    *,
    silenced_a: Collection[Head] = (),
    silenced_b: Collection[Head] = (),
    block_bytes: int = BLOCK_BYTES,
) -> HeadDistances:
    """Distances between all heads of two models on one text.

    Args:
        a, b: stacks whose tokens ``alignment`` was made for.
        silenced_a, silenced_b: heads whose output was set to zero: they look at nothing, which is at distance 1 from
            every head that looks at something.
        block_bytes: most memory for the rows held at once.

    Raises:
        NoAttention: if one of the models has no layer with attention.
    """
    heads_a, heads_b = attending_heads(a), attending_heads(b)
    n_units, width = len(alignment.units), alignment.n_columns
    product = np.zeros((len(heads_a), len(heads_b)))
    length_a, length_b = np.zeros(len(heads_a)), np.zeros(len(heads_b))
    size = max(1, block_bytes // ((len(heads_a) + len(heads_b)) * width * _FLOAT64))
    for first in range(0, n_units, size):
        rows = range(first, min(first + size, n_units))
        roots_a = _roots(a, alignment.unit_of[0], rows, silenced_a)
        roots_b = _roots(b, alignment.unit_of[1], rows, silenced_b)
        product += roots_a @ roots_b.T
        length_a += np.einsum("ij,ij->i", roots_a, roots_a)
        length_b += np.einsum("ij,ij->i", roots_b, roots_b)
    squared = ((length_a[:, None] + length_b[None]) / 2 - product) / n_units
    # half a squared length of 1e-13 is rounding: its root would pass for a difference
    squared = np.where(squared < 1e-13, 0, np.minimum(squared, 1))
    return HeadDistances(heads_a=heads_a, heads_b=heads_b, values=np.sqrt(squared))


def attending_heads(stack: AttentionStack) -> tuple[Head, ...]:
    """(layer, head) of every head there is.

    Raises:
        NoAttention: if there is none.
    """
    heads = tuple((i, head) for i, layer in enumerate(stack.layers) for head in range(layer.n_heads))
    if not heads:
        why = stack.status(0).removeprefix("none: ") if stack.n_layers else "it has no layers"
        raise NoAttention(f"No layer of this model has attention to compare: {why}.")
    return heads


def nearest(distances: HeadDistances) -> tuple[Match, ...]:
    """For each head of A the head of B that is nearest; several heads of A may have the same one."""
    return _matches(distances, np.arange(len(distances.heads_a)), distances.values.argmin(axis=1))


def one_to_one(distances: HeadDistances) -> tuple[Match, ...]:
    """The pairs, no head twice, whose distances add up to least; as many as the smaller model has heads.

    Source: Kuhn 1955, *The Hungarian method for the assignment problem*.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(distances.values)
    return _matches(distances, rows, columns)


def same_place(distances: HeadDistances) -> tuple[Match, ...]:
    """Each head of A with the head of B in the same layer and at the same number, where there is one."""
    columns = {head: at for at, head in enumerate(distances.heads_b)}
    rows = [at for at, head in enumerate(distances.heads_a) if head in columns]
    return _matches(distances, np.array(rows, int), np.array([columns[distances.heads_a[at]] for at in rows], int))


def matches(distances: HeadDistances, kind: Kind) -> tuple[Match, ...]:
    """Pairs of one kind, most alike first."""
    if kind not in KINDS:
        raise ConfigError(f"No matching {kind!r}. There are {', '.join(KINDS)}.")
    found = {"one-to-one": one_to_one, "nearest": nearest, "same place": same_place}[kind](distances)
    return tuple(sorted(found, key=lambda match: match.distance))


def clustered(
    distances: HeadDistances,
) -> tuple[Int[np.ndarray, " heads_a"], Int[np.ndarray, " heads_b"]]:
    """An order of A's heads, and one of B's, in which heads with the same distances stand together.

    Average linkage; Sokal and Michener 1958, *A statistical method for evaluating systematic relationships*.
    """
    return _leaves(distances.values), _leaves(distances.values.T)


def _leaves(rows: Float[np.ndarray, "heads features"]) -> Int[np.ndarray, " heads"]:
    from scipy.cluster.hierarchy import leaves_list, linkage

    return leaves_list(linkage(rows, "average")) if len(rows) > 1 else np.zeros(1, int)


def _roots(
    stack: AttentionStack, unit_of: Int[np.ndarray, " tokens"], rows: range, silenced: Collection[Head]
) -> Float[np.ndarray, "heads rows_x_columns"]:
    parts = []
    for index, layer in enumerate(stack.layers):
        if layer.has_attention:
            quiet = [head for at, head in silenced if at == index and head < layer.n_heads]
            parts.append(layer_rows(layer, unit_of, rows, silenced=quiet))
    every = np.concatenate(parts).astype(np.float64)
    return np.sqrt(every, out=every).reshape(len(every), -1)


def _matches(distances: HeadDistances, rows: np.ndarray, columns: np.ndarray) -> tuple[Match, ...]:
    return tuple(
        Match(a=distances.heads_a[row], b=distances.heads_b[column], distance=float(distances.values[row, column]))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    )

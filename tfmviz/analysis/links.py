"""Which pairs of tokens are worth a line, and what is left out when only those are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """Pairs of one or several heads, strongest first; the first ``n_drawn`` are meant to be drawn as lines.

    The others are each token's own strongest pairs, kept so that a touched token can always be read out.

    Attributes:
        query: int32, shape (m,); row of each pair.
        key: int32, shape (m,); column of each pair.
        weight: float32, shape (m,); never NaN.
        head: uint8, shape (m,); which of the weights' heads the pair belongs to.
        n_drawn: pairs at or above the threshold and within the budget.
        n_above: all pairs at or above the threshold; ``n_above - n_drawn`` of them go undrawn.
        n_heads: heads that the weights had.
    """

    query: np.ndarray
    key: np.ndarray
    weight: np.ndarray
    head: np.ndarray
    n_drawn: int
    n_above: int
    n_heads: int


def strongest_links(
    weights: np.ndarray,
    threshold: float,
    budget: int,
    *,
    keep_queries: np.ndarray | None = None,
    keep_keys: np.ndarray | None = None,
    per_token: int = 5,
) -> Links:
    """Pick the pairs to draw: at or above ``threshold``, the strongest ``budget`` of them over all heads together.

    Args:
        weights: shape (h, q, k) or (q, k). NaN and zero weights are never picked.
        threshold: smallest weight that gets a line.
        budget: most lines; equal weights are taken in order of head, query, key.
        keep_queries: bool, shape (q,); False leaves a row out (padding, hidden special tokens).
        keep_keys: bool, shape (k,); likewise for columns.
        per_token: this many strongest keys of each query, and queries of each key, are added behind the drawn pairs.

    Raises:
        ValueError: weights have another number of dimensions.

    Shapes: h heads, q queries, k keys, m pairs.
    """
    if weights.ndim not in (2, 3):
        raise ValueError(f"weights have shape (h, q, k) or (q, k), not {weights.shape}")
    cube = np.array(weights, dtype=np.float32, copy=True, ndmin=3)
    np.copyto(cube, 0.0, where=~np.isfinite(cube))
    if keep_queries is not None:
        cube[:, ~keep_queries] = 0.0
    if keep_keys is not None:
        cube[:, :, ~keep_keys] = 0.0

    flat = cube.reshape(-1)
    above = np.flatnonzero(flat >= max(threshold, _SMALLEST))
    drawn = above[np.argsort(-flat[above], kind="stable")[:budget]]
    own = np.setdiff1d(_strongest_of_each(cube, per_token), drawn)
    own = own[np.argsort(-flat[own], kind="stable")]
    picked = np.concatenate([drawn, own])
    head, query, key = np.unravel_index(picked, cube.shape)
    return Links(
        query=query.astype(np.int32),
        key=key.astype(np.int32),
        weight=flat[picked],
        head=head.astype(np.uint8),
        n_drawn=len(drawn),
        n_above=len(above),
        n_heads=len(cube),
    )


def _strongest_of_each(cube: np.ndarray, count: int) -> np.ndarray:
    """Flat indices of the ``count`` largest positive weights of every row and of every column, each once."""
    n_heads, n_queries, n_keys = cube.shape
    base = np.arange(n_heads)[:, None] * (n_queries * n_keys)
    by_row = [base + np.arange(n_queries) * n_keys + key for key in _largest(cube, count)]
    by_column = [base + query * n_keys + np.arange(n_keys) for query in _largest(cube.swapaxes(1, 2), count)]
    picked = np.unique(np.concatenate([index.reshape(-1) for index in by_row + by_column] or [np.zeros(0, np.int64)]))
    return picked[cube.reshape(-1)[picked] > 0]


def _largest(cube: np.ndarray, count: int) -> list[np.ndarray]:
    """Positions of the largest, second largest, ... entry of each row, shape (h, q) each.

    A few passes of argmax read a big map faster than one partial sort of every row.
    """
    left = np.array(cube, order="C", copy=True)
    places = []
    for _ in range(min(count, left.shape[2])):
        place = left.argmax(axis=2)
        np.put_along_axis(left, place[..., None], -1.0, axis=2)
        places.append(place)
    return places


def hidden_share(weights: np.ndarray, hidden_keys: np.ndarray, keep_queries: np.ndarray | None = None) -> float:
    """The share of attention that goes to keys which a picture leaves out.

    Args:
        weights: shape (h, q, k) or (q, k).
        hidden_keys: bool, shape (k,).
        keep_queries: bool, shape (q,); rows that the picture shows. All without it.

    Returns:
        Weight on hidden keys divided by all weight of the rows shown, from 0 to 1; 0 where the rows hold none.
    """
    rows = weights if keep_queries is None else weights[..., keep_queries, :]
    total = float(np.nansum(rows, dtype=np.float64))
    return float(np.nansum(rows[..., hidden_keys], dtype=np.float64)) / total if total > 0 else 0.0


def visible_spans(visible: np.ndarray) -> np.ndarray:
    """The keys each query may look at, as runs: int32 rows of (query, first key, one past the last key).

    A causal, sliding or prefix mask of n tokens has n runs where a table of bits has n².
    """
    edges = np.diff(np.pad(visible.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    query, first = np.nonzero(edges == 1)
    _, past = np.nonzero(edges == -1)
    return np.stack([query, first, past], axis=1).astype(np.int32)

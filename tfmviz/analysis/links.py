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


class LinkSieve:
    """Finds the links of maps that come some rows at a time: heads in order, and the rows of each.

    Args:
        shape: heads h, queries q, keys k.
        threshold: smallest weight that gets a line.
        budget: most lines; equal weights are taken in order of head, query, key.
        per_token: this many strongest keys of each query, and queries of each key, are added behind the drawn pairs.
    """

    def __init__(self, shape: tuple[int, int, int], threshold: float, budget: int, per_token: int = 5) -> None:
        self._shape, self._budget, self._per_token = shape, budget, per_token
        self._threshold = np.float32(max(threshold, _SMALLEST))
        self._n_above = 0
        self._above = _Pairs.none()
        self._of_queries: list[_Pairs] = []
        self._of_keys = [_Pairs.none() for _ in range(shape[0])]

    def take(self, head: int, first_row: int, weights: np.ndarray) -> None:
        """Look at the rows ``first_row``, ``first_row + 1``, ... of one head.

        Args:
            head: from 0.
            first_row: query of the first row.
            weights: float32 [rows, k], finite; zeros are never picked.
        """
        _, n_queries, n_keys = self._shape
        flat, first = weights.reshape(-1), (head * n_queries + first_row) * n_keys
        self._n_above += int(np.count_nonzero(flat >= self._threshold))
        full = len(self._above.place) >= self._budget > 0
        # among equals the first ones count, and those are there already
        better = flat > self._above.weight[-1] if full else flat >= self._threshold
        self._above = self._above.joined(_Pairs.at(np.flatnonzero(better), flat, first)).strongest(self._budget)
        rows = np.arange(len(weights)) * n_keys
        of_queries = [rows + key for key in _largest(weights, self._per_token)]
        self._of_queries.append(_Pairs.at(np.concatenate([np.zeros(0, np.int64), *of_queries]), flat, first))
        self._of_keys[head] = self._of_keys[head].joined(self._promising(head, weights, first))
        self._of_keys[head] = self._of_keys[head].strongest_of_columns(n_keys, self._per_token)

    def _promising(self, head: int, weights: np.ndarray, first: int) -> _Pairs:
        """Pairs that may be among the strongest of their key: those that beat the weakest it has kept so far."""
        n_keys, kept, flat = self._shape[2], self._of_keys[head], weights.reshape(-1)
        key = kept.place % n_keys
        full = np.bincount(key, minlength=n_keys) >= self._per_token
        least = np.full(n_keys, np.inf, dtype=np.float32)
        np.minimum.at(least, key, kept.weight)
        least[~full] = np.inf
        better = np.flatnonzero(weights > least)
        # keys that have too few yet: all that they have here is new, and sorting it would take long
        fresh = np.flatnonzero(~full & (weights.max(axis=0, initial=0) > 0))
        strongest = [row * n_keys + fresh for row in _largest(weights[:, fresh].T, self._per_token)]
        return _Pairs.at(np.sort(np.concatenate([better, *strongest])), flat, first)

    def links(self) -> Links:
        """What was found."""
        own = _Pairs.none().joined(*self._of_queries, *self._of_keys)
        place, at = np.unique(own.place, return_index=True)
        rest = ~np.isin(place, self._above.place)
        own = _Pairs(place[rest], own.weight[at][rest]).strongest(len(place))
        picked = self._above.joined(own)
        head, query, key = np.unravel_index(picked.place, self._shape)
        return Links(
            query=query.astype(np.int32),
            key=key.astype(np.int32),
            weight=picked.weight,
            head=head.astype(np.uint8),
            n_drawn=len(self._above.place),
            n_above=self._n_above,
            n_heads=self._shape[0],
        )


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs, numbered ``(head * q + query) * k + key``, and their weights: int64 and float32, shape (m,)."""

    place: np.ndarray
    weight: np.ndarray

    @classmethod
    def none(cls) -> _Pairs:
        """No pair."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))

    @classmethod
    def at(cls, place: np.ndarray, flat: np.ndarray, first: int) -> _Pairs:
        """The pairs at these places of a map whose first cell is number ``first``; zeros are none."""
        weight = flat[place]
        return cls(place[weight > 0] + first, weight[weight > 0])

    def joined(self, *others: _Pairs) -> _Pairs:
        """These, then the others."""
        pairs = (self, *others)
        return _Pairs(np.concatenate([one.place for one in pairs]), np.concatenate([one.weight for one in pairs]))

    def strongest(self, count: int) -> _Pairs:
        """The strongest, in order; of equal ones those that come first."""
        place, weight = self.place, self.weight
        if 0 < count < len(weight) // 4:  # a partition is cheaper than sorting them all
            kept = weight >= np.partition(weight, -count)[-count]
            place, weight = place[kept], weight[kept]
        order = np.argsort(-weight, kind="stable")[:count]
        return _Pairs(place[order], weight[order])

    def strongest_of_columns(self, n_keys: int, count: int) -> _Pairs:
        """The strongest ``count`` of each key; of equal ones those that come first here."""
        key = self.place % n_keys
        # one number to sort by: the key, then the weight, whose bits rise with it as long as it is positive
        falling = np.uint64(2**32 - 1) - self.weight.view(np.uint32)
        order = np.argsort(key.astype(np.uint64) << np.uint64(32) | falling, kind="stable")
        key = key[order]
        order = order[np.arange(len(key)) - np.searchsorted(key, key) < count]
        return _Pairs(self.place[order], self.weight[order])


def _largest(rows: np.ndarray, count: int) -> list[np.ndarray]:
    """Columns of the largest, second largest, ... entry of each row, shape (r,) each.

    A few passes of argmax read a big map faster than one partial sort of every row.
    """
    left = np.array(rows, order="C", copy=True)
    places = []
    for _ in range(min(count, left.shape[1])):
        place = left.argmax(axis=1)
        np.put_along_axis(left, place[:, None], -1.0, axis=1)
        places.append(place)
    return places


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
    n_heads, n_queries, n_keys = cube.shape
    sieve = LinkSieve((n_heads, n_queries, n_keys), threshold, budget, per_token)
    for head in range(n_heads):
        sieve.take(head, 0, cube[head])
    return sieve.links()


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


def visible_spans(visible: np.ndarray, first_row: int = 0) -> np.ndarray:
    """The keys each query may look at, as runs: int32 rows of (query, first key, one past the last key).

    A causal, sliding or prefix mask of n tokens has n runs where a table of bits has n².

    Args:
        visible: bool, shape (q, k).
        first_row: number of the first row, where these are only some of a map's.
    """
    edges = np.diff(np.pad(visible.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    query, first = np.nonzero(edges == 1)
    _, past = np.nonzero(edges == -1)
    return np.stack([query + first_row, first, past], axis=1).astype(np.int32)

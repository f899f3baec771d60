"""The numbers of a token-by-token map before anything is drawn: what is left out, what rows are relative to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfmviz.errors import ConfigError
from tfmviz.text.token import Token


@dataclass(frozen=True, kw_only=True, slots=True)
class Cells:
    """What is drawn, special tokens perhaps taken out.

    Attributes:
        weights: 0 to 1, shape (q, k).
        visible: False where the query may not look, shape (q, k); None if every query may look everywhere.
        query_tokens: the rows.
        key_tokens: the columns.
        note: plain text on what was left out, or "".
    """

    weights: NDArray[np.float32]
    visible: NDArray[np.bool_] | None
    query_tokens: Sequence[Token]
    key_tokens: Sequence[Token]
    note: str


def shown_cells(
    weights: NDArray[np.float32],
    visible: NDArray[np.bool_] | None,
    query_tokens: Sequence[Token],
    key_tokens: Sequence[Token],
    *,
    hide_special: bool = False,
) -> Cells:
    """Check that everything fits together, and take special tokens out on request.

    Args:
        weights: attention from each query to each key, 0 to 1, shape (q, k).
        visible: False where the query may not look, shape (q, k); None if every query may look everywhere.
        query_tokens: q of them, the rows.
        key_tokens: k of them, the columns.
        hide_special: leave out special tokens, and note what share of the attention goes with them.

    Raises:
        ConfigError: if the shapes do not agree.
    """
    weights = np.asarray(weights, np.float32)
    expected = (len(query_tokens), len(key_tokens))
    if weights.shape != expected:
        raise ConfigError(f"weights have shape {weights.shape}, {expected} expected: one row a query, one column a key")
    if visible is not None and visible.shape != expected:
        raise ConfigError(f"visible has shape {visible.shape}, {expected} expected, as the weights have")
    whole = Cells(weights=weights, visible=visible, query_tokens=query_tokens, key_tokens=key_tokens, note="")
    return _without_special(whole) if hide_special else whole


def row_steps(weights: NDArray[np.float32], largest: NDArray[np.float32] | None = None) -> NDArray[np.uint8]:
    """Each weight relative to the largest of its row, in 255 steps: 1 is no weight, 255 the largest, 0 stays free.

    Args:
        weights: shape (q, k).
        largest: shape (q,), the largest weight of each row, where these are only some of its columns.

    Returns:
        Shape (q, k).
    """
    largest = weights.max(axis=1, initial=0)[:, None] if largest is None else largest[:, None]
    share = np.divide(weights, largest, out=np.zeros_like(weights), where=largest > 0)
    return (1 + np.round(share * 254)).astype(np.uint8)


def _without_special(cells: Cells) -> Cells:
    """Take special tokens out of rows and columns and note the share of the remaining rows' attention that went."""
    rows = np.array([not token.is_special for token in cells.query_tokens], bool)
    columns = np.array([not token.is_special for token in cells.key_tokens], bool)
    kept = cells.weights[rows]
    total = float(kept.sum(dtype=np.float64))
    hidden = float(kept[:, ~columns].sum(dtype=np.float64)) / total if total else 0.0
    special = int((~columns).sum())
    return Cells(
        weights=np.ascontiguousarray(kept[:, columns]),
        visible=None if cells.visible is None else cells.visible[np.ix_(rows, columns)],
        query_tokens=[token for token in cells.query_tokens if not token.is_special],
        key_tokens=[token for token in cells.key_tokens if not token.is_special],
        note=f"Special tokens are hidden; {hidden:.0%} of the attention goes to them" if special else "",
    )

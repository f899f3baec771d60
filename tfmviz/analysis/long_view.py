"""The whole map of one head on a long text, small enough to send: the largest weight in each block of tokens.

Shapes: q rows, k columns; b positions a side of a block; B and C blocks down and across.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfmviz.analysis.head_roles import HeadRole, head_roles
from tfmviz.analysis.long_head import LongHead
from tfmviz.text.token import Token

# Most blocks down and across: about as many as a map has pixels.
BLOCKS = 512
# Rows that a role is measured on.
ROLE_ROWS = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class LongView:
    """The overview of a picture, and what its words need.

    Attributes:
        block: b; blocks are squares of b positions, shorter at the end.
        maxima: float32 [B, C], the largest weight in each block, exact.
        shares: float32 [B, C], the largest of weight / its row's largest in each block; None unless asked for.
        visible: bool [B, C], False where nothing in the block may be looked at; None where everything may.
        query_tokens: q of them.
        key_tokens: k of them.
        part_share: share of the rows' attention that falls on the part's columns; 1 where all columns are there.
        special_share: share of the typed rows' attention in the picture's part that falls on special tokens.
        sink_share: mean weight that goes to a sink and to no token.
    """

    block: int
    maxima: np.ndarray
    shares: np.ndarray | None
    visible: np.ndarray | None
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    part_share: float
    special_share: float
    sink_share: float

    @property
    def nbytes(self) -> int:
        """Bytes kept, tokens aside: the trace has those anyway."""
        return sum(array.nbytes for array in (self.maxima, self.shares, self.visible) if array is not None)


def block_side(n_rows: int, n_cols: int) -> int:
    """Positions a side of a block, so that at most ``BLOCKS`` of them cover the picture in each direction."""
    return max(-(-max(n_rows, n_cols) // BLOCKS), 1)


def long_view(whole: LongHead, *, row_scaled: bool = False) -> LongView:
    """Go through all weights once, some rows at a time, and keep the largest of each block.

    Args:
        whole: the picture.
        row_scaled: also keep the largest share of a row's largest weight.

    Raises:
        NoAttention: if the layer has none.
    """
    b = block_side(len(whole.rows), len(whole.cols))
    shape = (-(-len(whole.rows) // b), -(-len(whole.cols) // b))
    maxima = np.zeros(shape, dtype=np.float32)
    shares = np.zeros(shape, dtype=np.float32) if row_scaled else None
    visible = np.zeros(shape, dtype=bool)
    sums = _Sums(whole)
    for rows in whole.bands(multiple=b):
        weights = sums.take(rows)
        blocks = slice(rows.start // b, -(-rows.stop // b))
        maxima[blocks] = block_maxima(weights, b)
        if shares is not None:
            largest = weights.max(axis=1, keepdims=True, initial=0)
            shares[blocks] = block_maxima(np.divide(weights, largest, out=np.zeros_like(weights), where=largest > 0), b)
        seen = whole.visible(rows)
        visible[blocks] = True if seen is None else block_maxima(seen, b)
    return LongView(
        block=b,
        maxima=maxima,
        shares=shares,
        visible=None if visible.all() else visible,
        query_tokens=whole.query_tokens,
        key_tokens=whole.key_tokens,
        part_share=sums.part_share,
        special_share=sums.special_share,
        sink_share=sums.sink_share,
    )


def block_maxima(cells: np.ndarray, side: int) -> np.ndarray:
    """The largest of each block of ``side`` x ``side`` cells; blocks at the end may be smaller.

    Args:
        cells: [q, k], at least one row and one column.
        side: b.

    Returns:
        [ceil(q / b), ceil(k / b)].
    """
    return np.maximum.reduceat(_row_maxima(cells, side), np.arange(0, cells.shape[1], side), axis=1)


def _row_maxima(cells: np.ndarray, side: int) -> np.ndarray:
    """Largest of every ``side`` rows; whole rows are compared with one another, which runs at the memory's pace."""
    even = len(cells) // side * side
    pooled = cells[:even].reshape(-1, side, cells.shape[1]).max(axis=1)
    return pooled if even == len(cells) else np.concatenate([pooled, cells[even:].max(axis=0, keepdims=True)])


class _Sums:
    """Where the attention of a picture goes, added up while its rows pass by."""

    def __init__(self, whole: LongHead) -> None:
        self._whole = whole
        queries = whole.query_tokens
        self._typed = np.array([not (token.is_special or token.is_padding) for token in queries], dtype=bool)
        self._special = np.array([token.is_special for token in whole.key_tokens], dtype=bool)
        self._every = np.concatenate([whole.cols, whole.hidden])
        self._is_part = len(self._every) < len(whole.stack.key_tokens)
        self._all, self._of_typed, self._on_special, self._live, self._sink = 0.0, 0.0, 0.0, 0, 0.0

    def take(self, rows: slice) -> np.ndarray:
        """Weights of these rows on the columns shown; their sums are noted."""
        whole, n_shown = self._whole, len(self._whole.cols)
        every = whole.weights(rows, self._every)
        of_rows, typed = every.sum(axis=1, dtype=np.float64), self._typed[rows]
        special = every[:, n_shown:].sum(axis=1, dtype=np.float64)
        if self._special.any():
            special = special + every[:, :n_shown][:, self._special].sum(axis=1, dtype=np.float64)
        self._all += float(of_rows.sum())
        self._of_typed += float(of_rows[typed].sum())
        self._on_special += float(special[typed].sum())
        if (sinks := whole.sinks(rows)) is not None:
            self._sink += float(sinks.sum())
        if self._is_part:
            layer = next(i for i in range(whole.stack.n_layers) if whole.layer in (None, i) and self._attends(i))
            self._live += int(whole.stack.visible(layer, 0, whole.rows[rows], None).any(1).sum())
        return every if len(self._every) == n_shown else np.ascontiguousarray(every[:, :n_shown])

    def _attends(self, layer: int) -> bool:
        return self._whole.stack.layer(layer).has_attention

    @property
    def part_share(self) -> float:
        return self._all / max(self._live - self._sink, 1e-9) if self._is_part else 1.0

    @property
    def special_share(self) -> float:
        return self._on_special / self._of_typed if self._of_typed > 0 else 0.0

    @property
    def sink_share(self) -> float:
        return self._sink / max(len(self._whole.rows), 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Picture:
    """A picture as the roles want it: something that gives weights by rows, whatever it averages."""

    whole: LongHead
    query_tokens: Sequence[Token]
    key_tokens: Sequence[Token]

    def weights(self, layer: int, head: int, rows: Any = None, cols: Any = None) -> Any:
        """float32 [rows, k]; the picture knows which head it is of."""
        import torch

        return torch.from_numpy(self.whole.weights(rows.numpy()))


def long_role(whole: LongHead) -> HeadRole:
    """What the picture mostly shows, measured on ``ROLE_ROWS`` rows spread evenly over it."""
    picture = _Picture(whole=whole, query_tokens=whole.query_tokens, key_tokens=whole.key_tokens)
    return head_roles(picture, 0, [0], most_rows=ROLE_ROWS)[0]

"""One head, or an average of heads, on a long text: exact weights for any rectangle, never all of them at once.

Shapes: q rows and k columns of the picture, which may leave out a part of the text's queries and keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tfmviz.analysis.head_view import WINDOW, Part, part_positions, part_size
from tfmviz.errors import OutOfRange
from tfmviz.text.token import Token

if TYPE_CHECKING:
    from tfmviz.trace import AttentionStack

# Weights held at once on the way through a whole text: 4 MB of float32.
BAND_WEIGHTS = 1 << 20
# Most weights of a rectangle that is asked for: a screen of cells, 2.6 MB.
MOST_CELLS = 640 * 1024
# Most weights that are gone through for one picture of a whole text: a few seconds on two cores. One head of 8,192
# tokens has a ninth of it.
MOST_WEIGHTS = 650_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Rectangle:
    """Some cells of a picture.

    Attributes:
        weights: float32 [rows, cols], exact.
        visible: bool [rows, cols]; None where every query sees every key.
        largest: float32 [rows], the largest weight of each row in the whole picture.
    """

    weights: np.ndarray
    visible: np.ndarray | None
    largest: np.ndarray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LongHead:
    """A picture of one head: which rows and columns it has, and where their weights come from.

    Attributes:
        stack: where the weights are.
        layer: None averages over the layers that have attention.
        head: None averages over heads.
        rows: int64 [q], the queries shown.
        cols: int64 [k], the keys shown.
        hidden: int64, special keys of the same part that are not shown.
    """

    stack: AttentionStack
    layer: int | None
    head: int | None
    rows: np.ndarray
    cols: np.ndarray
    hidden: np.ndarray

    @classmethod
    def of(
        cls,
        stack: AttentionStack,
        layer: int | None,
        head: int | None,
        part: Part = "all",
        *,
        hide_special: bool = False,
    ) -> LongHead:
        """The picture of a head, of one part of a pair, with or without special tokens."""
        rows, _ = _split(stack.query_tokens, _positions(stack.query_tokens, part, 0), hide_special)
        cols, hidden = _split(stack.key_tokens, _positions(stack.key_tokens, part, 1), hide_special)
        return cls(stack=stack, layer=layer, head=head, rows=rows, cols=cols, hidden=hidden)

    @property
    def query_tokens(self) -> tuple[Token, ...]:
        """One for each row."""
        return tuple(self.stack.query_tokens[i] for i in self.rows)

    @property
    def key_tokens(self) -> tuple[Token, ...]:
        """One for each column."""
        return tuple(self.stack.key_tokens[i] for i in self.cols)

    def bands(self, rows: slice | None = None, *, multiple: int = 1) -> Iterator[slice]:
        """Rows, all of them if None, in pieces whose weights are held at once.

        Each has a multiple of so many rows, but for the last.
        """
        start, stop = (0, len(self.rows)) if rows is None else (rows.start, rows.stop)
        size = max(BAND_WEIGHTS // max(len(self.cols) + len(self.hidden), 1), 1)
        size = max(size // multiple * multiple, multiple)
        for first in range(start, stop, size):
            yield slice(first, min(first + size, stop))

    def weights(self, rows: slice | np.ndarray, keys: np.ndarray | None = None) -> np.ndarray:
        """Exact weights of some rows of the picture.

        Args:
            rows: which of its rows.
            keys: positions among the stack's keys; those of all its columns if None.

        Returns:
            float32 [rows, keys].
        """
        queries, keys = self.rows[rows], self.cols if keys is None else keys
        if self.layer is not None and self.head is not None:
            return self.stack.weights(self.layer, self.head, queries, keys).numpy()
        layers = None if self.layer is None else [self.layer]
        heads = None if self.head is None else [self.head]
        return self.stack.mean(layers, heads, queries, keys).numpy()

    def visible(self, rows: slice, cols: slice = slice(None)) -> np.ndarray | None:
        """What those rows may look at: bool [rows, cols]; None where every query of the model sees every key.

        An average is masked where each of its layers is.
        """
        layers = self._masked_layers()
        if layers is None:
            return None
        head, seen = self.head or 0, np.zeros((len(self.rows[rows]), len(self.cols[cols])), dtype=bool)
        for layer in layers:
            seen |= self.stack.visible(layer, head, self.rows[rows], self.cols[cols]).numpy()
        return seen

    def sinks(self, rows: slice) -> np.ndarray | None:
        """What those rows give to a sink and to no token: float32 [rows]; None without one, and in an average."""
        from tfmviz.trace.source import KnownWeights, QueriesAndKeys

        if self.layer is None or self.head is None:
            return None
        source = self.stack.layer(self.layer).source
        if isinstance(source, QueriesAndKeys | KnownWeights) and source.sink is None:
            return None
        return self.stack.sink(self.layer, self.head, self.rows[rows]).numpy()

    def rectangle(self, rows: slice, cols: slice) -> Rectangle:
        """The cells of some rows and columns.

        Raises:
            OutOfRange: if there are none, they lie outside of the picture, or are more than ``MOST_CELLS``.
        """
        for what, asked, length in (("rows", rows, len(self.rows)), ("columns", cols, len(self.cols))):
            if not 0 <= asked.start < asked.stop <= length:
                raise OutOfRange(
                    f"{what} {asked.start} to {asked.stop} were asked for, and there are {length}: 0 to {length - 1}."
                )
        if (cells := (rows.stop - rows.start) * (cols.stop - cols.start)) > MOST_CELLS:
            raise OutOfRange(f"{cells:,} weights were asked for at once. At most {MOST_CELLS:,} can be had.")
        parts, largest = [], []
        for band in self.bands(rows):  # a high and narrow rectangle has few cells in rows as long as the text
            weights = self.weights(band)
            parts.append(weights[:, cols].copy())
            largest.append(weights.max(axis=1, initial=0))
        visible = self.visible(rows, cols)
        return Rectangle(
            weights=np.concatenate(parts),
            visible=None if visible is None or visible.all() else visible,
            largest=np.concatenate(largest),
        )

    def _masked_layers(self) -> list[int] | None:
        """Layers that differ in their masks, each mask once; None if one of them hides nothing."""
        from tfmviz.trace.source import QueriesAndKeys

        layers = [self.layer] if self.layer is not None else range(self.stack.n_layers)
        different: dict[int, int] = {}
        for layer in layers:
            source = self.stack.layer(layer).source
            mask = getattr(source, "mask", None)
            if mask is None and isinstance(source, QueriesAndKeys):
                return None
            if self.stack.layer(layer).has_attention:
                different.setdefault(id(source if mask is None else mask), layer)
        return list(different.values())


def is_long(stack: AttentionStack, part: Part = "all") -> bool:
    """Whether a picture has more rows or columns than one window."""
    return max(part_size(stack.query_tokens, part, side=0), part_size(stack.key_tokens, part, side=1)) > WINDOW


def n_weights(stack: AttentionStack, layer: int | None, head: int | None, part: Part = "all") -> int:
    """Weights that must be computed for a picture of the whole text."""
    layers = [stack.layer(layer)] if layer is not None else stack.layers
    heads = sum(one.n_heads if head is None else min(one.n_heads, 1) for one in layers)
    return part_size(stack.query_tokens, part, side=0) * len(stack.key_tokens) * heads


def goes_whole(stack: AttentionStack, layer: int | None, head: int | None, part: Part = "all") -> bool:
    """Whether a long text is shown whole, in blocks; else through a window, because the whole would take too long."""
    return is_long(stack, part) and n_weights(stack, layer, head, part) <= MOST_WEIGHTS


def _positions(tokens: tuple[Token, ...], part: Part, side: Literal[0, 1]) -> np.ndarray:
    chosen = part_positions(tokens, part, side=side)
    return np.arange(len(tokens)) if chosen is None else np.array(chosen, dtype=np.int64)


def _split(tokens: tuple[Token, ...], positions: np.ndarray, hide_special: bool) -> tuple[np.ndarray, np.ndarray]:
    """Positions that are shown, and those that are not."""
    if not hide_special:
        return positions, positions[:0]
    special = np.array([tokens[i].is_special for i in positions], dtype=bool)
    return positions[~special], positions[special]

"""What one picture of one head shows: its weights, who the rows and columns are, and what is left out of it.

Shapes: q queries, k keys; rows and cols are those of the picture, a part of q and k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tfmviz.text.token import Token

if TYPE_CHECKING:
    from tfmviz.trace import AttentionStack

Part = Literal["all", "A→A", "A→B", "B→A", "B→B"]
PARTS: tuple[Part, ...] = ("all", "A→A", "A→B", "B→A", "B→B")
# Rows and columns of one picture. A longer text is looked at through a window of this size.
WINDOW = 512


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadView:
    """The numbers of one picture.

    Attributes:
        weights: float32 [rows, cols], exact.
        visible: bool [rows, cols]: whether the query may look at the key; None where every query sees every key.
        query_tokens: one for each row.
        key_tokens: one for each column.
        part_share: share of the rows' attention that the columns hold; 1 where all columns are there.
        special_share: share of the typed rows' attention in the picture that falls on special tokens.
        sink_share: mean weight that goes to a sink and to no token.
    """

    weights: np.ndarray
    visible: np.ndarray | None
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    part_share: float
    special_share: float
    sink_share: float


def head_view(
    stack: AttentionStack,
    layer: int | None,
    head: int | None,
    part: Part = "all",
    window: tuple[int, int] = (0, 0),
) -> HeadView:
    """Compute what a picture needs, and no weight beside it.

    Args:
        stack: where the weights are.
        layer: None averages over the layers that have attention.
        head: None averages over heads.
        part: which sentence looks at which, in a pair.
        window: first row and first column of the picture, counted in the part, where it has more than ``WINDOW``.

    Raises:
        NoAttention: if the layer has none.
        OutOfRange: if there is no such layer or head.
    """
    rows = _windowed(part_positions(stack.query_tokens, part, side=0), len(stack.query_tokens), window[0])
    cols = _windowed(part_positions(stack.key_tokens, part, side=1), len(stack.key_tokens), window[1])
    weights = _weights(stack, layer, head, rows, cols)
    queries = tuple(stack.query_tokens) if rows is None else tuple(stack.query_tokens[i] for i in rows)
    keys = tuple(stack.key_tokens) if cols is None else tuple(stack.key_tokens[i] for i in cols)
    typed = np.array([not (token.is_special or token.is_padding) for token in queries], dtype=bool)
    special = np.array([token.is_special for token in keys], dtype=bool)
    seen = float(weights.sum(dtype=np.float64))
    sink = _sink_share(stack, layer, head, rows)
    return HeadView(
        weights=weights,
        visible=_visible(stack, layer, head, rows, cols),
        query_tokens=queries,
        key_tokens=keys,
        part_share=1.0 if cols is None else seen / max(_live_rows(stack, layer, rows) - sink * len(queries), 1e-9),
        special_share=_share(weights[typed][:, special], weights[typed]),
        sink_share=sink,
    )


def part_positions(tokens: Sequence[Token], part: Part, *, side: Literal[0, 1]) -> list[int] | None:
    """Rows (side 0) or columns (side 1) of a part: those of the sentence it names. None for all of them."""
    if part == "all":
        return None
    segment = "AB".index(part.split("→")[side])
    return [i for i, token in enumerate(tokens) if token.segment == segment and not token.is_padding]


def _windowed(positions: list[int] | None, length: int, first: int) -> list[int] | None:
    if (length if positions is None else len(positions)) <= WINDOW:
        return positions
    every = list(range(length)) if positions is None else positions
    first = min(max(first, 0), len(every) - WINDOW)
    return every[first : first + WINDOW]


def part_size(tokens: Sequence[Token], part: Part, *, side: Literal[0, 1]) -> int:
    """Tokens of a part."""
    positions = part_positions(tokens, part, side=side)
    return len(tokens) if positions is None else len(positions)


def has_pair(tokens: Sequence[Token]) -> bool:
    """Whether there are two sentences."""
    return any(token.segment == 1 for token in tokens)


def _weights(
    stack: AttentionStack, layer: int | None, head: int | None, rows: list[int] | None, cols: list[int] | None
) -> np.ndarray:
    if layer is not None and head is not None:
        return stack.weights(layer, head, rows, cols).numpy()
    layers = None if layer is None else [layer]
    heads = None if head is None else [head]
    return stack.mean(layers, heads, rows, cols).numpy()


def _visible(
    stack: AttentionStack, layer: int | None, head: int | None, rows: list[int] | None, cols: list[int] | None
) -> np.ndarray | None:
    """What may be looked at. An average is masked where each of its layers is; they are few and mostly alike."""
    layers = [layer] if layer is not None else _with_attention(stack)
    seen: np.ndarray | None = None
    for index in layers:
        mask = stack.visible(index, head or 0, rows, cols).numpy()
        seen = mask if seen is None else seen | mask
        if seen.all():
            return None
    return seen


def _with_attention(stack: AttentionStack) -> list[int]:
    return [i for i in range(stack.n_layers) if not stack.status(i).startswith("none")]


def _sink_share(stack: AttentionStack, layer: int | None, head: int | None, rows: list[int] | None) -> float:
    if layer is None or head is None:
        return 0.0
    sink = stack.sink(layer, head, rows)
    return float(sink.mean()) if sink.numel() else 0.0


def _live_rows(stack: AttentionStack, layer: int | None, rows: list[int] | None) -> int:
    """Rows that may look at anything, each of which has a weight of 1 to give."""
    layers = _with_attention(stack) if layer is None else [layer]
    return int(stack.visible(layers[0], 0, rows, None).any(1).sum())


def _share(part: np.ndarray, whole: np.ndarray) -> float:
    total = float(whole.sum(dtype=np.float64))
    return float(part.sum(dtype=np.float64)) / total if total > 0 else 0.0

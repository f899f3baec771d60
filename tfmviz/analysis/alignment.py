"""Two tokenizers on one text: units that both have cut out, and attention between those units.

A unit is a stretch of the typed text whose ends no token of either model runs across, and in which both models have a
token. Weights move from tokens to units by the rule of Clark et al. 2019, *What does BERT look at?*, section 4.1: what
goes to a unit is the sum over its key tokens, what leaves it is the mean over its query tokens. So a row that summed to
1 still does.

Shapes: u units, h heads, q queries, k keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from tfmviz.errors import ConfigError, EmptyText, NoAttention
from tfmviz.text.token import Token
from tfmviz.text.words import word_spans

if TYPE_CHECKING:
    from tfmviz.trace import AttentionStack, LayerAttention

Grain = Literal["tokens", "words"]
# The columns after the units: special tokens and padding together, and what goes to no token at all (a sink, a query
# that may look at nothing, a head that was silenced). With them every row is a distribution.
APART = ("special tokens", "no token")
# Rounding leaves a float32 row this far from 1 at most; a gap below it is no sink.
ROUNDING = 1e-4


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """One stretch of the typed text.

    Attributes:
        text: its characters, blanks included.
        start, end: where it stands; the units of a text follow each other without a gap.
    """

    text: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Alignment:
    """A text in units, and the tokens of two models in each.

    Attributes:
        units: in order; together they are the whole text.
        unit_of: for A and for B, the unit of each token; -1 for special tokens and padding, which stand apart.
    """

    units: tuple[Unit, ...]
    unit_of: tuple[Int[np.ndarray, " tokens_a"], Int[np.ndarray, " tokens_b"]]

    @property
    def n_columns(self) -> int:
        """Columns of a map: the units and the two of ``APART``."""
        return len(self.units) + len(APART)


def align(text: str, tokens_a: Sequence[Token], tokens_b: Sequence[Token], grain: Grain = "tokens") -> Alignment:
    """Find the units that two tokenizations share.

    Args:
        text: what both models read.
        tokens_a, tokens_b: their tokens, special ones included; of a single text, not of a pair.
        grain: "tokens" for the finest pieces that both share, "words" for no piece shorter than a word.

    Raises:
        EmptyText: if one of them has no token of the text.
        ConfigError: if there are tokens of a second sentence, whose places count in another text.
    """
    sides = (_typed(tokens_a), _typed(tokens_b))
    if not all(sides):
        raise EmptyText("Nothing is left of the text for one of the models, so there is nothing to compare.")
    if any(token.segment for side in sides for token in side):
        raise ConfigError("Only single texts can be aligned, and there are tokens of a second sentence.")
    spans = [(token.start, token.end) for side in sides for token in side]
    needed = [[token.start for token in side] for side in sides]
    if grain == "words" and (words := word_spans(text)):
        spans += words
        needed.append([start for start, _ in words])
    borders = _fill(_borders(len(text), spans), needed)
    units = tuple(Unit(text=text[start:end], start=start, end=end) for start, end in pairwise(borders))
    return Alignment(units=units, unit_of=(_unit_of(tokens_a, borders), _unit_of(tokens_b, borders)))


def unit_weights(
    stack: AttentionStack, unit_of: Int[np.ndarray, " tokens"], layer: int, head: int, *, silenced: bool = False
) -> Float[np.ndarray, "units columns"]:
    """One head between units.

    Args:
        stack: a stack of tokens that look at each other.
        unit_of: one side of an :class:`Alignment`.
        layer, head: which head.
        silenced: the head's output was set to zero: whatever its weights are, nothing is taken from any token.

    Returns:
        float32 [units, units + 2], rows sum to 1; the last two columns are ``APART``.

    Raises:
        NoAttention: if the layer has none.
        OutOfRange: if there is no such head.
    """
    known = stack.layer(layer)
    heads = known.one(head)
    every = range(int(unit_of.max()) + 1)
    return layer_rows(known, unit_of, every, heads=heads, silenced=[0] if silenced else ())[0]


def unit_visible(
    stack: AttentionStack, unit_of: Int[np.ndarray, " tokens"], layer: int, head: int, rows: Sequence[int]
) -> Bool[np.ndarray, "rows columns"]:
    """Where any token of a unit may look at any token of another; what is False there is masked, not merely 0.

    Args:
        stack, unit_of, layer, head: as for :func:`unit_weights`.
        rows: units that look, in order.

    Returns:
        bool [rows, units + 2]; every unit may give weight to no token at all.
    """
    queries, firsts = _tokens_of(unit_of, rows)
    order, starts, columns = _groups(unit_of)
    seen = stack.visible(layer, head, queries.tolist()).cpu().numpy()
    found = np.zeros((len(queries), int(unit_of.max()) + 1 + len(APART)), bool)
    found[:, columns] = np.logical_or.reduceat(seen[:, order], starts, axis=1)
    found[:, -1] = True
    return np.logical_or.reduceat(found, firsts, axis=0)


def layer_rows(
    layer: LayerAttention,
    unit_of: Int[np.ndarray, " tokens"],
    rows: Sequence[int],
    *,
    heads: slice = slice(None),
    silenced: Iterable[int] = (),
) -> Float[np.ndarray, "heads rows columns"]:
    """Some rows of all heads of a layer between units; arguments and columns as for :func:`unit_weights`."""
    import torch

    if not layer.has_attention:
        raise NoAttention(f"This layer has no weights to show: {layer.status.removeprefix('none: ')}.")
    queries, firsts = _tokens_of(unit_of, rows)
    order, starts, columns = _groups(unit_of)
    parts = []
    for block in layer.blocks(heads, torch.from_numpy(queries)):
        found = block.weights.float().cpu().numpy()
        whole = np.zeros((*found.shape[:2], len(unit_of)), np.float32)
        whole[:, :, block.first_key : block.first_key + found.shape[2]] = found
        part = np.zeros((*found.shape[:2], int(unit_of.max()) + 1 + len(APART)), np.float32)
        part[:, :, columns] = np.add.reduceat(whole[:, :, order], starts, axis=2)
        parts.append(part)
    summed = np.concatenate(parts, axis=1)
    counts = np.diff(firsts, append=len(queries)).astype(np.float32)
    out = np.add.reduceat(summed, firsts, axis=1) / counts[:, None]
    gap = 1 - out.sum(axis=2)
    out[:, :, -1] = np.where(gap > ROUNDING, gap, 0)
    for head in silenced:
        out[head] = 0
        out[head, :, -1] = 1
    return out


def _typed(tokens: Sequence[Token]) -> list[Token]:
    return [token for token in tokens if not (token.is_special or token.is_padding)]


def _borders(length: int, spans: Iterable[tuple[int, int]]) -> list[int]:
    """Ends of spans that no span runs across, with the text's own ends."""
    crossed = np.zeros(length + 2, int)
    ends = {0, length}
    for start, end in spans:
        ends |= {start, end}
        if end - start > 1:
            crossed[start + 1] += 1
            crossed[end] -= 1
    inside = crossed.cumsum()
    return [at for at in sorted(ends) if not inside[at]]


def _fill(borders: list[int], needed: Sequence[Sequence[int]]) -> list[int]:
    """Drop borders until every stretch holds one of each list's places: the blanks before a word go with the word."""
    places = [np.sort(np.asarray(each)) for each in needed]
    last = borders[-1]
    kept = [0]
    for border in borders[1:]:
        # the last stretch takes what stands at the very end, such as a token that covers nothing
        high = border + 1 if border == last else border
        if all(np.searchsorted(each, high) > np.searchsorted(each, kept[-1]) for each in places):
            kept.append(border)
    if len(kept) == 1:
        return [0, last]
    return [*kept[:-1], last]


def _unit_of(tokens: Sequence[Token], borders: Sequence[int]) -> Int[np.ndarray, " tokens"]:
    starts = np.array([token.start for token in tokens])
    unit = np.searchsorted(np.asarray(borders), starts, side="right") - 1
    unit = np.minimum(unit, len(borders) - 2)
    apart = np.array([token.is_special or token.is_padding for token in tokens], bool)
    return np.where(apart, -1, unit)


def _tokens_of(unit_of: Int[np.ndarray, " tokens"], rows: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Tokens of some units, in the order of the units, and where each unit begins among them."""
    found = np.flatnonzero(np.isin(unit_of, np.asarray(rows)))
    found = found[np.argsort(unit_of[found], kind="stable")]
    return found, np.flatnonzero(np.diff(unit_of[found], prepend=-2))


def _groups(unit_of: Int[np.ndarray, " tokens"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens in the order of their units, where each unit begins in that order, and the column of each."""
    order = np.argsort(unit_of, kind="stable")
    present, starts = np.unique(unit_of[order], return_index=True)
    # unit -1, the special tokens, is the column after the last unit
    return order, starts, np.where(present < 0, int(unit_of.max()) + 1, present)

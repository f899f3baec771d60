"""The numbers of one Inside page: the steps of a head, seen through the window around the tokens that are followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tfmviz.ui.inside_inputs import Changes, Place, window

if TYPE_CHECKING:
    from torch import Tensor

    from tfmviz.analysis.inside import Check, Stages, Turns
    from tfmviz.models.model import StackOutline
    from tfmviz.text import Token
    from tfmviz.trace import LayerInside

# Dimensions across one picture; a wider model is shown up to here, and the page says so.
MOST_DIMENSIONS = 768


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class InsideView:
    """What is drawn.

    Attributes:
        place: stack, layer and head.
        inside: the layer.
        own: the steps by the model's formula.
        found: the steps by the formula as it was changed.
        changes: what was changed.
        rows, cols: the queries and keys in the picture.
        query: the followed query, in the whole text.
        key: the followed key, in the whole text.
        query_tokens, key_tokens: of the picture.
        checked: how the recomputed steps compare with the model's own numbers, for the rows of the picture.
    """

    place: Place
    inside: LayerInside
    own: Stages
    found: Stages
    changes: Changes
    rows: slice
    cols: slice
    query: int
    key: int
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    checked: Check

    @property
    def row(self) -> int:
        """The followed query's row in the picture."""
        return self.query - self.rows.start

    @property
    def column(self) -> int:
        """The followed key's column in the picture."""
        return self.key - self.cols.start

    @property
    def turns(self) -> Turns:
        """The changes, as the analysis takes them."""
        return _turns(self.changes)

    @property
    def query_token(self) -> Token:
        """The followed query."""
        return self.query_tokens[self.row]

    @property
    def key_token(self) -> Token:
        """The followed key."""
        return self.key_tokens[self.column]

    def cut(self, whole: Tensor) -> np.ndarray:
        """The window's columns of a map whose rows are the window's already."""
        return whole[:, self.cols].numpy()

    def line(self, whole: Tensor) -> np.ndarray:
        """The followed row of such a map, in the window's columns."""
        return whole[self.row, self.cols].numpy()

    @property
    def visible(self) -> np.ndarray:
        """Which cells of the picture may be looked at; bool [rows, cols]."""
        return self.cut(self.found.visible)


def look(
    inside: LayerInside, stack: StackOutline, place: Place, query: int, key: int | None, changes: Changes
) -> InsideView:
    """Compute what the page shows.

    Args:
        inside: the layer.
        stack: whose tokens these are.
        place: which head.
        query: the followed query.
        key: the followed key; None for the one of most weight.
        changes: of the formula.
    """
    from tfmviz.analysis.inside import check, head_stages

    n, k = len(stack.query_tokens), len(stack.key_tokens)
    rows = window(n, query)
    own = head_stages(inside, place.head, rows=rows)
    turns = _turns(changes)
    found = own if turns.is_the_models else head_stages(inside, place.head, rows=rows, turns=turns)
    if key is None:
        key = int(found.weights[query - rows.start].argmax())
    cols = window(k, key)
    return InsideView(
        place=place,
        inside=inside,
        own=own,
        found=found,
        changes=changes,
        rows=rows,
        cols=cols,
        query=query,
        key=key,
        query_tokens=tuple(stack.query_tokens[rows]),
        key_tokens=tuple(stack.key_tokens[cols]),
        checked=check(inside, place.head, rows=rows),
    )


def _turns(changes: Changes) -> Turns:
    from tfmviz.analysis.inside import Turns

    return Turns(scaled=not changes.unscaled, temperature=changes.temperature, rotated=not changes.unrotated)

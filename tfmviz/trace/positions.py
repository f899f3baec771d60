"""Rows and columns that a caller asks for, as one kind of index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import torch
from torch import Tensor

from tfmviz.errors import OutOfRange

# None: all; a slice; or anything torch reads as whole numbers (list, range, numpy array, tensor).
Selection: TypeAlias = Any


def positions(selection: Selection, length: int, *, what: str) -> Tensor:
    """The positions that ``selection`` names among ``length``.

    Args:
        selection: None for all, a slice, or an index array; negative numbers count from the end.
        length: how many positions there are.
        what: ``"row"`` or ``"column"``, for the error.

    Returns:
        int64 positions in 0..length-1, on the CPU, in the order asked for.

    Raises:
        OutOfRange: if a position lies outside, or it is no position at all.
    """
    if selection is None:
        return torch.arange(length)
    if isinstance(selection, slice):
        return torch.arange(length)[selection] if (selection.step or 1) > 0 else _backwards(selection, length)
    try:
        index = torch.as_tensor(selection).detach().cpu().reshape(-1)
    except (TypeError, ValueError, RuntimeError) as error:  # a word, a set, a number of more than 64 bits
        raise OutOfRange(
            f"{what} {selection!r:.80} was asked for. Ask for a whole number, a list of them, or a slice."
        ) from error
    if index.is_floating_point() and index.numel():
        raise OutOfRange(f"{what} {float(index[0]):g} was asked for. Positions are whole numbers.")
    if index.dtype == torch.bool:
        if index.numel() != length:
            raise OutOfRange(f"{index.numel()} times true or false was said of {length} {what}s. Say it of each.")
        index = index.nonzero().reshape(-1)
    index = index.to(torch.int64)
    if index.numel() and not (-length <= int(index.min()) and int(index.max()) < length):
        wrong = index[(index < -length) | (index >= length)]
        raise OutOfRange(f"{what} {int(wrong[0])} was asked for, and there are {length}: 0 to {length - 1}.")
    return torch.where(index < 0, index + length, index)


def _backwards(selection: slice, length: int) -> Tensor:
    return torch.tensor(range(length)[selection], dtype=torch.int64)


def in_blocks(rows: Tensor, size: int) -> Iterator[Tensor]:
    """``rows`` in consecutive pieces of at most ``size``."""
    for first in range(0, rows.numel(), size):
        yield rows[first : first + size]

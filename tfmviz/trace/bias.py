"""What a model adds to its scores before the softmax: relative position biases, ALiBi, learned float masks.

A bias is n² numbers a head as the model writes it and far fewer in truth: T5's depends on the distance alone, ALiBi's
on the distance or on the key. The small form is used only where it reproduces every entry exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Bool, Float
from torch import Tensor

_ROWS_AT_A_TIME = 256


class Bias(Protocol):
    """Numbers added to the scores."""

    def block(self, heads: slice, rows: Tensor, first_key: int, last_key: int) -> Tensor:
        """The numbers for these heads, rows and the keys ``first_key..last_key``; [1 or heads, 1 or rows, keys]."""

    def tensors(self) -> tuple[Tensor, ...]:
        """What this keeps in memory."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DistanceBias:
    """A bias that depends on the distance ``j - i`` alone (T5, ALiBi): 2n-1 numbers a head.

    Attributes:
        values: [1 or h, q + k - 1]; entry ``j - i + q - 1`` belongs to query i and key j.
        n_queries: q.
    """

    values: Float[Tensor, "h distances"]
    n_queries: int

    def block(self, heads: slice, rows: Tensor, first_key: int, last_key: int) -> Tensor:
        """See :class:`Bias`."""
        runs = _of(self.values, heads).unfold(-1, last_key - first_key, 1)
        return runs[:, (first_key + self.n_queries - 1 - rows).to(runs.device)]

    def tensors(self) -> tuple[Tensor, ...]:
        """See :class:`Bias`."""
        return (self.values,)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class KeyBias:
    """A bias that depends on the key alone (ALiBi as BLOOM and Falcon write it; the softmax cancels the rest).

    Attributes:
        values: [1 or h, k].
    """

    values: Float[Tensor, "h k"]

    def block(self, heads: slice, rows: Tensor, first_key: int, last_key: int) -> Tensor:
        """See :class:`Bias`."""
        return _of(self.values, heads)[:, None, first_key:last_key]

    def tensors(self) -> tuple[Tensor, ...]:
        """See :class:`Bias`."""
        return (self.values,)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DenseBias:
    """A bias of no simpler form.

    Attributes:
        values: [1 or h, q, k].
    """

    values: Float[Tensor, "h q k"]

    def block(self, heads: slice, rows: Tensor, first_key: int, last_key: int) -> Tensor:
        """See :class:`Bias`."""
        return _of(self.values, heads)[:, rows.to(self.values.device), first_key:last_key]

    def tensors(self) -> tuple[Tensor, ...]:
        """See :class:`Bias`."""
        return (self.values,)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SumOfBiases:
    """Two biases of different form, such as a position bias and a float mask."""

    parts: tuple[Bias, ...]

    def block(self, heads: slice, rows: Tensor, first_key: int, last_key: int) -> Tensor:
        """See :class:`Bias`."""
        first, *others = (part.block(heads, rows, first_key, last_key) for part in self.parts)
        return sum(others, first)

    def tensors(self) -> tuple[Tensor, ...]:
        """See :class:`Bias`."""
        return tuple(tensor for part in self.parts for tensor in part.tensors())


def _of(values: Tensor, heads: slice) -> Tensor:
    return values if values.shape[0] == 1 else values[heads]


def compact(bias: Tensor, *, n_queries: int, visible: Bool[Tensor, "h q k"] | None = None) -> Bias | None:
    """The smallest exact form of a bias.

    Args:
        bias: [1 or h, 1 or q, k].
        n_queries: q.
        visible: bool, broadcastable to ``bias``; entries that are False never count. None: all count.

    Returns:
        None where the bias is 0 throughout, else the first of key, distance and dense that equals it at every entry.
    """
    bias = bias.detach()
    if bias.shape[1] == 1 and n_queries > 1:
        return None if not bool(bias.any()) else KeyBias(values=bias[:, 0].clone())
    shown = bias if visible is None else bias.masked_fill(~visible, 0.0)
    if not bool(shown.any()):
        return None
    for form in (_by_key(bias, visible), _by_distance(shown, n_queries)):
        if _equals(form, bias, visible):
            return form
    return DenseBias(values=bias.clone())


def _by_key(bias: Tensor, visible: Tensor | None) -> KeyBias:
    """Each key's value read from a visible entry of its column."""
    top = (bias if visible is None else bias.masked_fill(~visible, -torch.inf)).amax(1)
    return KeyBias(values=top.masked_fill(top == -torch.inf, 0.0))


def _by_distance(shown: Tensor, n_queries: int) -> DistanceBias:
    """Each distance's value read from the border of the map, where hidden entries are 0."""
    n_keys = shown.shape[-1]
    values = shown.new_zeros(shown.shape[0], n_queries + n_keys - 1)
    for border, place in (
        (shown[:, -1], slice(0, n_keys)),
        (shown[:, 0], slice(n_queries - 1, None)),
        (shown[:, :, 0].flip(-1), slice(0, n_queries)),
    ):
        values[:, place] = torch.where(border != 0, border, values[:, place])
    return DistanceBias(values=values, n_queries=n_queries)


def _equals(form: Bias, bias: Tensor, visible: Tensor | None) -> bool:
    for rows in torch.arange(bias.shape[1]).split(_ROWS_AT_A_TIME):
        here = slice(int(rows[0]), int(rows[-1]) + 1)
        same = form.block(slice(None), rows, 0, bias.shape[-1]) == bias[:, here]
        if visible is not None:
            same = same | ~(visible if visible.shape[-2] == 1 else visible[:, here])
        if not bool(same.all()):
            return False
    return True

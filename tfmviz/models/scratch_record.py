"""From what the from-scratch transformer recorded to what a trace keeps."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tfmviz.nn import AttentionRecord, Mask, PositionBias, Recording, StackName
from tfmviz.trace import LayerAttention
from tfmviz.trace.bias import DistanceBias
from tfmviz.trace.mask import Intervals, MaskRule


class TraceRecording(Recording):
    """Keeps of each attention call what a trace needs, while the pass runs: values and outputs are let go at once.

    Args:
        hidden_states: whether to keep the residual stream too.
    """

    def __init__(self, *, hidden_states: bool) -> None:
        super().__init__()
        self.layers: dict[StackName, list[LayerAttention]] = {}
        self._keeps_hidden = hidden_states
        self._shared: dict[StackName, _Shared] = {}

    def add_attention(self, record: AttentionRecord) -> None:
        """See :class:`Recording`."""
        self.layers.setdefault(record.stack, []).append(self.layer_of(record))

    def layer_of(self, record: AttentionRecord, *, keep_value: bool = False) -> LayerAttention:
        """What a trace keeps of one call."""
        if record.stack not in self._shared:
            self._shared[record.stack] = _shared(record)
        shared = self._shared[record.stack]
        return LayerAttention.from_queries_and_keys(
            query=record.query[0],
            key=record.key[0],
            scale=record.scoring.scale,
            softcap=record.scoring.softcap,
            mask=shared.mask,
            bias=shared.bias,
            value=record.value[0] if keep_value else None,
        )

    def add_hidden(self, stack: StackName, x: Tensor) -> None:
        """See :class:`Recording`."""
        if self._keeps_hidden:
            super().add_hidden(stack, x)


class _Shared(NamedTuple):
    """What all layers of a stack have in common."""

    mask: MaskRule | None
    bias: DistanceBias | None


def _shared(record: AttentionRecord) -> _Shared:
    scoring, n_queries, n_keys = record.scoring, record.query.shape[2], record.key.shape[2]
    return _Shared(
        mask=_rule(scoring.mask, n_queries, n_keys),
        bias=None if scoring.bias is None else _by_distance(scoring.bias, record.query, n_keys),
    )


def _rule(mask: Mask, n_queries: int, n_keys: int) -> MaskRule | None:
    """The rule where traces are read: on the CPU, and in the form whose empty parts are skipped where there is one."""
    match mask.reach(n_queries, n_keys):
        case "all":
            return None
        case "causal":
            return Intervals.causal(n_queries, n_keys)
        case _:
            return mask.to("cpu")


def _by_distance(bias: PositionBias, query: Tensor, n_keys: int) -> DistanceBias:
    """Every scheme here depends on distance alone: one row of the bias, long enough to hold all distances."""
    n_queries = query.shape[2]
    last = torch.tensor([n_queries - 1], device=query.device)
    every = torch.arange(n_queries + n_keys - 1, device=query.device)
    return DistanceBias(values=bias.block(last, every)[:, 0].detach(), n_queries=n_queries)

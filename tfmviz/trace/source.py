"""The three things a layer's attention can be known from: queries and keys, the weights themselves, or nothing.

Each answers one question, :meth:`Source.block`: the weights of some rows. Everything that people ask (a rectangle, an
overview, a mean) is put together from such blocks, so no n² tensor exists unless somebody asks for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tfmviz.trace.bias import Bias
from tfmviz.trace.mask import Intervals, MaskRule, MaskTensor, Span


@dataclass(frozen=True, slots=True)
class WeightBlock:
    """Weights of some rows, over the keys that any of those rows may see.

    Attributes:
        weights: float32 [h, r, c].
        first_key: the key of column 0; keys outside the block have weight 0.
        sink: float32 [h, r], the weight that goes to the sink and to no key; None without one.
    """

    weights: Float[Tensor, "h r c"]
    first_key: int
    sink: Float[Tensor, "h r"] | None = None


class Source(Protocol):
    """What a layer's weights are computed or read from."""

    @property
    def n_heads(self) -> int: ...
    @property
    def n_kv_heads(self) -> int: ...
    @property
    def n_queries(self) -> int: ...
    @property
    def n_keys(self) -> int: ...

    def block(self, heads: slice, rows: Tensor, *, multiple: int = 1) -> WeightBlock:
        """Weights of ``rows`` for one head (``slice(h, h + 1)``) or all (``slice(None)``).

        ``multiple`` asks that the block's first and last key fall on multiples of it, or on the end.
        """

    def visible(self, head: int, rows: Tensor, cols: Tensor) -> Tensor:
        """True where the query may look at the key; bool [rows, cols]."""

    def tensors(self) -> tuple[Tensor, ...]:
        """What this keeps in memory."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class QueriesAndKeys:
    """Attention known by its formula, exact for any rectangle and O(n) in memory.

        softmax(mask(softcap(scale * query @ key.T) + bias))

    in float32, with one more column for the sink that is dropped after the softmax. Head h reads key head
    ``h // (n_heads // n_kv_heads)``. A query that may look at nothing has a row of zeros.

    Attributes:
        query: [h, q, d], after rotary embedding.
        key: [kv, k, d], after rotary embedding.
        scale: what ``query @ key.T`` is multiplied by.
        softcap: scores are bent to ``softcap * tanh(score / softcap)`` (Gemma 2); None for none.
        mask: which keys are visible; None for all.
        bias: added after the cap; None for none.
        sink: [h], a learned score that takes its share of each row (GPT-OSS); None for none.
        value: [kv, k, dv], kept on request.

    Sources: Vaswani et al. 2017, section 3.2.1; grouped queries: Ainslie et al. 2023.
    """

    query: Float[Tensor, "h q d"]
    key: Float[Tensor, "kv k d"]
    scale: float
    softcap: float | None = None
    mask: MaskRule | None = None
    bias: Bias | None = None
    sink: Float[Tensor, " h"] | None = None
    value: Float[Tensor, "kv k dv"] | None = None

    @property
    def n_heads(self) -> int:
        return self.query.shape[0]

    @property
    def n_kv_heads(self) -> int:
        return self.key.shape[0]

    @property
    def n_queries(self) -> int:
        return self.query.shape[1]

    @property
    def n_keys(self) -> int:
        return self.key.shape[1]

    def block(self, heads: slice, rows: Tensor, *, multiple: int = 1) -> WeightBlock:
        """See :class:`Source`."""
        span = self._span(rows)
        first = span.first // multiple * multiple
        last = min(-(-span.last // multiple) * multiple, self.n_keys)
        scores = self._scores(heads, rows, first, last)
        live = self._hide(scores, heads, rows, first, last, span)
        sink = None
        if self.sink is not None:
            column = self.sink[heads].float()[:, None, None].expand(-1, rows.numel(), 1)
            scores = torch.cat([scores, column], -1)
        weights = torch.softmax(scores, -1, out=scores)
        if self.sink is not None:
            weights, sink = weights[..., :-1], weights[..., -1]
        if live is not None:
            weights *= live[..., None]
        return WeightBlock(weights, first, sink)

    def _span(self, rows: Tensor) -> Span:
        if isinstance(self.mask, Intervals):
            return self.mask.span(rows)
        return Span(0, self.n_keys, 0, self.n_keys if self.mask is None else 0)

    def _scores(self, heads: slice, rows: Tensor, first: int, last: int) -> Tensor:
        """Scores before the mask, [h, r, c]."""
        n_shared = self.n_heads // self.n_kv_heads
        one = heads.start is not None
        query = self.query[heads].index_select(1, rows.to(self.query.device)).float()
        key = self.key[heads.start // n_shared, None] if one else self.key
        key = key[:, first:last].float()
        # the query heads that share a key head are rows of one product: [kv, h/kv * r, c]
        grouped = query.reshape(key.shape[0], -1, query.shape[-1])
        scores = torch.baddbmm(grouped.new_zeros(1), grouped, key.transpose(1, 2), beta=0, alpha=self.scale)
        scores = scores.view(query.shape[0], rows.numel(), last - first)
        if self.softcap is not None:
            scores.div_(self.softcap).tanh_().mul_(self.softcap)
        if self.bias is not None:
            scores += self.bias.block(heads, rows, first, last)
        return scores

    def _hide(
        self, scores: Tensor, heads: slice, rows: Tensor, first: int, last: int, span: Span
    ) -> Bool[Tensor, "h r"] | None:
        """Fill hidden scores, and say which rows see anything; None where all do."""
        if self.mask is None:
            return None
        lowest = torch.finfo(scores.dtype).min  # not -inf: a row of them would be NaN
        edges = ((first, span.inner_first), (span.inner_last, last))
        if span.inner_first >= span.inner_last:
            edges = ((first, last),)
        for begin, end in edges:
            if begin < end:
                hidden = ~_for_heads(self.mask.block(rows, torch.arange(begin, end)), heads).to(scores.device)
                scores[..., begin - first : end - first].masked_fill_(hidden, lowest)
        if len(edges) > 1:
            return None  # each row sees the inner keys
        return ~hidden.all(-1) if bool(hidden.all(-1).any()) else None

    def visible(self, head: int, rows: Tensor, cols: Tensor) -> Tensor:
        """See :class:`Source`."""
        if self.mask is None:
            return torch.ones(rows.numel(), cols.numel(), dtype=torch.bool)
        block = _for_heads(self.mask.block(rows, cols), slice(head, head + 1)).cpu()
        return block[0] if block.ndim == 3 else block

    def tensors(self) -> tuple[Tensor, ...]:
        """See :class:`Source`."""
        own = [t for t in (self.query, self.key, self.value, self.sink) if t is not None]
        for part in (self.mask, self.bias):
            own.extend(part.tensors() if part is not None and hasattr(part, "tensors") else ())
        return tuple(own)


def _for_heads(block: Tensor, heads: slice) -> Tensor:
    return block[heads] if block.ndim == 3 and block.shape[0] > 1 else block


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class KnownWeights:
    """Attention known by its weights, as the model itself computed them: O(n²) in memory.

    Attributes:
        weights: [h, q, k].
        mask: which keys were visible; None where it is not known: then a weight of exactly 0 counts as hidden.
        sink: [h, q], what went to a sink; None for none.
    """

    weights: Float[Tensor, "h q k"]
    mask: MaskTensor | Intervals | MaskRule | None = None
    sink: Float[Tensor, "h q"] | None = None

    @property
    def n_heads(self) -> int:
        return self.weights.shape[0]

    @property
    def n_kv_heads(self) -> int:
        return self.weights.shape[0]

    @property
    def n_queries(self) -> int:
        return self.weights.shape[1]

    @property
    def n_keys(self) -> int:
        return self.weights.shape[2]

    def block(self, heads: slice, rows: Tensor, *, multiple: int = 1) -> WeightBlock:
        """See :class:`Source`."""
        at = rows.to(self.weights.device)
        weights = self.weights[heads].index_select(1, at).float()
        if self.mask is not None:
            live = _for_heads(self.mask.block(rows, torch.arange(self.n_keys)), heads).any(-1)
            weights *= live[..., None].to(weights.device)
        sink = None if self.sink is None else self.sink[heads].index_select(1, at).float()
        return WeightBlock(weights, 0, sink)

    def visible(self, head: int, rows: Tensor, cols: Tensor) -> Tensor:
        """See :class:`Source`."""
        if self.mask is None:
            at = self.weights.device
            return (self.weights[head, rows.to(at)][:, cols.to(at)] != 0).cpu()
        block = _for_heads(self.mask.block(rows, cols), slice(head, head + 1)).cpu()
        return block[0] if block.ndim == 3 else block

    def tensors(self) -> tuple[Tensor, ...]:
        """See :class:`Source`."""
        own = [self.weights] if self.sink is None else [self.weights, self.sink]
        own.extend(self.mask.tensors() if self.mask is not None and hasattr(self.mask, "tensors") else ())
        return tuple(own)


@dataclass(frozen=True, kw_only=True, slots=True)
class Nothing:
    """A layer with no attention to show.

    Attributes:
        reason: why, for the reader.
    """

    reason: str

"""The three things a layer's attention can be known from: queries and keys, the weights themselves, or nothing.

Each answers one question, :meth:`Source.block`: the weights of some rows. Everything that people ask (a rectangle, an
overview, a mean) is put together from such blocks, so no n² tensor exists unless somebody asks for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.trace.bias import Bias
from tfmviz.trace.mask import MaskRule, View, for_heads, kept_by, view


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
    @property
    def mask(self) -> MaskRule | None: ...

    def view(self, rows: Tensor, *, multiple: int = 1) -> View:
        """What ``rows`` see; layers with the same mask can share it. See :func:`tfmviz.trace.mask.view`."""

    def block(self, heads: slice, rows: Tensor, seen: View) -> WeightBlock:
        """Weights of ``rows``, seen through their view, for one head (``slice(h, h + 1)``) or all (``slice(None)``)."""

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

    def view(self, rows: Tensor, *, multiple: int = 1) -> View:
        """See :class:`Source`."""
        return view(self.mask, rows, n_keys=self.n_keys, multiple=multiple)

    def block(self, heads: slice, rows: Tensor, seen: View) -> WeightBlock:
        """See :class:`Source`."""
        scores = self._scores(heads, rows, seen.first, seen.last)
        for begin, end, hidden in seen.hidden:
            # the lowest finite number, for a row of minus infinities would be NaN
            part = scores[..., begin - seen.first : end - seen.first]
            part.masked_fill_(for_heads(hidden, heads).to(scores.device), torch.finfo(scores.dtype).min)
        sink = None
        if self.sink is not None:
            column = self.sink[heads].float()[:, None, None].expand(-1, rows.numel(), 1)
            scores = torch.cat([scores, column], -1)
        weights = torch.softmax(scores, -1, out=scores)
        if self.sink is not None:
            weights, sink = weights[..., :-1], weights[..., -1]
        if seen.live is not None:
            weights *= for_heads(seen.live[..., None], heads).to(weights.device)
        return WeightBlock(weights, seen.first, sink)

    def _scores(self, heads: slice, rows: Tensor, first: int, last: int) -> Tensor:
        """Scores before the mask, [h, r, c]."""
        n_shared = self.n_heads // self.n_kv_heads
        one = heads.start is not None
        query = self.query[heads].index_select(1, rows.to(self.query.device)).float()
        key = self.key[heads.start // n_shared, None] if one else self.key
        key = key[:, first:last].float()
        # the query heads that share a key head are rows of one product: [kv, h/kv * r, c]
        grouped = query.reshape(key.shape[0], -1, query.shape[-1])
        scores = torch.baddbmm(grouped.new_empty(1), grouped, key.transpose(1, 2), beta=0, alpha=self.scale)
        scores = scores.view(query.shape[0], rows.numel(), last - first)
        if self.softcap is not None:
            scores.div_(self.softcap).tanh_().mul_(self.softcap)
        if self.bias is not None:
            scores += self.bias.block(heads, rows, first, last)
        return scores

    def visible(self, head: int, rows: Tensor, cols: Tensor) -> Tensor:
        """See :class:`Source`."""
        if self.mask is None:
            return torch.ones(rows.numel(), cols.numel(), dtype=torch.bool)
        block = for_heads(self.mask.block(rows, cols), slice(head, head + 1)).cpu()
        return block[0] if block.ndim == 3 else block

    def tensors(self) -> tuple[Tensor, ...]:
        """See :class:`Source`."""
        own = [t for t in (self.query, self.key, self.value, self.sink) if t is not None]
        return (*own, *kept_by(self.mask), *(self.bias.tensors() if self.bias is not None else ()))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class KnownWeights:
    """Attention known by its weights, as the model itself computed them: O(n²) in memory.

    Attributes:
        weights: [h, q, k].
        mask: which keys were visible; None where it is not known: then a weight of exactly 0 counts as hidden.
        sink: [h, q], what went to a sink; None for none.
    """

    weights: Float[Tensor, "h q k"]
    mask: MaskRule | None = None
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

    def view(self, rows: Tensor, *, multiple: int = 1) -> View:
        """See :class:`Source`."""
        return view(self.mask, rows, n_keys=self.n_keys, multiple=multiple)

    def block(self, heads: slice, rows: Tensor, seen: View) -> WeightBlock:
        """See :class:`Source`."""
        at = rows.to(self.weights.device)
        weights = self.weights[heads, :, seen.first : seen.last].index_select(1, at).float()
        if seen.live is not None:
            weights *= for_heads(seen.live[..., None], heads).to(weights.device)
        sink = None if self.sink is None else self.sink[heads].index_select(1, at).float()
        return WeightBlock(weights, seen.first, sink)

    def visible(self, head: int, rows: Tensor, cols: Tensor) -> Tensor:
        """See :class:`Source`."""
        if self.mask is None:
            at = self.weights.device
            return (self.weights[head, rows.to(at)][:, cols.to(at)] != 0).cpu()
        block = for_heads(self.mask.block(rows, cols), slice(head, head + 1)).cpu()
        return block[0] if block.ndim == 3 else block

    def tensors(self) -> tuple[Tensor, ...]:
        """See :class:`Source`."""
        own = [self.weights] if self.sink is None else [self.weights, self.sink]
        return (*own, *kept_by(self.mask))


@dataclass(frozen=True, kw_only=True, slots=True)
class Nothing:
    """A layer with no attention to show.

    Attributes:
        reason: why, for the reader.
    """

    reason: str

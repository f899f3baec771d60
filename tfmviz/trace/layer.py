"""One layer's attention: what it can be asked, whatever it is known from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tfmviz.errors import ConfigError, NoAttention, OutOfRange
from tfmviz.trace import bias as bias_forms
from tfmviz.trace import mask as mask_forms
from tfmviz.trace.mask import MaskRule
from tfmviz.trace.positions import Selection, in_blocks, positions
from tfmviz.trace.source import KnownWeights, Nothing, QueriesAndKeys, Source, WeightBlock

# Weights held at once while something is put together from blocks of rows: 2 MB of float32, so that all the steps on a
# block find it in cache.
BLOCK_WEIGHTS = 1 << 19


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LayerAttention:
    """The attention of one layer of one stack: rows are queries, columns are keys.

    A row sums to 1, less the share of a sink. A query that may look at nothing has a row of zeros, never NaN. A
    padding token is an ordinary query: its row is what the model computed for it, and only as a key is it hidden.

    Attributes:
        source: queries and keys, weights, or nothing.
        residual: largest relative difference found when weights @ value was compared with what the layer gave out;
            None where that was not possible.
    """

    source: Source | Nothing
    residual: float | None = None

    @classmethod
    def from_queries_and_keys(
        cls,
        *,
        query: Float[Tensor, "h q d"],
        key: Float[Tensor, "kv k d"],
        scale: float | None = None,
        softcap: float | None = None,
        mask: MaskRule | Tensor | None = None,
        bias: Tensor | bias_forms.Bias | None = None,
        sink: Float[Tensor, " h"] | None = None,
        value: Float[Tensor, "kv k dv"] | None = None,
    ) -> LayerAttention:
        """Attention that is computed when somebody looks at it.

        Args:
            query: [h, q, d], position already applied.
            key: [kv, k, d], position already applied; kv divides h.
            scale: factor of the scores; ``d ** -0.5`` where None.
            softcap: Gemma 2's cap on the scores.
            mask: None (everything visible), a bool tensor [q, k] or [h, q, k] with True for visible, or a rule with
                ``block(rows, cols)``.
            bias: added to the scores; [1 or h, q, k] or a compact form.
            sink: [h], score of the sink.
            value: [kv, k, dv], kept if given.

        Raises:
            ConfigError: if the shapes do not fit together.
        """
        if query.ndim != 3 or key.ndim != 3 or query.shape[-1] != key.shape[-1] or query.shape[0] % key.shape[0]:
            raise ConfigError(
                f"query {tuple(query.shape)} and key {tuple(key.shape)} are not [h, q, d] and [kv, k, d] with kv "
                "dividing h."
            )
        if isinstance(mask, Tensor):
            mask = mask_forms.compact(mask, n_queries=query.shape[1], n_keys=key.shape[1])
        if isinstance(bias, Tensor):
            bias = bias_forms.compact(bias, n_queries=query.shape[1])
        source = QueriesAndKeys(
            query=query.detach(),
            key=key.detach(),
            scale=query.shape[-1] ** -0.5 if scale is None else float(scale),
            softcap=softcap,
            mask=mask,
            bias=bias,
            sink=None if sink is None else sink.detach(),
            value=None if value is None else value.detach(),
        )
        return cls(source=source)

    @classmethod
    def from_weights(
        cls,
        weights: Float[Tensor, "h q k"],
        *,
        mask: MaskRule | Tensor | None = None,
        sink: Float[Tensor, "h q"] | None = None,
    ) -> LayerAttention:
        """Attention whose weights [h, q, k] are known. ``mask`` as in :meth:`from_queries_and_keys`."""
        if isinstance(mask, Tensor):
            mask = mask_forms.compact(mask, n_queries=weights.shape[1], n_keys=weights.shape[2])
        return cls(source=KnownWeights(weights=weights.detach(), mask=mask, sink=sink))

    @classmethod
    def none(cls, reason: str) -> LayerAttention:
        """A layer without attention; ``reason`` completes "none: ..."."""
        return cls(source=Nothing(reason=reason))

    @property
    def status(self) -> str:
        """``"exact"``, ``"dense"`` (weights taken from the model itself) or ``"none: <reason>"``."""
        match self.source:
            case Nothing(reason=reason):
                return f"none: {reason}"
            case KnownWeights():
                return "dense"
            case _:
                return "exact"

    @property
    def has_attention(self) -> bool:
        """Whether there are weights to ask for."""
        return not isinstance(self.source, Nothing)

    @property
    def known(self) -> Source:
        """Where the weights come from.

        Raises:
            NoAttention: if there are none.
        """
        if isinstance(self.source, Nothing):
            raise NoAttention(f"This layer has no weights to show: {self.source.reason}.")
        return self.source

    @property
    def n_heads(self) -> int:
        """Query heads h; 0 without attention."""
        return self.known.n_heads if self.has_attention else 0

    @property
    def n_kv_heads(self) -> int:
        """Key and value heads; fewer than ``n_heads`` where queries share them."""
        return self.known.n_kv_heads if self.has_attention else 0

    @property
    def n_queries(self) -> int:
        """Rows q."""
        return self.known.n_queries if self.has_attention else 0

    @property
    def n_keys(self) -> int:
        """Columns k."""
        return self.known.n_keys if self.has_attention else 0

    def weights(self, head: int, rows: Selection = None, cols: Selection = None) -> Float[Tensor, "rows cols"]:
        """Exact weights of one head.

        Args:
            head: 0..n_heads-1.
            rows: queries: a slice or an index array; None for all.
            cols: keys, likewise.

        Returns:
            float32 [rows, cols] on the CPU. Nothing larger is ever held, but for one block of rows.

        Raises:
            NoAttention, OutOfRange.
        """
        heads = self.one(head)
        rows = positions(rows, self.n_queries, what="row")
        cols = positions(cols, self.n_keys, what="column")
        out = torch.zeros(rows.numel(), cols.numel())
        whole = cols.numel() == self.n_keys and torch.equal(cols, torch.arange(self.n_keys))
        done = 0
        for block in self.blocks(heads, rows):
            found, first = block.weights[0].cpu(), block.first_key
            place = out[done : done + found.shape[0]]
            if whole:
                place[:, first : first + found.shape[1]] = found
            else:
                inside = ((cols >= first) & (cols < first + found.shape[1])).nonzero().reshape(-1)
                place[:, inside] = found[:, cols[inside] - first]
            done += found.shape[0]
        return out

    def visible(self, head: int, rows: Selection = None, cols: Selection = None) -> Bool[Tensor, "rows cols"]:
        """True where the query may look at the key. Arguments as for :meth:`weights`."""
        self.one(head)
        rows = positions(rows, self.n_queries, what="row")
        return self.known.visible(head, rows, positions(cols, self.n_keys, what="column"))

    def sink(self, head: int, rows: Selection = None) -> Float[Tensor, " rows"]:
        """What each row gives to a sink and to no key; zeros in a model without sinks."""
        rows = positions(rows, self.n_queries, what="row")
        shares = [block.sink for block in self.blocks(self.one(head), rows) if block.sink is not None]
        return torch.cat([share[0] for share in shares]).cpu() if shares else torch.zeros(rows.numel())

    def blocks(self, heads: slice, rows: Tensor) -> Iterator[WeightBlock]:
        """The weights of ``rows``, some rows at a time, in order.

        Args:
            heads: ``slice(h, h + 1)`` or ``slice(None)``.
            rows: int64 positions on the CPU.
        """
        for part in self.row_blocks(heads, rows):
            with torch.no_grad():
                block = self.known.block(heads, part, self.known.view(part))
            yield block

    def row_blocks(self, heads: slice, rows: Tensor, *, multiple: int = 1) -> Iterator[Tensor]:
        """``rows`` in pieces whose weights are held at once: a multiple of so many rows, but for the last."""
        n_heads = self.n_heads if heads.start is None else 1
        size = max(BLOCK_WEIGHTS // (n_heads * self.n_keys), 1)
        return in_blocks(rows, max(size // multiple * multiple, multiple))

    def one(self, head: int) -> slice:
        """One head, as :meth:`blocks` takes it; raises OutOfRange."""
        if not 0 <= head < self.known.n_heads:
            raise OutOfRange(f"Head {head} was asked for, and this layer has {self.n_heads}: 0 to {self.n_heads - 1}.")
        return slice(head, head + 1)

    def tensors(self) -> tuple[Tensor, ...]:
        """What this layer keeps in memory, some of it perhaps shared with other layers."""
        return self.known.tensors() if self.has_attention else ()

    @property
    def nbytes(self) -> int:
        """Bytes kept, each buffer once."""
        return nbytes(self.tensors())


def nbytes(tensors: tuple[Tensor, ...]) -> int:
    """Bytes of the buffers behind ``tensors``, each counted once and whole, even where a tensor is a part of it."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(storages.values())

"""The layers that look from one sequence of tokens at another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor

from tfmviz.errors import NoAttention, OutOfRange
from tfmviz.text import Token
from tfmviz.trace.layer import LayerAttention, nbytes
from tfmviz.trace.overview import Overviewer, block_length
from tfmviz.trace.positions import Selection, positions


@dataclass(frozen=True, slots=True)
class Link:
    """One query token looking at one key token."""

    query: int
    key: int
    weight: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class AttentionStack:
    """Every head of every layer of an encoder, a decoder or the bridge between them.

    Rows are queries, columns are keys. Tensors that come back are on the CPU.

    Attributes:
        name: ``"self"``, or ``"encoder"``, ``"decoder"``, ``"cross"``.
        query_tokens: who looks; the rows.
        key_tokens: who is looked at; the columns.
        layers: in the order in which the model runs them.
    """

    name: str
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    layers: tuple[LayerAttention, ...]

    @property
    def n_layers(self) -> int:
        """Layers, with those that have no attention."""
        return len(self.layers)

    @property
    def n_heads(self) -> int:
        """Heads of the layer that has most."""
        return max((layer.n_heads for layer in self.layers), default=0)

    @property
    def n_kv_heads(self) -> int:
        """Key heads of the layer that has most."""
        return max((layer.n_kv_heads for layer in self.layers), default=0)

    def layer(self, layer: int) -> LayerAttention:
        """One layer.

        Raises:
            OutOfRange: if there is no such layer.
        """
        if not 0 <= layer < self.n_layers:
            raise OutOfRange(f"Layer {layer} was asked for, and there are {self.n_layers}: 0 to {self.n_layers - 1}.")
        return self.layers[layer]

    def status(self, layer: int) -> str:
        """``"exact"``, ``"dense"`` (weights taken from the model itself) or ``"none: <reason>"``."""
        return self.layer(layer).status

    def weights(
        self, layer: int, head: int, rows: Selection = None, cols: Selection = None
    ) -> Float[Tensor, "rows cols"]:
        """Exact weights of one head, float32; see :meth:`LayerAttention.weights`."""
        return self.layer(layer).weights(head, rows, cols)

    def visible(
        self, layer: int, head: int, rows: Selection = None, cols: Selection = None
    ) -> Bool[Tensor, "rows cols"]:
        """True where the query may look at the key: what tells a masked key from one of small weight."""
        return self.layer(layer).visible(head, rows, cols)

    def sink(self, layer: int, head: int, rows: Selection = None) -> Float[Tensor, " rows"]:
        """What each row gives to a sink and to no token; zeros in a model without sinks."""
        return self.layer(layer).sink(head, rows)

    def overview(
        self, size: int = 64, *, report: Callable[[float], None] | None = None
    ) -> UInt8[Tensor, "layers heads rows cols"]:
        """All heads at once, small.

        Args:
            size: most blocks in each direction; a block has ``ceil(n / size)`` tokens.
            report: told the share that is done after each layer: thousands of tokens take seconds.

        Returns:
            uint8 [layers, heads, <=size, <=size], the largest weight in each block, 255 = 1; zeros for layers without
            attention.
        """
        if size < 1:
            raise OutOfRange(f"size={size} blocks were asked for. Ask for 1 or more.")
        n_rows = -(-len(self.query_tokens) // block_length(len(self.query_tokens), size))
        n_cols = -(-len(self.key_tokens) // block_length(len(self.key_tokens), size))
        out = torch.zeros(self.n_layers, self.n_heads, n_rows, n_cols, dtype=torch.uint8)
        overviewer = Overviewer(size)
        for done, (place, layer) in enumerate(zip(out, self.layers, strict=True), start=1):
            if layer.has_attention:
                small = overviewer.block_maxima(layer)
                place[: small.shape[0], : small.shape[1], : small.shape[2]] = small
            if report is not None:
                report(done / self.n_layers)
        return out

    def mean(
        self,
        layers: Sequence[int] | None = None,
        heads: Sequence[int] | None = None,
        rows: Selection = None,
        cols: Selection = None,
    ) -> Float[Tensor, "rows cols"]:
        """The average map of some layers and heads; layers without attention do not count.

        Raises:
            NoAttention: if none of the layers has attention.
        """
        chosen = [self.layer(i) for i in (range(self.n_layers) if layers is None else layers)]
        chosen = [layer for layer in chosen if layer.has_attention]
        if not chosen:
            raise NoAttention("None of these layers has attention to average.")
        if heads is not None and len(heads) == 0:
            raise OutOfRange("No head was given to average. Name at least one, or leave heads out for all of them.")
        rows = positions(rows, len(self.query_tokens), what="row")
        cols = positions(cols, len(self.key_tokens), what="column")
        total, count = torch.zeros(rows.numel(), cols.numel()), 0
        for layer in chosen:
            total += _sum_of_heads(layer, heads, rows)[:, cols]
            count += layer.n_heads if heads is None else len(heads)
        return total / count

    def strongest(self, layer: int, head: int, k: int = 10) -> tuple[Link, ...]:
        """The ``k`` links of most weight in one head, strongest first."""
        if k < 1:
            raise OutOfRange(f"k={k} links were asked for. Ask for 1 or more.")
        source, n_keys = self.layer(layer), self.layer(layer).n_keys
        values, places = torch.zeros(0), torch.zeros(0, dtype=torch.int64)
        first_row = 0
        for block in source.blocks(source.one(head), torch.arange(source.n_queries)):
            weights = block.weights[0].cpu()
            row, col = torch.meshgrid(*(torch.arange(n) for n in weights.shape), indexing="ij")
            flat = ((row + first_row) * n_keys + col + block.first_key).reshape(-1)
            values, best = torch.cat([values, weights.reshape(-1)]).topk(min(k, values.numel() + weights.numel()))
            places = torch.cat([places, flat])[best]
            first_row += weights.shape[0]
        pairs = zip(places.tolist(), values.tolist(), strict=True)
        return tuple(Link(place // n_keys, place % n_keys, value) for place, value in pairs if value > 0)

    @property
    def nbytes(self) -> int:
        """Bytes kept, buffers that layers share counted once."""
        return nbytes(tuple(tensor for layer in self.layers for tensor in layer.tensors()))


def _sum_of_heads(layer: LayerAttention, heads: Sequence[int] | None, rows: Tensor) -> Float[Tensor, "rows k"]:
    total = torch.zeros(rows.numel(), layer.n_keys)
    for chosen in [slice(None)] if heads is None else [layer.one(head) for head in heads]:
        done = 0
        for block in layer.blocks(chosen, rows):
            found = block.weights.sum(0).cpu()
            total[done : done + found.shape[0], block.first_key : block.first_key + found.shape[1]] += found
            done += found.shape[0]
    return total

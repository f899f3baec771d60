"""One softmax over the decoder's own tokens and the encoder's together (T5Gemma 2), shown as the two maps it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from tfmviz.trace.layer import LayerAttention
from tfmviz.trace.mask import MaskRule, View
from tfmviz.trace.source import QueriesAndKeys, WeightBlock

Layers = dict[str, list[LayerAttention | None]]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SomeKeys:
    """A run of the keys of another source. What goes to the other keys counts as its sink.

    Attributes:
        whole: the source.
        first: its first key here.
        last: one past its last key here.
    """

    whole: QueriesAndKeys
    first: int
    last: int

    @property
    def n_heads(self) -> int:
        return self.whole.n_heads

    @property
    def n_kv_heads(self) -> int:
        return self.whole.n_kv_heads

    @property
    def n_queries(self) -> int:
        return self.whole.n_queries

    @property
    def n_keys(self) -> int:
        return self.last - self.first

    @property
    def mask(self) -> MaskRule | None:
        """Of the whole."""
        return self.whole.mask

    def view(self, rows: Tensor, *, multiple: int = 1) -> View:
        """See :class:`Source`."""
        return self.whole.view(rows)

    def block(self, heads: slice, rows: Tensor, seen: View) -> WeightBlock:
        """See :class:`Source`."""
        block = self.whole.block(heads, rows, seen)
        weights: Float[Tensor, "h r k"] = block.weights.new_zeros(*block.weights.shape[:2], self.whole.n_keys)
        weights[..., block.first_key : block.first_key + block.weights.shape[-1]] = block.weights
        here = weights[..., self.first : self.last]
        elsewhere = weights.sum(-1) - here.sum(-1)
        return WeightBlock(here, 0, elsewhere if block.sink is None else elsewhere + block.sink)

    def visible(self, head: int, rows: Tensor, cols: Tensor) -> Tensor:
        """See :class:`Source`."""
        return self.whole.visible(head, rows, cols + self.first)

    def tensors(self) -> tuple[Tensor, ...]:
        """See :class:`Source`."""
        return self.whole.tensors()


def split_merged(layers: Layers, shapes: Mapping[str, tuple[int, int]]) -> Layers:
    """Decoder layers whose keys are the target's tokens and then the source's, as a decoder and a cross layer."""
    n_target, n_source = shapes["cross"]
    if not n_target or "cross" not in layers or len(layers["cross"]) != len(layers["decoder"]):
        return layers
    for i, layer in enumerate(layers["decoder"]):
        if layer is None or layers["cross"][i] is not None or layer.n_keys != n_target + n_source:
            continue
        if isinstance(whole := layer.source, QueriesAndKeys):
            own, other = (SomeKeys(whole=whole, first=a, last=b) for a, b in ((0, n_target), (n_target, layer.n_keys)))
            layers["decoder"][i] = LayerAttention(source=own, residual=layer.residual)
            layers["cross"][i] = LayerAttention(source=other, residual=layer.residual)
    return layers

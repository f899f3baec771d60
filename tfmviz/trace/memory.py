"""What a trace keeps in memory, and what all its weights would take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tfmviz.trace.layer import LayerAttention, nbytes


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryUse:
    """Bytes of attention.

    Attributes:
        kept: bytes the trace holds: queries and keys, masks, biases; each buffer once.
        dense: bytes that the weights of all heads would take in float32.
    """

    kept: int
    dense: int

    @classmethod
    def of(cls, layers: Iterable[LayerAttention]) -> MemoryUse:
        """What these layers take."""
        layers = tuple(layers)
        return cls(
            kept=nbytes(tuple(tensor for layer in layers for tensor in layer.tensors())),
            dense=sum(4 * layer.n_heads * layer.n_queries * layer.n_keys for layer in layers),
        )

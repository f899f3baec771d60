"""A layer's heads made small enough to draw all of them: block maxima, so that a thin diagonal survives."""

from __future__ import annotations

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from tfmviz.trace.layer import LayerAttention
from tfmviz.trace.mask import View
from tfmviz.trace.source import Source


def block_length(n_positions: int, size: int) -> int:
    """Positions in one block, so that at most ``size`` blocks cover ``n_positions``."""
    return max(-(-n_positions // size), 1)


class Overviewer:
    """Makes the overviews of layers. Those that share a mask share what their rows see, which is worked out once."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._views: dict[tuple[int, int, int, int], tuple[object, View]] = {}

    def block_maxima(self, layer: LayerAttention) -> UInt8[Tensor, "h rows cols"]:
        """The largest weight in each block of each head.

        Blocks are squares of ``ceil(n / size)`` positions (a shorter one at the end); 255 stands for weight 1. Work
        goes by blocks of rows over the keys those rows can see, so a causal layer costs half and a sliding window less.

        Returns:
            uint8 [h, <=size, <=size] on the CPU.
        """
        tall, wide = block_length(layer.n_queries, self._size), block_length(layer.n_keys, self._size)
        shape = (layer.n_heads, -(-layer.n_queries // tall), -(-layer.n_keys // wide))
        out = torch.zeros(shape, dtype=torch.uint8, device=layer.tensors()[0].device)
        heads, done = slice(None), 0
        for rows in layer.row_blocks(heads, torch.arange(layer.n_queries), multiple=tall):
            with torch.no_grad():
                weights = layer.known.block(heads, rows, seen := self._view(layer.known, rows, wide)).weights
                small = _pool_last(_pool_rows(weights, tall), wide).mul_(255).round_()
            left = seen.first // wide
            out[:, done : done + small.shape[1], left : left + small.shape[2]] = small
            done += small.shape[1]
        return out.cpu()

    def _view(self, source: Source, rows: Tensor, multiple: int) -> View:
        """What these consecutive rows see."""
        same = (id(source.mask), source.n_keys, int(rows[0]), rows.numel())
        if same not in self._views:
            self._views[same] = (source.mask, source.view(rows, multiple=multiple))  # the mask held, its id is its own
        return self._views[same][1]


def _pool_rows(x: Float[Tensor, "h r c"], length: int) -> Float[Tensor, "h blocks c"]:
    if length == 1:
        return x
    whole = x.shape[1] // length * length
    pooled = [x[:, :whole].unflatten(1, (-1, length)).amax(2)] if whole else []
    return torch.cat([*pooled, x[:, whole:].amax(1, keepdim=True)], 1) if whole < x.shape[1] else pooled[0]


def _pool_last(x: Float[Tensor, "h r c"], length: int) -> Float[Tensor, "h r blocks"]:
    if length == 1:
        return x.clone()
    whole = x.shape[2] // length * length
    pooled = [x[..., :whole].unflatten(2, (-1, length)).amax(3)] if whole else []
    return torch.cat([*pooled, x[..., whole:].amax(2, keepdim=True)], 2) if whole < x.shape[2] else pooled[0]

"""Weights that a model reports in a layout of its own, put back in the order of the tokens.

Models with windowed attention (Longformer, LED, LongT5) hold only the window of each query. Two layouts are known.
What comes out is taken only if each row still sums to 1: weight that fell outside of the text would show.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

_ROW_SUM_TOLERANCE = {torch.float16: 1e-2, torch.bfloat16: 3e-2}


def in_token_order(
    reported: Tensor, n_queries: int, n_keys: int, *, padding: Bool[Tensor, " q"] | None = None
) -> Float[Tensor, "h q k"] | None:
    """The map [h, q, k] that ``reported`` stands for; None if it is none that is known here, or no weights at all.

    Args:
        reported: what the model gave for one layer and one text: [1, h, q, k], a band [1, h, n, 2w + 1] or blocks
            [1, blocks, h, length, 3 * length].
        n_queries: q.
        n_keys: k.
        padding: which queries are padding. Such a row may look outside of the text; then it becomes zeros.
    """
    shape = tuple(reported.shape)
    if reported.ndim == 4 and shape[2:] == (n_queries, n_keys):
        weights = reported[0]
    elif reported.ndim == 4 and shape[2] == n_queries == n_keys and shape[3] % 2:
        weights = _from_band(reported[0])
    elif reported.ndim == 5 and shape[4] == 3 * shape[3] and n_queries == n_keys <= shape[1] * shape[3]:
        weights = _from_blocks(reported[0], n_queries)
    else:
        return None
    whole = _are_whole(weights)
    if padding is not None:
        lost = ~whole & padding.to(whole.device)
        weights, whole = weights.masked_fill(lost[..., None], 0), whole | lost
    return weights if bool(whole.all()) and bool((weights >= 0).all()) else None


def _from_band(band: Float[Tensor, "h n window"]) -> Float[Tensor, "h n n"]:
    """Column c of row i stands for key ``i - w + c`` in a window of 2w + 1."""
    h, n, window = band.shape
    out = band.new_zeros(h, n, n + window - 1)
    keys = torch.arange(n, device=band.device)[:, None] + torch.arange(window, device=band.device)
    return out.scatter_(2, keys.expand(h, -1, -1), band)[..., window // 2 : window // 2 + n]


def _from_blocks(blocks: Float[Tensor, "blocks h length window"], n: int) -> Float[Tensor, "h n n"]:
    """Each block of queries sees the block before, its own and the next."""
    n_blocks, h, length, window = blocks.shape
    out = blocks.new_zeros(h, n_blocks * length, (n_blocks + 2) * length)
    for b, block in enumerate(blocks):
        out[:, b * length : (b + 1) * length, b * length : b * length + window] = block
    return out[:, :n, length : length + n]


def _are_whole(weights: Float[Tensor, "h q k"]) -> Bool[Tensor, "h q"]:
    """Which rows sum to 1; or to 0, where a query sees nothing."""
    total = weights.sum(-1, dtype=torch.float32)
    return ((total - 1).abs() <= _ROW_SUM_TOLERANCE.get(weights.dtype, 1e-3)) | (total == 0)

"""Attention in blocks, with a softmax that is corrected as it goes: memory grows with n, not with n².

A row of scores is read a block of keys at a time. What has been added up so far is relative to the largest score seen
so far; when a larger one appears, sums are rescaled to it. Nothing of size n² ever exists, in the backward pass either:
there each block of rows is computed anew.

Sources: Milakov and Gimelshein 2018 (the running softmax); Rabe and Staats 2021 (attention in O(n) memory);
Dao et al. 2022 (the same on a GPU).
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tfmviz.nn.attention import Scoring, scale_and_bias, share_heads

BLOCK = 256


def chunked(
    query: Float[Tensor, "b h q d"],
    key: Float[Tensor, "b kv k d"],
    value: Float[Tensor, "b kv k d"],
    scoring: Scoring,
    dropout: float = 0.0,
    *,
    block: int = BLOCK,
) -> Float[Tensor, "b h q d"]:
    """The output of `attention_stages` in O(q + k) memory.

    Shapes: b batch, h query heads, kv key-value heads (divides h), q queries, k keys, d width of a head.
    """
    outputs = []
    if not query.shape[2]:
        return query.new_zeros(*query.shape[:3], value.shape[-1])
    for first in range(0, query.shape[2], block):
        few = query[:, :, first : first + block]
        rows = scoring.rows(query)[first : first + block]
        outputs.append(checkpoint(_attend_rows, few, key, value, rows, scoring, dropout, block, use_reentrant=False))
    return torch.cat(outputs, dim=2)


def _attend_rows(
    query: Tensor, key: Tensor, value: Tensor, rows: Tensor, scoring: Scoring, dropout: float, block: int
) -> Float[Tensor, "b h rows d"]:
    """Attention of some queries to all keys, which are read ``block`` at a time."""
    peak = query.new_full((*query.shape[:3], 1), -torch.inf)  # largest score so far      [b h rows 1]
    total = query.new_zeros((*query.shape[:3], 1))  # sum of exp(score - peak)            [b h rows 1]
    # the same sum of values; begun as a product with the query, so that rows that see nothing have a gradient too: zero
    output = (query[..., :1] * 0).expand(*query.shape[:3], value.shape[-1])
    for first in range(0, key.shape[2], block):
        cols = torch.arange(first, min(first + block, key.shape[2]), device=key.device)
        few_keys = share_heads(key[:, :, first : first + block], query.shape[1])
        few_values = share_heads(value[:, :, first : first + block], query.shape[1])
        visible = scoring.mask.block(rows, cols)
        if not visible.any():  # half of all blocks under a causal mask, nearly all under a narrow window
            continue
        _, biased = scale_and_bias(query @ few_keys.mT, rows, cols, scoring)
        masked = biased.masked_fill(~visible, -torch.inf)
        # The softmax does not depend on what is subtracted, so no gradient flows through the peak.
        new_peak = torch.maximum(peak, masked.detach().amax(dim=-1, keepdim=True))
        # Rows that have seen nothing yet have a peak of -inf, and -inf - -inf is NaN: subtract 0 there.
        shift = new_peak.masked_fill(new_peak.isinf(), 0.0)
        weights = torch.exp(masked - shift)
        correction = torch.exp(peak - shift)
        total = total * correction + weights.sum(dim=-1, keepdim=True)
        output = output * correction + F.dropout(weights, dropout) @ few_values
        peak = new_peak
    return output / total.masked_fill(total == 0, 1.0)

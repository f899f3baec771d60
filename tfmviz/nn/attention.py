"""Scaled dot-product attention: the textbook formula with every stage kept, and PyTorch's fused kernel.

    attention(Q, K, V) = softmax(mask(Q Kᵀ · scale + bias)) V

`chunked` in `tfmviz.nn.chunked` is the third form. All three take the same arguments and give the same output.

Source: Vaswani et al. 2017, section 3.2.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from einops import repeat
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from tfmviz.errors import ConfigError
from tfmviz.nn.masks import Bidirectional, Mask

BIDIRECTIONAL = Bidirectional()


class PositionBias(Protocol):
    """Numbers added to scores that depend on where query and key stand: ALiBi, T5."""

    def block(self, rows: Int[Tensor, " q"], cols: Int[Tensor, " k"]) -> Float[Tensor, "heads q k"]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Scoring:
    """How q·k becomes what the softmax sees: softcap(q·k · scale) + bias, hidden where the mask says so.

    Attributes:
        first_row: position of the first query among the keys; above 0 when a cache holds earlier keys.
    """

    scale: float
    mask: Mask = BIDIRECTIONAL
    bias: PositionBias | None = None
    softcap: float | None = None
    first_row: int = 0

    def rows(self, query: Tensor) -> Int[Tensor, " q"]:
        """Positions of the queries."""
        return torch.arange(self.first_row, self.first_row + query.shape[-2], device=query.device)


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionStages:
    """Everything between queries and keys and the output of attention, in order. Shapes [batch, head, query, key].

    Attributes:
        scores: q·k for every pair.
        scaled: scores · scale; with a soft cap c, c·tanh(scaled / c).
        biased: scaled plus the position bias; the same as ``scaled`` where there is none.
        masked: biased, with -inf in cells the query may not see.
        weights: softmax of each row; a row with nothing to see is zeros.
        output: weights @ value, [batch, head, query, d_head].
    """

    scores: Float[Tensor, "b h q k"]
    scaled: Float[Tensor, "b h q k"]
    biased: Float[Tensor, "b h q k"]
    masked: Float[Tensor, "b h q k"]
    weights: Float[Tensor, "b h q k"]
    output: Float[Tensor, "b h q d"]


def share_heads(x: Float[Tensor, "b kv n d"], n_heads: int) -> Float[Tensor, "b h n d"]:
    """Give each query head its key-value head: query head h reads head h // (n_heads / n_kv_heads)."""
    return repeat(x, "b kv n d -> b (kv group) n d", group=n_heads // x.shape[1])


def attention_stages(
    query: Float[Tensor, "b h q d"],
    key: Float[Tensor, "b kv k d"],
    value: Float[Tensor, "b kv k d"],
    scoring: Scoring,
    dropout: float = 0.0,
) -> AttentionStages:
    """Attention by the formula, with every stage kept.

    Shapes: b batch, h query heads, kv key-value heads (divides h), q queries, k keys, d width of a head.
    """
    key, value = share_heads(key, query.shape[1]), share_heads(value, query.shape[1])
    scores = query @ key.mT
    rows, cols = scoring.rows(query), torch.arange(key.shape[2], device=key.device)
    scaled, biased = scale_and_bias(scores, rows, cols, scoring)
    visible = scoring.mask.block(rows, cols)
    masked = biased.masked_fill(~visible, -torch.inf)
    # softmax of a row of -inf is NaN; such a row is hidden everywhere, so the second fill makes it zeros
    weights = masked.softmax(dim=-1).masked_fill(~visible, 0.0)
    output = F.dropout(weights, dropout) @ value
    return AttentionStages(scores=scores, scaled=scaled, biased=biased, masked=masked, weights=weights, output=output)


def scale_and_bias(
    scores: Float[Tensor, "b h q k"], rows: Int[Tensor, " q"], cols: Int[Tensor, " k"], scoring: Scoring
) -> tuple[Float[Tensor, "b h q k"], Float[Tensor, "b h q k"]]:
    """Scores of any block of queries and keys after scaling (and soft cap), and after the position bias."""
    scaled = scores * scoring.scale
    if scoring.softcap is not None:
        scaled = scoring.softcap * torch.tanh(scaled / scoring.softcap)
    return scaled, scaled if scoring.bias is None else scaled + scoring.bias.block(rows, cols)


def materialised(
    query: Float[Tensor, "b h q d"],
    key: Float[Tensor, "b kv k d"],
    value: Float[Tensor, "b kv k d"],
    scoring: Scoring,
    dropout: float = 0.0,
) -> Float[Tensor, "b h q d"]:
    """The output of `attention_stages`; O(q·k) memory."""
    return attention_stages(query, key, value, scoring, dropout).output


def fused(
    query: Float[Tensor, "b h q d"],
    key: Float[Tensor, "b kv k d"],
    value: Float[Tensor, "b kv k d"],
    scoring: Scoring,
    dropout: float = 0.0,
) -> Float[Tensor, "b h q d"]:
    """PyTorch's kernel, which never stores the weights. A mask is built only where the rule needs one.

    Raises:
        ConfigError: if scores are to be capped, which the kernel cannot do.
    """
    if scoring.softcap is not None:
        raise ConfigError(
            f"attention_softcap={scoring.softcap} is beyond the fused form: PyTorch's kernel has no cap. "
            "Use the chunked form."
        )
    reach = scoring.mask.reach(query.shape[2], key.shape[2], scoring.first_row)
    mask: Tensor | None = None  # visible cells, or what is added to their scores with -inf elsewhere
    if scoring.bias is not None or reach == "mixed":
        rows, cols = scoring.rows(query), torch.arange(key.shape[2], device=key.device)
        mask = scoring.mask.block(rows, cols)
        if scoring.bias is not None:
            mask = scoring.bias.block(rows, cols).masked_fill(~mask, -torch.inf)
    if query.device.type != "cpu":
        # a GPU's kernel for float32 knows no shared heads, and without it PyTorch would store all weights
        key, value = share_heads(key, query.shape[1]), share_heads(value, query.shape[1])
    return F.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=mask,
        dropout_p=dropout,
        is_causal=mask is None and reach == "causal",
        scale=scoring.scale,
        enable_gqa=key.shape[1] != query.shape[1],
    )

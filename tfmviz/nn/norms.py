"""LayerNorm and RMSNorm: keep the size of activations in hand, token by token."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tfmviz.nn.config import TransformerConfig


class RMSNorm(nn.Module):
    """x / sqrt(mean(x²) + eps) · weight: LayerNorm without its mean and its bias. Zhang and Sennrich 2019."""

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "*b d_model"]) -> Float[Tensor, "*b d_model"]:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))  # squares of half precision overflow
        one_over_rms = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + self.eps)
        # the weight is written over a product that nobody else holds: a large model gains a percent
        return (wide * one_over_rms).mul_(self.weight).to(x.dtype)


def make_norm(config: TransformerConfig) -> nn.Module:
    """The norm of the configuration. LayerNorm is (x - mean) / sqrt(var + eps) · weight + bias; Ba et al. 2016."""
    if config.norm == "rms":
        return RMSNorm(config.d_model, config.norm_eps)
    return nn.LayerNorm(config.d_model, eps=config.norm_eps)

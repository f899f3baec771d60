"""Tiny models with peaked attention, and a naive attention to compare with."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tfmviz.text import Token

WIDTHS = {
    "vocab_size": 101,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}


def peaked(model: PreTrainedModel) -> PreTrainedModel:
    """The model with weights large enough that attention is far from uniform."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.25, generator=generator)
    return model.eval()


def ids(n: int, seed: int = 0) -> Tensor:
    return torch.randint(5, 100, (1, n), generator=torch.Generator().manual_seed(seed))


def tokens(n: int) -> tuple[Token, ...]:
    return tuple(Token(id=i, text=str(i), start=i, end=i + 1) for i in range(n))


def naive_weights(
    query: Tensor,
    key: Tensor,
    *,
    scale: float,
    sees: Callable[[int, int, int], bool] = lambda h, i, j: True,
    softcap: float | None = None,
    bias: Callable[[int, int, int], float] = lambda h, i, j: 0.0,
    sink: Tensor | None = None,
) -> Tensor:
    """Attention one number at a time, in double precision; [h, q, k]."""
    n_heads, n_queries, _ = query.shape
    n_shared = n_heads // key.shape[0]
    out = torch.zeros(n_heads, n_queries, key.shape[1], dtype=torch.float64)
    for h in range(n_heads):
        for i in range(n_queries):
            scores = {}
            for j in filter(lambda j: sees(h, i, j), range(key.shape[1])):
                score = scale * float(query[h, i].double() @ key[h // n_shared, j].double())
                scores[j] = (softcap * math.tanh(score / softcap) if softcap else score) + bias(h, i, j)
            total = sum(math.exp(s) for s in scores.values()) + (math.exp(float(sink[h])) if sink is not None else 0.0)
            for j, score in scores.items():
                out[h, i, j] = math.exp(score) / total
    return out

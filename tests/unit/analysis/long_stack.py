"""Stacks of long texts with known queries and keys, and their weights by the formula."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from tfmviz.text import Token
from tfmviz.trace import AttentionStack, LayerAttention

HEADS, KV, WIDTH = 4, 2, 8


def tokens(n: int, *, special: tuple[int, ...] = (), second: int | None = None) -> tuple[Token, ...]:
    return tuple(
        Token(id=i % 7, text=str(i), start=i, end=i + 1, is_special=i in special, segment=int(i >= (second or n)))
        for i in range(n)
    )


def causal(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril()


def layer(q: int, k: int, mask: Tensor | None, seed: int = 0, sink: Tensor | None = None) -> LayerAttention:
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(HEADS, q, WIDTH, generator=generator) * 3
    key = torch.randn(KV, k, WIDTH, generator=generator)
    return LayerAttention.from_queries_and_keys(query=query, key=key, mask=mask, sink=sink)


def eager(one: LayerAttention, head: int, mask: Tensor | None) -> np.ndarray:
    """All weights of a head at once, by the formula, in double precision."""
    source = one.source
    scores = source.query[head].double() @ source.key[head // (HEADS // KV)].double().T / math.sqrt(WIDTH)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, -1).numpy()


def stack(*layers: LayerAttention, queries: tuple[Token, ...], keys: tuple[Token, ...] | None = None) -> AttentionStack:
    return AttentionStack(name="self", query_tokens=queries, key_tokens=keys or queries, layers=layers)

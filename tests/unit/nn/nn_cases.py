"""What tests of the from-scratch transformer share: random attention to try, and a small model of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from tfmviz.nn import (
    AlibiBias,
    Bidirectional,
    Causal,
    Document,
    Mask,
    Padding,
    Prefix,
    Scoring,
    SlidingWindow,
    TransformerConfig,
)


@dataclass(frozen=True)
class Case:
    """Queries, keys and values in float64 with a way to score them."""

    query: Tensor
    key: Tensor
    value: Tensor
    scoring: Scoring


@st.composite
def masks(draw: st.DrawFn, batch: int, n_keys: int) -> Mask:
    """Any rule, or two combined."""

    def one(kind: str) -> Mask:
        match kind:
            case "causal":
                return Causal()
            case "sliding":
                return SlidingWindow(draw(st.integers(1, n_keys)))
            case "prefix":
                return Prefix(draw(st.integers(0, n_keys)))
            case "padding":
                flags = draw(st.lists(st.booleans(), min_size=batch * n_keys, max_size=batch * n_keys))
                return Padding(torch.tensor(flags).reshape(batch, n_keys))
            case "document":
                ids = draw(st.lists(st.integers(0, 2), min_size=n_keys, max_size=n_keys))
                return Document(torch.tensor(ids))
            case _:
                return Bidirectional()

    kinds = st.sampled_from(["bidirectional", "causal", "sliding", "prefix", "padding", "document"])
    chosen = draw(st.lists(kinds, min_size=1, max_size=2))
    return one(chosen[0]) if len(chosen) == 1 else one(chosen[0]) & one(chosen[1])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Attention of any shape: grouped heads, cached keys, any mask, with or without a bias."""
    batch, kv, group = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    n_queries, first_row, d = draw(st.integers(1, 20)), draw(st.integers(0, 6)), draw(st.integers(1, 9))
    n_keys = n_queries + first_row
    torch.manual_seed(draw(st.integers(0, 10**6)))
    size = draw(st.sampled_from([1.0, 10.0]))  # 10: softmax close to one-hot, where rescaling must be right
    return Case(
        query=size * torch.randn(batch, kv * group, n_queries, d, dtype=torch.float64),
        key=torch.randn(batch, kv, n_keys, d, dtype=torch.float64),
        value=torch.randn(batch, kv, n_keys, d, dtype=torch.float64),
        scoring=Scoring(
            scale=draw(st.sampled_from([d**-0.5, 1.0])),
            mask=draw(masks(batch, n_keys)),
            bias=draw(st.sampled_from([None, AlibiBias(kv * group).double()])),
            first_row=first_row,
        ),
    )


def config(**changes: Any) -> TransformerConfig:
    """A decoder small enough to run in a blink, with any field changed."""
    fields: dict[str, Any] = {"architecture": "decoder", "vocab_size": 31, "d_model": 24, "n_heads": 4, "n_layers": 2}
    return TransformerConfig(**(fields | changes))

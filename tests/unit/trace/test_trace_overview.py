"""The overview is the largest weight of each block, found the slow way."""

from __future__ import annotations

import pytest
import torch
from tiny import tokens
from torch import Tensor

from tfmviz.trace import AttentionStack, LayerAttention


def layer(
    q: int, k: int, mask: Tensor | None = None, *, n_heads: int = 4, sink: Tensor | None = None
) -> LayerAttention:
    generator = torch.Generator().manual_seed(q + k)
    query, key = torch.randn(n_heads, q, 8, generator=generator) * 3, torch.randn(2, k, 8, generator=generator)
    return LayerAttention.from_queries_and_keys(query=query, key=key, mask=mask, sink=sink)


def stack(*layers: LayerAttention, q: int, k: int) -> AttentionStack:
    return AttentionStack(name="self", query_tokens=tokens(q), key_tokens=tokens(k), layers=layers)


def slow_overview(one: LayerAttention, size: int) -> Tensor:
    tall, wide = -(-one.n_queries // size), -(-one.n_keys // size)
    heads = []
    for head in range(one.n_heads):
        weights = one.weights(head)
        blocks = [
            [weights[r : r + tall, c : c + wide].max() for c in range(0, one.n_keys, wide)]
            for r in range(0, one.n_queries, tall)
        ]
        heads.append(torch.tensor(blocks))
    return (torch.stack(heads) * 255).round().to(torch.uint8)


def causal(n: int) -> Tensor:
    return torch.ones(n, n).tril().bool()


CASES = {
    "everything": (70, 70, None),
    "causal": (130, 130, causal(130)),
    "window": (131, 131, causal(131) & ~torch.ones(131, 131).tril(-20).bool()),
    "padded left": (100, 100, causal(100) & (torch.arange(100) >= 37)),
    "cross": (17, 150, None),
    "short": (5, 5, causal(5)),
    "full size": (64, 64, causal(64)),
    "no pattern": (90, 90, torch.rand(90, 90, generator=torch.Generator().manual_seed(1)) > 0.4),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [64, 16])
@pytest.mark.parametrize("block", [1 << 19, 2000])
def test_overview_is_the_largest_weight_of_each_block(
    case: str, size: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    q, k, mask = CASES[case]
    one = layer(q, k, mask)
    expected = slow_overview(one, size)
    monkeypatch.setattr("tfmviz.trace.layer.BLOCK_WEIGHTS", block)
    found = stack(one, q=q, k=k).overview(size)
    assert found.shape == (1, *expected.shape)
    assert max(found.shape[2:]) <= size
    # a weight halfway between two steps may fall on either side
    assert (found[0].int() - expected.int()).abs().max() <= 1
    assert (found[0] == expected).float().mean() > 0.999


def test_a_thin_diagonal_survives() -> None:
    one = LayerAttention.from_weights(torch.eye(512)[None])
    assert torch.equal(stack(one, q=512, k=512).overview()[0, 0].diagonal(), torch.full((64,), 255, dtype=torch.uint8))


def test_sinks_take_their_share() -> None:
    one = layer(80, 80, causal(80), sink=torch.tensor([0.0, 3.0, 30.0, -30.0]))
    assert (stack(one, q=80, k=80).overview()[0].int() - slow_overview(one, 64).int()).abs().max() <= 1


def test_layers_without_attention_are_zeros() -> None:
    found = stack(LayerAttention.none("recurrent"), layer(70, 70), q=70, k=70).overview()
    assert found.shape == (2, 4, 35, 35)
    assert not found[0].any()
    assert found[1].any()


def test_layers_may_differ_in_heads() -> None:
    found = stack(layer(20, 20, n_heads=2), layer(20, 20, n_heads=6), q=20, k=20).overview()
    assert found.shape == (2, 6, 20, 20)
    assert not found[0, 2:].any()

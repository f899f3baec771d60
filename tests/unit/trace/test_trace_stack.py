"""What is asked of a whole stack: means, strongest links, what there is."""

from __future__ import annotations

import pytest
import torch
from tiny import tokens

from tfmviz.errors import NoAttention, OutOfRange
from tfmviz.trace import AttentionStack, LayerAttention, Link, MemoryUse

N = 19


def layer(seed: int) -> LayerAttention:
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(4, N, 8, generator=generator), torch.randn(2, N, 8, generator=generator)
    return LayerAttention.from_queries_and_keys(query=query, key=key, mask=torch.ones(N, N).tril().bool())


@pytest.fixture
def stack() -> AttentionStack:
    layers = (layer(0), LayerAttention.none("recurrent"), layer(2))
    return AttentionStack(name="self", query_tokens=tokens(N), key_tokens=tokens(N), layers=layers)


def test_counts_leave_out_layers_without_attention(stack: AttentionStack) -> None:
    assert (stack.n_layers, stack.n_heads, stack.n_kv_heads) == (3, 4, 2)
    assert [stack.status(i) for i in range(3)] == ["exact", "none: recurrent", "exact"]


@pytest.mark.parametrize("block", [1 << 19, 100])
def test_mean_is_the_mean_of_the_maps(stack: AttentionStack, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    maps = {(i, h): stack.weights(i, h) for i in (0, 2) for h in range(4)}
    monkeypatch.setattr("tfmviz.trace.layer.BLOCK_WEIGHTS", block)
    assert torch.allclose(stack.mean(), torch.stack(list(maps.values())).mean(0), atol=1e-6)
    some = torch.stack([maps[2, 1], maps[2, 3]]).mean(0)[3:9][:, [0, 5]]
    assert torch.allclose(stack.mean([1, 2], [1, 3], slice(3, 9), [0, 5]), some, atol=1e-6)


def test_a_mean_over_nothing_is_refused(stack: AttentionStack) -> None:
    with pytest.raises(NoAttention):
        stack.mean([1])


@pytest.mark.parametrize("block", [1 << 19, 100])
def test_strongest_links_are_the_largest_weights(
    stack: AttentionStack, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = stack.weights(2, 1)
    order = weights.flatten().argsort(descending=True)[:6].tolist()
    monkeypatch.setattr("tfmviz.trace.layer.BLOCK_WEIGHTS", block)
    found = stack.strongest(2, 1, 6)
    assert [(link.query, link.key) for link in found] == [(place // N, place % N) for place in order]
    assert [link.weight for link in found] == pytest.approx([float(weights.flatten()[place]) for place in order])


def test_strongest_links_never_cross_the_mask() -> None:
    one = LayerAttention.from_queries_and_keys(
        query=torch.ones(1, 3, 2), key=torch.ones(1, 3, 2), mask=torch.eye(3).bool()
    )
    stack = AttentionStack(name="self", query_tokens=tokens(3), key_tokens=tokens(3), layers=(one,))
    assert sorted(stack.strongest(0, 0, 9), key=lambda link: link.query) == [Link(i, i, 1.0) for i in range(3)]


def test_what_is_not_there_is_refused_with_the_range(stack: AttentionStack) -> None:
    with pytest.raises(OutOfRange, match="0 to 2"):
        stack.weights(3, 0)
    with pytest.raises(OutOfRange, match="0 to 2"):
        stack.status(-1)
    with pytest.raises(NoAttention, match="recurrent"):
        stack.weights(1, 0)


def test_memory_counts_each_buffer_once(stack: AttentionStack) -> None:
    one = stack.layers[0]
    use = MemoryUse.of((one, one))
    assert use.kept == one.nbytes
    assert one.nbytes == (4 + 2) * N * 8 * 4 + 2 * N * 8  # queries, keys; first and last key of each query
    assert use.dense == 2 * 4 * N * N * 4

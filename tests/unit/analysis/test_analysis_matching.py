"""Distances are the formula's, and a matching finds what was planted."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch

from tfmviz.analysis.alignment import align, unit_weights
from tfmviz.analysis.matching import head_distances, matches, nearest, one_to_one, same_place
from tfmviz.errors import ConfigError, NoAttention
from tfmviz.models.scratch_load import byte_model
from tfmviz.nn import TransformerConfig, build
from tfmviz.text import Token
from tfmviz.trace import AttentionStack, LayerAttention

TOKENS = tuple(Token(id=i, text="a", start=i, end=i + 1) for i in range(6))
SAME = align("abcdef", TOKENS, TOKENS)


def stack(weights: np.ndarray) -> AttentionStack:
    """A stack of [layers, heads, n, n]."""
    layers = tuple(LayerAttention.from_weights(torch.from_numpy(each)) for each in weights)
    return AttentionStack(name="self", query_tokens=TOKENS, key_tokens=TOKENS, layers=layers)


def attention(layers: int = 2, heads: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(6, 0.4), size=(layers, heads, 6)).astype(np.float32)


def test_a_distance_is_the_root_of_the_mean_squared_hellinger_distance() -> None:
    a, b = attention(), attention(1, 4, seed=1)
    values = head_distances(stack(a), stack(b), SAME).values
    for row, p in enumerate(a.reshape(6, 6, 6).tolist()):
        for column, q in enumerate(b.reshape(4, 6, 6).tolist()):
            mean = sum(1 - sum(math.sqrt(x * y) for x, y in zip(p[i], q[i], strict=True)) for i in range(6)) / 6
            assert abs(values[row, column] - math.sqrt(mean)) < 1e-5


def test_distances_do_not_depend_on_the_blocks() -> None:
    a, b = stack(attention()), stack(attention(seed=1))
    whole = head_distances(a, b, SAME).values
    assert np.abs(head_distances(a, b, SAME, block_bytes=1).values - whole).max() < 1e-12


def test_memory_is_bounded_by_the_blocks() -> None:
    tokens = tuple(Token(id=i, text="a", start=i, end=i + 1) for i in range(160))
    drawn = np.random.default_rng(0).dirichlet(np.ones(160), size=(2, 6, 160)).astype(np.float32)
    layers = tuple(LayerAttention.from_weights(torch.from_numpy(each)) for each in drawn)
    big = AttentionStack(name="self", query_tokens=tokens, key_tokens=tokens, layers=layers)
    alignment = align("a" * 160, tokens, tokens)
    peaks = []
    for size in (1 << 17, 1 << 30):
        tracemalloc.start()
        head_distances(big, big, alignment, block_bytes=size)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < 4 * (1 << 17)
    assert peaks[1] > 20 * peaks[0]


def test_a_model_against_itself_is_at_distance_0() -> None:
    a = stack(attention())
    found = head_distances(a, a, SAME)
    assert np.abs(np.diagonal(found.values)).max() == 0
    assert all(match.a == match.b and match.distance == 0 for match in one_to_one(found))


def test_one_to_one_recovers_a_permutation_of_the_heads() -> None:
    a = attention(3, 4)
    order = np.random.default_rng(5).permutation(12)
    b = a.reshape(12, 6, 6)[order].reshape(3, 4, 6, 6)
    found = one_to_one(head_distances(stack(a), stack(b), SAME))
    for match in found:
        assert order[4 * match.b[0] + match.b[1]] == 4 * match.a[0] + match.a[1]
        assert match.distance == 0


def test_one_to_one_recovers_a_permutation_of_the_heads_of_a_model() -> None:
    """The heads of each layer change places, with their output's columns: the model computes what it did."""
    fields: dict[str, Any] = {"architecture": "decoder", "vocab_size": 259, "d_model": 32, "n_heads": 8, "n_layers": 2}
    a, b = (byte_model(build(TransformerConfig(**fields), seed=3), name=name) for name in "ab")
    orders = [np.random.default_rng(seed).permutation(8) for seed in (5, 6)]
    with torch.no_grad():
        for order, block in zip(orders, b.module.stack.blocks, strict=True):
            attention, moved = block.attention, torch.from_numpy(order.repeat(4) * 4 + np.tile(np.arange(4), 8))
            for part in (attention.query, attention.key, attention.value):
                part.weight[:] = part.weight[moved]
                part.bias[:] = part.bias[moved]
            attention.output.weight[:] = attention.output.weight[:, moved]
    first, second = a.trace("the same text"), b.trace("the same text")
    assert first.next_token(3)[0][1] == pytest.approx(second.next_token(3)[0][1], abs=1e-5)
    alignment = align("the same text", first.tokens, second.tokens)
    for match in one_to_one(head_distances(first["self"], second["self"], alignment)):
        layer, head = match.b
        assert match.a == (layer, orders[layer][head])
        assert match.distance < 1e-4


def test_one_to_one_is_the_best_of_all_assignments() -> None:
    found = head_distances(stack(attention(1, 4)), stack(attention(1, 5, seed=2)), SAME)
    total = sum(match.distance for match in one_to_one(found))
    best = min(
        sum(found.values[row, column] for row, column in enumerate(columns))
        for columns in itertools.permutations(range(5), 4)
    )
    assert abs(total - best) < 1e-12


def test_nearest_is_the_least_of_each_row() -> None:
    found = head_distances(stack(attention()), stack(attention(seed=3)), SAME)
    assert [match.distance for match in nearest(found)] == found.values.min(axis=1).tolist()


@pytest.mark.parametrize("kind", ["one-to-one", "same place"])
def test_a_silenced_head_is_least_alike(kind) -> None:
    a = stack(attention())
    found = matches(head_distances(a, a, SAME, silenced_b=[(1, 2)]), kind)
    assert found[-1].b == (1, 2)
    assert abs(found[-1].distance - 1) < 1e-6
    assert found[-2].distance < 1


def test_two_silenced_heads_are_alike() -> None:
    a = stack(attention())
    found = head_distances(a, a, SAME, silenced_a=[(0, 0)], silenced_b=[(0, 0)])
    assert found.values[0, 0] == 0


def test_layers_without_attention_have_no_rows() -> None:
    a = stack(attention())
    holed = AttentionStack(
        name="self", query_tokens=TOKENS, key_tokens=TOKENS, layers=(LayerAttention.none("a mixer"), a.layers[1])
    )
    found = head_distances(holed, a, SAME)
    assert found.heads_a == ((1, 0), (1, 1), (1, 2))
    assert [match.b for match in same_place(found)] == [(1, 0), (1, 1), (1, 2)]
    empty = AttentionStack(name="self", query_tokens=TOKENS, key_tokens=TOKENS, layers=holed.layers[:1])
    with pytest.raises(NoAttention, match="a mixer"):
        head_distances(empty, a, SAME)


def test_an_unknown_matching_is_refused() -> None:
    with pytest.raises(ConfigError, match="There are one-to-one"):
        matches(head_distances(stack(attention()), stack(attention()), SAME), "best")  # type: ignore[arg-type]


def test_pieces_do_not_count_for_the_distance_of_units() -> None:
    """A model that cuts "ab" in two and splits the weights is as near as one that does not."""
    whole = (Token(id=0, text="ab", start=0, end=2), Token(id=1, text="c", start=2, end=3))
    parts = tuple(Token(id=i, text="x", start=i, end=i + 1) for i in range(3))
    a = np.array([[[0.6, 0.4], [0.3, 0.7]]], np.float32)
    b = np.array([[[0.2, 0.4, 0.4], [0.5, 0.1, 0.4], [0.1, 0.2, 0.7]]], np.float32)
    stacks = [
        AttentionStack(
            name="self",
            query_tokens=tokens,
            key_tokens=tokens,
            layers=(LayerAttention.from_weights(torch.from_numpy(weights)),),
        )
        for tokens, weights in ((whole, a), (parts, b))
    ]
    alignment = align("abc", whole, parts)
    assert np.abs(unit_weights(stacks[1], alignment.unit_of[1], 0, 0)[:, :2] - a[0]).max() < 1e-6
    assert head_distances(stacks[0], stacks[1], alignment).values.max() < 1e-3

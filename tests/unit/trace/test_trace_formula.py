"""The weights of a layer, against attention worked out one number at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny import naive_weights
from torch import Tensor

from tfmviz.errors import ConfigError, NoAttention, OutOfRange
from tfmviz.trace import LayerAttention

Q, K, D = 11, 11, 8


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def all_heads(layer: LayerAttention) -> Tensor:
    return torch.stack([layer.weights(head) for head in range(layer.n_heads)]).double()


@pytest.mark.parametrize("n_kv_heads", [1, 2, 6])
def test_grouped_queries_read_the_key_head_of_their_group(n_kv_heads: int) -> None:
    query, key = random(6, Q, D), random(n_kv_heads, K, D, seed=1)
    layer = LayerAttention.from_queries_and_keys(query=query, key=key)
    assert torch.allclose(all_heads(layer), naive_weights(query, key, scale=D**-0.5), atol=1e-6)


def test_softcap_bends_scores_before_the_bias_is_added() -> None:
    query, key, bias = random(2, Q, D), random(2, K, D, seed=1), random(2, Q, K, seed=2)
    layer = LayerAttention.from_queries_and_keys(query=query, key=key, scale=1.0, softcap=1.5, bias=bias)
    expected = naive_weights(query, key, scale=1.0, softcap=1.5, bias=lambda h, i, j: float(bias[h, i, j]))
    assert torch.allclose(all_heads(layer), expected, atol=1e-6)


def test_a_row_and_its_sink_sum_to_one() -> None:
    query, key, sink = random(4, Q, D), random(2, K, D, seed=1), torch.tensor([-1.0, 0.0, 2.0, 9.0])
    causal = torch.ones(Q, K).tril().bool()
    layer = LayerAttention.from_queries_and_keys(query=query, key=key, scale=1.0, mask=causal, sink=sink)
    expected = naive_weights(query, key, scale=1.0, sees=lambda h, i, j: j <= i, sink=sink)
    assert torch.allclose(all_heads(layer), expected, atol=1e-6)
    for head in range(4):
        assert torch.allclose(layer.weights(head).sum(1) + layer.sink(head), torch.ones(Q), atol=1e-6)
        assert torch.allclose(layer.sink(head).double(), 1 - expected[head].sum(1), atol=1e-6)


def test_without_sinks_the_sink_gets_nothing() -> None:
    layer = LayerAttention.from_queries_and_keys(query=random(2, Q, D), key=random(2, K, D, seed=1))
    assert not layer.sink(1).any()


def test_a_query_that_sees_nothing_has_a_row_of_zeros() -> None:
    mask = torch.ones(Q, K).tril().bool()
    mask[[0, 4]] = False
    query, key = random(2, Q, D), random(2, K, D, seed=1)
    layer = LayerAttention.from_queries_and_keys(query=query, key=key, mask=mask)
    weights = all_heads(layer)
    assert not weights[:, [0, 4]].any()
    assert torch.allclose(
        weights, naive_weights(query, key, scale=D**-0.5, sees=lambda h, i, j: bool(mask[i, j])), atol=1e-6
    )
    assert not layer.visible(0, rows=[0, 4]).any()


EVERY = list(range(11))


@pytest.mark.parametrize(
    ("rows", "cols", "row_numbers", "col_numbers"),
    [
        (slice(2, 7), slice(None), EVERY[2:7], EVERY),
        ([9, 3, 3], slice(1, 11, 3), [9, 3, 3], [1, 4, 7, 10]),
        (np.array([-1]), np.array([0, 5]), [10], [0, 5]),
        (torch.arange(11) > 6, None, [7, 8, 9, 10], EVERY),
        (slice(None, None, -1), [2], EVERY[::-1], [2]),
        (range(3), 4, [0, 1, 2], [4]),
        ([], [], [], []),
    ],
)
def test_any_rectangle_is_cut_from_the_whole_map(
    rows: object, cols: object, row_numbers: list[int], col_numbers: list[int]
) -> None:
    mask = torch.ones(Q, K).tril().bool()
    layer = LayerAttention.from_queries_and_keys(query=random(2, Q, D), key=random(1, K, D, seed=1), mask=mask)
    found = layer.weights(1, rows, cols)
    assert found.shape == (len(row_numbers), len(col_numbers))
    assert torch.allclose(found, layer.weights(1)[row_numbers][:, col_numbers], atol=1e-7)
    assert torch.equal(layer.visible(1, rows, cols), mask[row_numbers][:, col_numbers])


def test_long_maps_are_put_together_from_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    mask = torch.ones(Q, K).tril().bool()
    layer = LayerAttention.from_queries_and_keys(query=random(2, Q, D), key=random(1, K, D, seed=1), mask=mask)
    whole = all_heads(layer)
    monkeypatch.setattr("tfmviz.trace.layer.BLOCK_WEIGHTS", 3 * K)
    assert torch.allclose(all_heads(layer), whole, atol=1e-7)


def test_a_mask_may_be_a_rule() -> None:
    class EverySecond:
        def block(self, rows: Tensor, cols: Tensor) -> Tensor:
            return (rows[:, None] - cols) % 2 == 0

    query, key = random(2, Q, D), random(2, K, D, seed=1)
    layer = LayerAttention.from_queries_and_keys(query=query, key=key, mask=EverySecond())
    expected = naive_weights(query, key, scale=D**-0.5, sees=lambda h, i, j: (i - j) % 2 == 0)
    assert torch.allclose(all_heads(layer), expected, atol=1e-6)


def test_masks_may_differ_by_head() -> None:
    mask = torch.stack([torch.ones(Q, K).tril(h) for h in range(3)]).bool()
    query, key = random(3, Q, D), random(3, K, D, seed=1)
    layer = LayerAttention.from_queries_and_keys(query=query, key=key, mask=mask)
    assert torch.allclose(
        all_heads(layer), naive_weights(query, key, scale=D**-0.5, sees=lambda h, i, j: j <= i + h), atol=1e-6
    )
    assert torch.equal(layer.visible(2), mask[2])


def test_one_query_over_many_keys() -> None:
    query, key = random(4, 1, D), random(2, 300, D, seed=1)
    layer = LayerAttention.from_queries_and_keys(query=query, key=key)
    assert torch.allclose(all_heads(layer), naive_weights(query, key, scale=D**-0.5), atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_short_floats_are_computed_in_float32(dtype: torch.dtype) -> None:
    query, key = random(2, Q, D).to(dtype), random(2, K, D, seed=1).to(dtype)
    layer = LayerAttention.from_queries_and_keys(query=query, key=key)
    assert layer.weights(0).dtype == torch.float32
    assert torch.allclose(all_heads(layer), naive_weights(query, key, scale=D**-0.5), atol=1e-6)


def test_scores_beyond_the_range_of_exp_give_no_nan() -> None:
    layer = LayerAttention.from_queries_and_keys(query=random(2, Q, D) * 1e4, key=random(2, K, D, seed=1) * 1e4)
    assert torch.allclose(all_heads(layer).sum(-1), torch.ones(2, Q, dtype=torch.float64), atol=1e-6)


def test_known_weights_come_back_as_they_are() -> None:
    weights = torch.softmax(random(2, Q, K), -1)
    layer = LayerAttention.from_weights(weights)
    assert layer.status == "dense"
    assert torch.equal(layer.weights(1), weights[1])
    assert torch.equal(layer.weights(1, [3], slice(2, 5)), weights[1, 3:4, 2:5])


def test_known_weights_of_a_row_that_sees_nothing_are_zeros() -> None:
    mask = torch.ones(Q, K).bool()
    mask[2] = False
    layer = LayerAttention.from_weights(torch.full((2, Q, K), 1 / K), mask=mask)
    assert not layer.weights(0)[2].any()
    assert torch.equal(layer.visible(0), mask)


def test_a_layer_without_attention_says_why() -> None:
    layer = LayerAttention.none("a recurrent layer")
    assert (layer.status, layer.n_heads, layer.nbytes) == ("none: a recurrent layer", 0, 0)
    with pytest.raises(NoAttention, match="a recurrent layer"):
        layer.weights(0)


def test_what_is_not_there_is_refused_with_the_range() -> None:
    layer = LayerAttention.from_queries_and_keys(query=random(4, Q, D), key=random(2, K, D))
    for ask in (lambda: layer.weights(4), lambda: layer.weights(-1), lambda: layer.sink(7)):
        with pytest.raises(OutOfRange, match="0 to 3"):
            ask()
    with pytest.raises(OutOfRange, match="0 to 10"):
        layer.weights(0, rows=[11])


@pytest.mark.parametrize("rows", ["3", ["a"], {1, 2}, 2**70, [None], [True, False], True, [[True] * Q] * 2])
def test_what_names_no_rows_is_a_sentence(rows: object) -> None:
    layer = LayerAttention.from_queries_and_keys(query=random(4, Q, D), key=random(2, K, D))
    with pytest.raises(OutOfRange, match="row"):
        layer.weights(0, rows=rows)


def test_rows_may_be_told_by_true_and_false() -> None:
    layer = LayerAttention.from_queries_and_keys(query=random(4, Q, D), key=random(2, K, D))
    chosen = [row % 3 == 0 for row in range(Q)]
    assert torch.allclose(layer.weights(0, rows=chosen), layer.weights(0)[::3])


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match="dividing"):
        LayerAttention.from_queries_and_keys(query=random(4, Q, D), key=random(3, K, D))

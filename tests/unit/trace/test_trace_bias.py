"""Compact biases stand for exactly the bias that they were made from."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tfmviz.trace.bias import Bias, DenseBias, DistanceBias, KeyBias, compact

H = 3
SHAPES = [(12, 12), (5, 12), (12, 5), (1, 9)]


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def by_distance(q: int, k: int) -> Tensor:
    table = random(H, q + k - 1)
    return torch.stack([torch.stack([table[:, j - i + q - 1] for j in range(k)], -1) for i in range(q)], 1)


def whole(bias: Bias, q: int, k: int) -> Tensor:
    return bias.block(slice(None), torch.arange(q), 0, k).expand(H, q, k)


@pytest.mark.parametrize(("q", "k"), SHAPES)
def test_a_bias_by_distance_keeps_one_number_a_distance(q: int, k: int) -> None:
    bias = by_distance(q, k)
    found = compact(bias, n_queries=q)
    assert isinstance(found, DistanceBias if q > 1 else KeyBias)
    assert torch.equal(whole(found, q, k), bias)
    assert sum(t.numel() for t in found.tensors()) <= H * (q + k - 1)


@pytest.mark.parametrize(("q", "k"), SHAPES)
def test_rows_and_keys_are_cut_from_it(q: int, k: int) -> None:
    bias = by_distance(q, k)
    rows = torch.tensor([q - 1, 0])
    cut = compact(bias, n_queries=q).block(slice(1, 2), rows, 2, k - 1)
    assert torch.equal(cut.expand(1, 2, -1), bias[1:2, rows, 2 : k - 1])


def test_a_bias_by_key_keeps_one_number_a_key() -> None:
    bias = random(H, 1, 12).expand(H, 7, 12)
    found = compact(bias, n_queries=7)
    assert isinstance(found, KeyBias)
    assert torch.equal(whole(found, 7, 12), bias)


def test_one_row_may_stand_for_all_queries() -> None:
    bias = random(H, 1, 12)
    assert torch.equal(whole(compact(bias, n_queries=7), 7, 12), bias.expand(H, 7, 12))


def test_zeros_are_no_bias() -> None:
    assert compact(torch.zeros(1, 8, 8), n_queries=8) is None
    assert compact(torch.zeros(1, 1, 8), n_queries=8) is None


@pytest.mark.parametrize("left", [0, 3])
@pytest.mark.parametrize("kind", ["distance", "key"])
def test_hidden_entries_do_not_count(kind: str, left: int) -> None:
    visible = (torch.ones(9, 9).tril().bool() & (torch.arange(9) >= left)).expand(H, 9, 9)
    values = by_distance(9, 9) if kind == "distance" else random(H, 1, 9).expand(H, 9, 9)
    bias = values.masked_fill(~visible, torch.finfo(torch.float32).min)
    found = compact(bias, n_queries=9, visible=visible)
    assert isinstance(found, DistanceBias if kind == "distance" else KeyBias)
    assert torch.equal(whole(found, 9, 9)[visible], values[visible])


def test_one_odd_entry_keeps_the_bias_whole() -> None:
    bias = by_distance(300, 300)
    bias[2, 299, 150] += 1e-3
    found = compact(bias, n_queries=300)
    assert isinstance(found, DenseBias)
    assert torch.equal(whole(found, 300, 300), bias)

"""Compact masks stand for exactly the mask that they were made from."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tfmviz.trace.mask import Intervals, MaskRule, MaskTensor, compact, view

N = 24
i, j = torch.arange(N)[:, None], torch.arange(N)
EVERYTHING = torch.ones(N, N, dtype=torch.bool)
PADDED_RIGHT, PADDED_LEFT = (j < 18).expand(N, N), (j >= 6).expand(N, N)
RUNS = {
    "causal": j <= i,
    "sliding window": (j <= i) & (j > i - 5),
    "window on both sides": (j - i).abs() <= 3,
    "chunks": (j <= i) & (j // 7 == i // 7),
    "prefix": (j <= i) | (j < 9),
    "documents of a packed batch": (j <= i) & ((j < 10) == (i < 10)),
    "padding right": PADDED_RIGHT,
    "padding left": PADDED_LEFT,
    "causal, padded left": (j <= i) & PADDED_LEFT,
    "causal, padded right": (j <= i) & PADDED_RIGHT,
    "sliding window, padded left": (j <= i) & (j > i - 5) & PADDED_LEFT,
    "a hole for all": (j <= i) & (j != 3),
    "nothing": ~EVERYTHING,
}


def whole(mask: MaskRule | None) -> Tensor:
    return EVERYTHING if mask is None else mask.block(torch.arange(N), torch.arange(N))


@pytest.mark.parametrize("name", RUNS)
def test_masks_of_one_run_a_query_take_linear_memory(name: str) -> None:
    found = compact(RUNS[name], n_queries=N, n_keys=N)
    assert isinstance(found, Intervals)
    assert torch.equal(whole(found), RUNS[name])
    assert sum(t.nbytes for t in found.tensors()) <= 17 * N


def test_a_mask_that_hides_nothing_is_none() -> None:
    assert compact(EVERYTHING, n_queries=N, n_keys=N) is None


def test_one_row_may_stand_for_all_queries() -> None:
    found = compact(PADDED_RIGHT[:1], n_queries=N, n_keys=N)
    assert torch.equal(whole(found), PADDED_RIGHT)


def test_heads_with_equal_masks_share_one() -> None:
    for heads in (RUNS["causal"].expand(8, N, N), RUNS["causal"].repeat(8, 1, 1)):
        assert isinstance(compact(heads, n_queries=N, n_keys=N), Intervals)


@pytest.mark.parametrize("spoilt", [(20, 3), (0, 23), (12, 12), (23, 0)])
def test_one_odd_entry_keeps_the_mask_whole(spoilt: tuple[int, int]) -> None:
    mask = RUNS["causal"].clone()
    mask[spoilt] = ~mask[spoilt]
    found = compact(mask, n_queries=N, n_keys=N)
    assert torch.equal(whole(found)[-N:].reshape(N, N), mask)


def test_long_masks_are_compared_to_the_last_entry() -> None:
    n = 600  # more rows than are compared at a time
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    assert isinstance(compact(mask, n_queries=n, n_keys=n), Intervals)
    mask[599, 300] = False
    assert isinstance(compact(mask, n_queries=n, n_keys=n), MaskTensor)


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=4, max_size=4))
def test_any_mask_comes_back(rows: list[list[bool]]) -> None:
    mask = torch.tensor(rows)
    found = compact(mask, n_queries=4, n_keys=5)
    block = torch.ones_like(mask) if found is None else found.block(torch.arange(4), torch.arange(5))
    assert torch.equal(block.reshape(4, 5), mask)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=6, max_size=6),
    st.lists(st.integers(0, 5), min_size=1, max_size=6),
    st.integers(1, 4),
)
def test_a_view_hides_what_the_mask_hides(runs: list[tuple[int, int]], rows: list[int], multiple: int) -> None:
    start, end = torch.tensor(runs).sort(-1).values.unbind(-1)
    mask = Intervals(start=start, end=end, keys=None, n_keys=9)
    chosen = torch.tensor(rows)
    seen = view(mask, chosen, n_keys=9, multiple=multiple)
    visible = torch.zeros(len(rows), 9, dtype=torch.bool)
    visible[:, seen.first : seen.last] = True
    for begin, stop, hidden in seen.hidden:
        visible[:, begin:stop] &= ~hidden
    assert torch.equal(visible, mask.block(chosen, torch.arange(9)))
    assert seen.first % multiple == 0
    assert seen.last % multiple == 0 or seen.last == 9
    assert torch.equal(torch.ones(len(rows)).bool() if seen.live is None else seen.live, visible.any(-1))

"""The hatched areas are the masked cells, no more and no less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tfmviz.charts.mask_hatch import MOST_RUNS, hatch, outlines
from tfmviz.charts.palette import LIGHT


def inside(x: np.ndarray, y: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Which cell centres lie within the lines, by counting the lines to the right of each (even-odd rule)."""
    found = np.zeros(shape, bool)
    for x0, y0, x1, y1 in zip(x, y, x[1:], y[1:], strict=False):
        if np.isnan([x0, x1]).any():
            continue
        assert x0 == x1 or y0 == y1  # along the cells' borders only
        rows = np.arange(shape[0])
        crossed = (rows > min(y0, y1)) & (rows < max(y0, y1))
        found ^= crossed[:, None] & (np.arange(shape[1]) < x0)
    return found


@given(arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 12))))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_any_mask(masked):
    np.testing.assert_array_equal(inside(*outlines(masked), masked.shape), masked)


def test_a_triangle_takes_two_points_a_row():
    n = 512
    x, _ = outlines(~np.tril(np.ones((n, n), bool)))
    assert len(x) <= 2 * n + 3


def test_padding_is_one_rectangle():
    masked = np.zeros((100, 100), bool)
    masked[:, 90:] = True
    x, y = outlines(masked)
    assert sorted(zip(x, y, strict=True)) == sorted(
        [(89.5, -0.5), (89.5, 99.5), (99.5, 99.5), (99.5, -0.5), (89.5, -0.5)]
    )


def test_nothing_masked_draws_nothing():
    assert len(outlines(np.zeros((4, 4), bool))[0]) == 0


def test_a_mask_of_dust_is_drawn_without_lines():
    masked = np.indices((200, 200)).sum(axis=0) % 2 == 0
    assert masked.sum() > MOST_RUNS
    assert len(outlines(masked)[0]) == 0


def test_masked_cells_say_so_on_hover_and_in_the_legend():
    trace = hatch(np.eye(3, dtype=bool), LIGHT)
    assert trace["hoveron"] == "fills"
    assert trace["showlegend"]
    assert "masked" in trace["name"]


@pytest.mark.parametrize("n", [1, 2])
def test_small_masks(n):
    masked = np.ones((n, n), bool)
    np.testing.assert_array_equal(inside(*outlines(masked), masked.shape), masked)

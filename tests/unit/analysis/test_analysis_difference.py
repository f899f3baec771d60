"""The difference of two heads is B - A, and a row's distance is the formula's."""

from __future__ import annotations

import math

import numpy as np

from tfmviz.analysis.difference import difference, jensen_shannon


def rows(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(7, 0.5), size=5).astype(np.float32)


def test_the_signed_difference_is_b_minus_a() -> None:
    a, b = rows(0), rows(1)
    assert np.array_equal(difference(a, b).signed, b - a)


def test_the_distance_is_the_root_of_the_entropy_gained_by_mixing() -> None:
    def entropy(p: list[float]) -> float:
        return -sum(x * math.log2(x) for x in p if x > 0)

    a, b = rows(0).astype(float), rows(1).astype(float)
    for p, q, found in zip(a, b, jensen_shannon(a, b), strict=True):
        gained = entropy(((p + q) / 2).tolist()) - (entropy(p.tolist()) + entropy(q.tolist())) / 2
        assert abs(found - math.sqrt(gained)) < 1e-6


def test_equal_rows_are_at_0_and_rows_without_a_common_key_at_1() -> None:
    same, other = np.array([[0.5, 0.5, 0.0, 0.0]]), np.array([[0.0, 0.0, 0.1, 0.9]])
    assert jensen_shannon(same, same).tolist() == [0]
    assert jensen_shannon(same, other).tolist() == [1]

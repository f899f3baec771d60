"""What the browser is sent of all heads' distances, and what is made of the cell it sends back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfmviz.analysis.matching import Head, HeadDistances, Match
from tfmviz.components.head_matrix import message, opened_pair
from tfmviz.components.payload import unpack

FOUND = HeadDistances(heads_a=((0, 0), (0, 1)), heads_b=((0, 0), (1, 0), (2, 0)), values=np.arange(6).reshape(2, 3) / 8)
PAIRS = (Match(a=(0, 1), b=(2, 0), distance=5 / 8),)
CHOSEN = ((0, 0), (1, 0))


def test_distances_stand_by_their_heads() -> None:
    header, arrays = unpack(message(FOUND, PAIRS, CHOSEN))
    assert np.array_equal(arrays["distances"], FOUND.values)
    assert arrays["heads_b"].tolist() == [[0, 0], [1, 0], [2, 0]]
    assert arrays["pairs"].tolist() == [[1, 2]]
    assert (header["chosen"], header["layered"]) == ([0, 1], True)


def test_they_keep_their_heads_when_they_are_put_in_another_order() -> None:
    header, arrays = unpack(message(FOUND, PAIRS, CHOSEN, order=(np.array([1, 0]), np.array([2, 0, 1]))))
    assert (arrays["distances"] * 8).tolist() == [[5, 3, 4], [2, 0, 1]]
    assert arrays["heads_a"].tolist() == [[0, 1], [0, 0]]
    assert arrays["heads_b"].tolist() == [[2, 0], [0, 0], [1, 0]]
    assert arrays["pairs"].tolist() == [[0, 0]]
    assert (header["chosen"], header["layered"]) == ([1, 2], False)


def test_a_head_without_attention_has_no_ring_and_no_pairs_no_dots() -> None:
    header, arrays = unpack(message(FOUND, (), ((7, 0), (1, 0))))
    assert header["chosen"] is None
    assert arrays["pairs"].shape == (0, 2)


@pytest.mark.parametrize(
    ("sent", "pair"),
    [
        ([0, 1, 2, 0], ((0, 1), (2, 0))),
        ((0, 0, 1, 0), ((0, 0), (1, 0))),
        ([1, 0, 0, 0], None),
        ([0, 0, 0, 1], None),
        ([-1, 0, 0, 0], None),
        ([0.5, 0, 0, 0], None),
        ([0, True, 0, 0], None),
        ([0, 1], None),
        ("0120", None),
        (None, None),
    ],
)
def test_what_the_browser_sends_is_a_pair_or_nothing(sent: Any, pair: tuple[Head, Head] | None) -> None:
    assert opened_pair({"opened": sent}, FOUND) == pair


def test_no_state_is_no_pair() -> None:
    assert opened_pair(None, FOUND) is None

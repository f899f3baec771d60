"""What the browser is sent of two heads: the numbers given, and colours that reach as far as they differ."""

from __future__ import annotations

import numpy as np
import pytest

from tfmviz.analysis.alignment import align
from tfmviz.analysis.difference import difference
from tfmviz.analysis.unit_window import UnitWindow, unit_window, window_rows
from tfmviz.components.head_pair import LEAST_REACH, message
from tfmviz.components.payload import unpack
from tfmviz.errors import ConfigError
from tfmviz.text import Token

TEXT = "<b>a b $c$"
TOKENS = tuple(
    Token(id=at, text=text, start=start, end=start + len(text))
    for at, (text, start) in enumerate((("<b>a", 0), ("b", 5), ("$c$", 7)))
)
UNITS = ("<b>a", "b", "$c$")
TITLES = ("A L0 H0", "B L1 H2", "B − A")


def shown(*seeds: int) -> UnitWindow:
    """Two heads on three units; the first may not look at the last, and nothing goes to no token."""
    weights = [np.random.default_rng(seed).dirichlet(np.ones(4), size=3).astype(np.float32) for seed in seeds]
    a, b = (np.pad(each, ((0, 0), (0, 1))) for each in weights)
    may_look = np.ones((3, 5), bool)
    may_look[0, 2] = False
    alignment = align(TEXT, TOKENS, TOKENS)
    return unit_window(alignment, window_rows(alignment, 0, 96), difference(a, b), (may_look, np.ones((3, 5), bool)))


def test_the_numbers_are_those_of_both_heads() -> None:
    pair = shown(0, 1)
    header, arrays = unpack(message(pair, UNITS, titles=TITLES, said=[("Try", "<i>this</i>")]))
    assert np.array_equal(arrays["a"], pair.found.a)
    assert np.array_equal(arrays["b"], pair.found.b)
    assert np.array_equal(arrays["signed"], pair.found.b - pair.found.a)
    assert arrays["distance"] == pytest.approx(pair.found.distance)
    assert header["reach"] == pytest.approx(np.abs(pair.found.b - pair.found.a).max())
    assert (header["query"], header["keys"]) == (list(UNITS), [*UNITS, "special"])
    assert header["said"] == [["Try", "<i>this</i>"]]
    assert np.argwhere(arrays["open_a"] == 0).tolist() == [[0, 2]]
    assert arrays["open_b"].all()


def test_rounding_is_no_finding() -> None:
    pair = shown(0, 0)
    pair.found.signed[0, 0] = 1e-8
    assert unpack(message(pair, UNITS, titles=TITLES))[0]["reach"] == LEAST_REACH


def test_too_few_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="2 names for 3 units"):
        message(shown(0, 1), UNITS[:2], titles=TITLES)

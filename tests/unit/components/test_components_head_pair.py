"""What the browser is sent of two heads: the numbers given, and colours that reach as far as they differ."""

from __future__ import annotations

import numpy as np
import pytest

from tfmviz.analysis.difference import Difference, difference
from tfmviz.components.head_pair import LEAST_REACH, message
from tfmviz.components.payload import unpack
from tfmviz.errors import ConfigError

UNITS = ("<b>a", "b", "$c$")
TITLES = ("A L0 H0", "B L1 H2", "B − A")


def heads(*seeds: int) -> Difference:
    a, b = (np.random.default_rng(seed).dirichlet(np.ones(4), size=3).astype(np.float32) for seed in seeds)
    return difference(a, b)


def test_the_numbers_are_those_of_both_heads() -> None:
    found = heads(0, 1)
    header, arrays = unpack(message(found, UNITS, [*UNITS, "special"], titles=TITLES, said=[("Try", "<i>this</i>")]))
    assert np.array_equal(arrays["a"], found.a)
    assert np.array_equal(arrays["b"], found.b)
    assert np.array_equal(arrays["signed"], found.b - found.a)
    assert arrays["distance"] == pytest.approx(found.distance)
    assert header["reach"] == pytest.approx(np.abs(found.b - found.a).max())
    assert (header["query"], header["keys"]) == (list(UNITS), [*UNITS, "special"])
    assert header["said"] == [["Try", "<i>this</i>"]]


def test_rounding_is_no_finding() -> None:
    found = heads(0, 0)
    found.signed[0, 0] = 1e-8
    assert unpack(message(found, UNITS, [*UNITS, "special"], titles=TITLES))[0]["reach"] == LEAST_REACH


def test_heads_of_another_shape_are_refused() -> None:
    with pytest.raises(ConfigError, match="one row and one distance a unit"):
        message(heads(0, 1), UNITS, UNITS, titles=TITLES)
    with pytest.raises(ConfigError, match="one row and one distance a unit"):
        message(heads(0, 1), UNITS[:2], [*UNITS, "special"], titles=TITLES)

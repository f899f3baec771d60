"""Pictures of depth: measured points as dots, predictions as dashed lines, log axes that say so."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tfmviz.charts import depth
from tfmviz.charts.depth import Series
from tfmviz.errors import ConfigError

PRE = Series(name="pre-norm", x=[0, 1, 2], y=np.array([1.0, 2.0, 4.0]))
POST = Series(name="post-norm", x=[0, 1, 2], y=np.array([1.0, 1.0, 1.0]), mark=1)


def test_points_are_the_numbers_given() -> None:
    drawn = depth.by_layer([PRE, POST], [PRE])
    assert [list(trace.y) for trace in drawn.data] == [[1, 2, 4], [1, 1, 1], [1, 2, 4]]
    assert [trace.yaxis for trace in drawn.data] == ["y", "y", "y2"]


def test_the_two_are_told_apart_without_colour() -> None:
    solid, outlined = depth.by_layer([PRE, POST], [PRE]).data[:2]
    assert (solid.marker.symbol, outlined.marker.symbol) == ("circle", "circle-open")


def test_log_axes_say_so_and_hold_every_point() -> None:
    drawn = depth.by_depth([PRE.__class__(name="a", x=[2, 96], y=np.array([0.1, 10.0]))])
    low, high = drawn.layout.yaxis.range
    assert low < -1
    assert high > 1
    assert drawn.layout.yaxis.type == drawn.layout.xaxis.type == "log"
    assert any("log axes" in note.text for note in drawn.layout.annotations)
    assert drawn.layout.xaxis.range[0] < math.log10(2) < math.log10(96) < drawn.layout.xaxis.range[1]


def test_measured_is_dots_and_predicted_a_dashed_line() -> None:
    measured, predicted = Series(name="m", x=[2, 4], y=np.array([1.0, 0.7])), Series(name="p", x=[2, 4], y=np.ones(2))
    law, dots = depth.by_depth([measured], [predicted]).data
    assert (law.mode, law.line.dash, dots.mode) == ("lines", "dash", "markers")


@pytest.mark.parametrize("bad", [np.array([1.0, 0.0]), np.array([1.0, np.nan]), np.zeros(0)])
def test_what_has_no_logarithm_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(ConfigError, match="above 0"):
        depth.by_layer([Series(name="x", x=range(len(bad)), y=bad)], [PRE])

"""The Compare page's figures: they hold the numbers given, mark what is exactly 0, and tell A from B without colour."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tfmviz.analysis.outputs import next_pieces
from tfmviz.analysis.same_weights import LargestDifferences
from tfmviz.charts import outputs, same_weights, text_spread
from tfmviz.errors import ConfigError


def test_an_exact_0_stands_below_every_other_number_on_a_line_that_says_so() -> None:
    found = LargestDifferences(weights=np.array([0, 3e-7]), hidden=np.array([0, 2e-6, 1e-5]), logits=0.0)
    drawn = same_weights.figure(found, bound=1e-5)
    zeros = [y for trace in drawn.data for y, shown in zip(trace.y, trace.customdata, strict=True) if shown == 0]
    others = [y for trace in drawn.data for y, shown in zip(trace.y, trace.customdata, strict=True) if shown != 0]
    assert len(zeros) == 3
    assert max(zeros) < min(others)
    ticks = dict(zip(drawn.layout.yaxis.tickvals, drawn.layout.yaxis.ticktext, strict=True))
    assert {ticks[zero] for zero in zeros} == {"exactly 0"}
    low, high = drawn.layout.yaxis.range
    assert low < math.log10(min(zeros)) < math.log10(max(others)) < high
    assert "log axis" in drawn.layout.annotations[0].text


def test_weights_stand_at_their_layer_and_hidden_states_after_it() -> None:
    found = LargestDifferences(weights=np.array([1e-7, np.nan]), hidden=np.array([1e-8, 1e-7, 1e-6]), logits=None)
    weights, hidden = same_weights.figure(found, bound=1e-5).data
    assert list(weights.x) == [0, 1]
    assert list(hidden.x) == [-1, 0, 1]
    assert np.isnan(weights.y[1])
    assert (weights.marker.symbol, hidden.marker.symbol) == ("circle", "square-open")


def test_next_pieces_have_a_filled_and_an_outlined_bar_each() -> None:
    found = next_pieces(np.log([0.75, 0.25]), np.log([0.5, 0.5]), ("<i>", "b"), ("<i>", "b"))
    a, b = outputs.next_pieces(found).data
    assert (a.x.tolist(), b.x.tolist()) == ([0.75, 0.25], [0.5, 0.5])
    assert a.marker.line.width == 0
    assert b.marker.color == "rgba(0,0,0,0)"
    assert a.text[0] == "&lt;i&gt;<br>A 0.7500"


def test_a_piece_that_a_vocabulary_lacks_is_said() -> None:
    found = next_pieces(np.log([0.75, 0.25]), np.log([0.5, 0.5]), ("a", "b"), ("a", "c"))
    _, b = outputs.next_pieces(found).data
    assert b.text[found.pieces.index("b")].endswith("not in its vocabulary")
    assert b.x[found.pieces.index("b")] == 0


def test_similarities_have_two_dots_a_pair() -> None:
    drawn = outputs.similarities(["1 with 2", "1 with 3"], np.array([0.5, -0.2]), np.array([0.6, 0.1]))
    _, a, b = drawn.data
    assert (a.x.tolist(), b.x.tolist()) == ([0.5, -0.2], [0.6, 0.1])
    assert (a.marker.symbol, b.marker.symbol) == ("circle", "circle-open")
    assert drawn.layout.xaxis.range[0] < -0.2
    with pytest.raises(ConfigError, match="one of each"):
        outputs.similarities(["1 with 2"], np.zeros(2), np.zeros(1))


def test_each_text_is_a_dot_and_the_mean_has_its_deviation() -> None:
    row = text_spread.Spread(name="d", values=np.array([0.2, 0.4]), texts=["x", "y"], mean=0.3, deviation=0.14)
    dots, mean = text_spread.figure([row]).data
    assert dots.x.tolist() == [0.2, 0.4]
    assert (list(mean.x), list(mean.error_x.array)) == ([0.3], [0.14])
    alone = text_spread.Spread(name="d", values=np.array([0.2]), texts=["x"], mean=0.2, deviation=float("nan"))
    assert not text_spread.figure([alone]).data[1].error_x.visible

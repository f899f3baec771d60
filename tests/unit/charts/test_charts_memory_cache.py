"""The chart of generation: every measured number is a dot where it belongs, the formula is a line."""

from __future__ import annotations

import numpy as np
import pytest

from tfmviz.charts import memory_cache
from tfmviz.charts.memory_cache import CacheCurves
from tfmviz.charts.palette import palette
from tfmviz.errors import ConfigError

MEASURED = CacheCurves(
    lengths=[10, 11, 12], seconds=[0.2, 0.05, 0.06], seconds_without=[0.2, 0.21, 0.22], cache_bytes=[400, 440, 480]
)
PREDICTED = [40 * n for n in range(10, 18)]


def test_dots_are_the_measured_numbers_and_the_line_is_the_formula() -> None:
    figure = memory_cache.figure(MEASURED, n_prompt=10, n_new=8, predicted=PREDICTED)
    formula, without, with_cache, kept = figure.data
    assert with_cache.mode == without.mode == kept.mode == "markers"
    assert formula.mode == "lines"
    assert with_cache.y == pytest.approx([200, 50, 60])
    assert without.y == pytest.approx([200, 210, 220])
    assert list(with_cache.x) == list(kept.x) == [10, 11, 12]
    assert kept.y == pytest.approx([400, 440, 480])
    assert list(formula.x) == list(range(10, 18))
    assert formula.y == pytest.approx(PREDICTED)


def test_bytes_have_the_unit_that_suits_the_end() -> None:
    large = [46_080 * n for n in range(100, 108)]
    figure = memory_cache.figure(
        CacheCurves(lengths=[100], seconds=[1], seconds_without=[1], cache_bytes=[4_608_000]),
        n_prompt=100,
        n_new=8,
        predicted=large,
    )
    assert "MB" in "".join(note.text for note in figure.layout.annotations)
    assert figure.data[3].y == pytest.approx([4.608])


def test_prefill_and_decode_are_told_apart() -> None:
    figure = memory_cache.figure(MEASURED, n_prompt=10, n_new=8, predicted=PREDICTED)
    notes = {note.text: note for note in figure.layout.annotations}
    assert notes["prefill"].x == notes["decode"].x == 10.5
    assert all(shape.x0 == shape.x1 == 10.5 for shape in figure.layout.shapes)
    assert figure.data[2].marker.size[0] > figure.data[2].marker.size[1]
    assert figure.layout.xaxis.range[0] < 10
    assert figure.layout.xaxis.range[1] >= 17


@pytest.mark.parametrize("slowest", [0.3, 22.0])
def test_the_names_of_the_phases_have_room_above_the_slowest_token(slowest: float) -> None:
    measured = CacheCurves(lengths=[10, 11], seconds=[slowest, 0.1], seconds_without=[1, 1], cache_bytes=[400, 440])
    axis = memory_cache.figure(measured, n_prompt=10, n_new=8, predicted=PREDICTED).layout.yaxis
    low, high = axis.range
    most = np.log10(1_000 * max(slowest, 1))
    assert (high - most) / (high - low) > 0.15  # 35 px of the panel: a line of text and half a dot
    assert [text for text in axis.ticktext if len(text) > 4 and "," not in text] == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_two_ways_differ_in_colour_and_in_shape(dark: bool) -> None:
    figure = memory_cache.figure(MEASURED, n_prompt=10, n_new=8, predicted=PREDICTED, dark=dark)
    without, with_cache = figure.data[1], figure.data[2]
    assert without.marker.color != with_cache.marker.color
    assert without.marker.symbol != with_cache.marker.symbol
    assert figure.layout.font.color == palette(dark).ink


def test_before_the_first_token_the_axes_are_there() -> None:
    nothing = CacheCurves(lengths=[], seconds=[], seconds_without=[], cache_bytes=[])
    figure = memory_cache.figure(nothing, n_prompt=1, n_new=4, predicted=[8, 16, 24, 32])
    assert np.size(figure.data[2].y) == 0
    assert figure.layout.yaxis.range[1] > 0


def test_as_many_predictions_as_tokens_are_needed() -> None:
    with pytest.raises(ConfigError, match="8 new tokens"):
        memory_cache.figure(MEASURED, n_prompt=10, n_new=8, predicted=[1, 2])

"""Training curves: every step is in them, and names stand at the lines' ends."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tfmviz.charts import curves
from tfmviz.charts.curves import Curve, thinned
from tfmviz.charts.curves_layout import EndLabel, Panel, end_labels
from tfmviz.errors import ConfigError

PANEL = Panel(title="loss", low=0, high=4, bottom=0, top=1)


def test_a_short_curve_is_drawn_step_by_step() -> None:
    loss, accuracy = [3.0, 2.0, 1.5], [0.0, 0.25, 0.5]
    drawn = curves.training(loss, accuracy, n_steps=10)
    assert list(drawn.data[0].x) == [1, 2, 3]
    assert list(drawn.data[0].y) == loss
    assert list(drawn.data[1].y) == accuracy
    assert list(drawn.layout.xaxis.range) == [0, 10]


@pytest.mark.parametrize("length", [1, 299, 300, 301, 5000, 4999])
def test_long_curves_are_means_of_equal_runs(length: int) -> None:
    values = np.random.default_rng(0).random(length)
    steps, means = thinned(list(values))
    assert len(means) <= curves.MOST_POINTS
    size = -(-length // curves.MOST_POINTS)
    runs = [values[i : i + size] for i in range(0, length, size)]
    assert np.allclose(means, [run.mean() for run in runs], rtol=1e-5)
    numbers = np.split(np.arange(1, length + 1), np.arange(size, length, size))
    assert np.allclose(steps, [run.mean() for run in numbers])


def test_the_shown_step_is_marked_in_both_panels() -> None:
    drawn = curves.training([3.0] * 9, [0.0] * 9, n_steps=9, shown=4)
    assert [(shape.x0, shape.x1) for shape in drawn.layout.shapes] == [(4, 4), (4, 4)]
    assert {shape.yref for shape in drawn.layout.shapes} == {"y domain", "y2 domain"}


def test_nothing_yet_is_an_empty_picture_of_the_same_size() -> None:
    empty, full = curves.training([], [], n_steps=5), curves.training([1.0], [0.5], n_steps=5)
    assert len(empty.data[0].y) == 0
    assert empty.layout.height == full.layout.height


def test_loss_and_accuracy_belong_together() -> None:
    with pytest.raises(ConfigError, match="loss has 2 steps and accuracy 1"):
        curves.training([1.0, 2.0], [0.5], n_steps=5)


def test_each_curve_is_named_at_its_end_and_told_apart_without_colour() -> None:
    drawn = curves.comparison(
        [Curve(name="a", values=[2.0, 1.0]), Curve(name="b", values=[2.0], dash="dot")], n_steps=2
    )
    names = {note.text: (note.x, note.y) for note in drawn.layout.annotations}
    assert names["a"][0] == 2
    assert names["a"][1] == pytest.approx(0.0, abs=1e-6)
    assert [line.line.dash for line in drawn.data] == ["solid", "dot"]


def test_curves_without_a_value_are_left_out() -> None:
    assert len(curves.comparison([Curve(name="a", values=[])], n_steps=2).data) == 0


def test_names_that_would_lie_on_each_other_move_apart() -> None:
    labels = [EndLabel(text=str(i), x=1, y=2.0, colour="#000000") for i in range(4)]
    heights = sorted(note["y"] for note in end_labels(labels, PANEL, "y"))
    assert min(np.diff(heights)) >= 4 * 0.07
    assert heights[-1] <= PANEL.high


def test_names_that_have_room_stay_at_their_lines() -> None:
    labels = [EndLabel(text=str(y), x=1, y=y, colour="#000000") for y in (1.0, 3.0)]
    assert sorted(note["y"] for note in end_labels(labels, PANEL, "y")) == [1.0, 3.0]


def test_names_are_text_and_not_markup() -> None:
    drawn = curves.comparison([Curve(name="<b>x", values=[1.0])], n_steps=2)
    assert "<b>x" not in json.dumps([note.text for note in drawn.layout.annotations])

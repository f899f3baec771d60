"""Measured lines by length: every dot within the axis, told apart by shape too, and a name that hides no other line."""

from __future__ import annotations

import numpy as np

from tfmviz.charts import position_curves
from tfmviz.charts.position_curves import Line


def line(name: str, n_points: int) -> Line:
    x = np.array([8, 16, 24, 48], np.float32)[:n_points]
    return Line(name=name, x=x, y=np.linspace(1, 0.5, n_points, dtype=np.float32), dots=True)


def test_the_first_and_the_last_dot_lie_within_the_axis() -> None:
    figure = position_curves.lines([line("a", 4), line("b", 4)], x_title="x", title="y", log_x=True)
    low, high = figure.layout.xaxis.range
    assert low < np.log10(8)
    assert high > np.log10(48)
    assert [trace.cliponaxis for trace in figure.data] == [False, False]
    assert figure.data[0].marker.symbol != figure.data[1].marker.symbol


def test_a_line_that_ends_early_has_its_name_above_its_end() -> None:
    figure = position_curves.lines([line("whole", 4), line("early", 3)], x_title="x", title="y", log_x=True)
    notes = {note.text: note for note in figure.layout.annotations}
    assert notes["early"].x == np.float32(np.log10(24))
    assert notes["early"].yanchor == "bottom"
    assert notes["whole"].yanchor == "middle"

"""The picture of padded batches: text and padding of every line in its place, and nothing typed acts."""

from __future__ import annotations

import pytest

from tfmviz.charts import memory_padding
from tfmviz.charts.memory_padding import MOST_ROWS, Row
from tfmviz.errors import ConfigError


def row(number: int, n_tokens: int, length: int, text: str = "a line") -> Row:
    return Row(text=text, number=number, n_tokens=n_tokens, length=length)


def test_bars_are_text_and_the_rest_up_to_the_length() -> None:
    figure = memory_padding.figure([[row(2, 5, 8), row(1, 3, 8)]], longest=8)
    text, padding = figure.data
    assert list(text.x) == [5, 3]
    assert list(text.base) == [0, 0]
    assert list(padding.x) == [3, 5]
    assert list(padding.base) == [5, 3]
    assert padding.marker.pattern.shape == "/"
    assert list(figure.layout.yaxis.ticktext) == ["2", "1"]
    assert tuple(figure.layout.xaxis.range) == (0, 8)


def test_there_is_air_between_batches() -> None:
    apart = memory_padding.figure([[row(1, 5, 5), row(2, 4, 5)], [row(3, 2, 2)]], longest=8).data[0].y
    assert apart[1] - apart[0] == 1
    assert apart[2] - apart[1] > 1.5


def test_the_first_rows_of_many_are_drawn() -> None:
    figure = memory_padding.figure([[row(i + 1, 1, 2) for i in range(MOST_ROWS + 30)]], longest=2)
    assert len(figure.data[0].x) == MOST_ROWS
    assert figure.layout.height < 480


def test_typed_text_has_no_meaning_as_markup() -> None:
    figure = memory_padding.figure([[row(1, 1, 2, "<b>x</b> %{y} $a$")]], longest=2)
    shown = figure.data[0].text[0]
    assert "<b>" not in shown
    assert "%{" not in shown
    assert "$" not in shown


def test_no_line_is_no_picture() -> None:
    with pytest.raises(ConfigError):
        memory_padding.figure([], longest=4)

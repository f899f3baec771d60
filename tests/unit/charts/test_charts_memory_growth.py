"""The pictures of memory and time: what is drawn as measured, as formula and as not tried; and how numbers are said."""

from __future__ import annotations

import math

import pytest

from tfmviz.charts.memory_growth import Growth, figure
from tfmviz.charts.memory_levels import Level
from tfmviz.charts.memory_numbers import bytes_text, count_text, power_text, seconds_text
from tfmviz.charts.palette import palette

LENGTHS = (64, 128, 256, 512)
GROWTH = Growth(
    name="form n²·⁰",
    colour=1,
    line={64: 1e6, 128: 4e6, 256: 16e6},
    dots={64: 1.1e6, 128: 4.1e6},
    refused={256: 34e9},
    symbol="square",
)


def drawn(**options: object) -> dict:
    return figure([GROWTH], title="peak", unit="bytes", lengths=LENGTHS, **options).to_dict()


def test_measured_points_are_dots_and_formulas_lines() -> None:
    line, dots, refused = drawn()["data"]
    assert (line["mode"], list(line["x"]), list(line["y"])) == ("lines", [64, 128, 256], [1e6, 4e6, 16e6])
    assert (dots["mode"], list(dots["y"])) == ("markers", [1.1e6, 4.1e6])
    assert dots["marker"]["color"] == line["line"]["color"] == palette(False).heads[1]
    assert refused["marker"]["symbol"] == "square-open"


def test_what_was_not_tried_says_what_it_would_need() -> None:
    assert drawn()["data"][2]["text"] == ["would need 34 GB"]
    assert drawn()["data"][2]["textposition"] == "top left"  # above a level's line at the same height, and its own


def test_both_axes_are_logarithmic_and_say_so() -> None:
    layout = drawn()["layout"]
    assert layout["xaxis"]["type"] == layout["yaxis"]["type"] == "log"
    assert "log axis" in layout["xaxis"]["title"]["text"]
    assert any("peak (log axes)" in note["text"] for note in layout["annotations"])


def test_the_hover_has_the_number_in_its_unit() -> None:
    assert list(drawn()["data"][1]["hovertext"]) == [
        "form n²·⁰<br>64 tokens<br>measured 1.1 MB",
        "form n²·⁰<br>128 tokens<br>measured 4.1 MB",
    ]


def test_levels_in_reach_are_drawn_and_named() -> None:
    layout = drawn(levels=[Level(name="8 GB", value=8e9), Level(name="far", value=1e20)])["layout"]
    said = [note["text"] for note in layout["annotations"]]
    assert "8 GB" in said
    assert "far" not in said
    assert layout["shapes"][0]["y0"] == 8e9


def level_note(value: float, **options: object) -> dict:
    """The name of a level in the picture of `GROWTH`."""
    notes = drawn(levels=[Level(name="card", value=value)], **options)["layout"]["annotations"]
    return next(note for note in notes if note["text"] == "card")


@pytest.mark.parametrize(("mark", "anchor"), [(None, "left"), (512, "left"), (64, "right")])
def test_a_level_s_name_stands_where_the_mark_leaves_room(mark: int | None, anchor: str) -> None:
    assert level_note(8e9, mark=mark)["xanchor"] == anchor


@pytest.mark.parametrize(("value", "anchor"), [(34e9, "right"), (30e9, "right"), (8e9, "left")])
def test_a_level_s_name_is_not_written_on_what_a_point_would_need(value: float, anchor: str) -> None:
    assert level_note(value)["xanchor"] == anchor  # 34 GB stands to the left of its point


@pytest.mark.parametrize(("value", "anchor"), [(0.95e6, "top"), (1.05e6, "bottom"), (8e9, "bottom")])
def test_a_level_s_name_is_not_written_on_a_line_close_above_it(value: float, anchor: str) -> None:
    flat = Growth(name="weights", colour=0, line=dict.fromkeys(LENGTHS, 1e6))
    steep = Growth(name="matrix", colour=1, line={256: 1e3, 512: 1e10})
    made = figure(
        [flat, steep], title="bytes", unit="bytes", lengths=LENGTHS, levels=[Level(name="card", value=value)]
    ).to_dict()
    note = next(note for note in made["layout"]["annotations"] if note["text"] == "card")
    assert note["yanchor"] == anchor


@pytest.mark.parametrize("dark", [False, True])
def test_what_crosses_a_level_s_name_is_covered_by_the_page(dark: bool) -> None:
    numbers = ",".join(str(part) for part in bytes.fromhex(palette(dark).background[1:]))
    assert level_note(8e9, dark=dark)["bgcolor"] == f"rgba({numbers},0.75)"


def test_a_name_that_another_line_runs_through_stands_in_front_of_its_end() -> None:
    short = Growth(name="all", colour=0, line={64: 1e6, 256: 1e9})
    long = Growth(name="one", colour=1, line={64: 1e5, 256: 1e8, 512: 1e10})
    low = Growth(name="low", colour=2, line={64: 1e4, 512: 1e5})
    made = figure([short, long, low], title="bytes", unit="bytes", lengths=LENGTHS).to_dict()
    anchors = {note["text"]: note["xanchor"] for note in made["layout"]["annotations"][1:]}
    assert anchors == {"all": "right", "one": "left", "low": "left"}


def test_the_chosen_length_is_marked() -> None:
    assert drawn(mark=256)["layout"]["shapes"][-1]["x0"] == 256


def test_nothing_yet_is_an_empty_picture() -> None:
    empty = figure([Growth(name="form", colour=0)], title="time", unit="seconds", lengths=LENGTHS).to_dict()
    assert empty["data"] == []
    low, high = empty["layout"]["yaxis"]["range"]
    assert math.isfinite(low)
    assert low < high
    assert "nothing measured yet" in [note["text"] for note in empty["layout"]["annotations"]]
    assert "nothing measured yet" not in [note["text"] for note in drawn()["layout"]["annotations"]]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (bytes_text(999), "999 B"),
        (bytes_text(8_388_608), "8.4 MB"),
        (bytes_text(134_217_728), "134 MB"),
        (bytes_text(34_359_738_368), "34 GB"),
        (bytes_text(999_999), "1.0 MB"),
        (bytes_text(9_970_000), "10 MB"),
        (count_text(134_515_008), "135 M"),
        (seconds_text(0.00042), "420 µs"),
        (seconds_text(0.0123), "12 ms"),
        (seconds_text(300), "5.0 min"),
        (power_text(1.98), "n²·⁰"),
    ],
)
def test_numbers_have_two_digits_and_their_unit(said: str, text: str) -> None:
    assert said == text


@pytest.mark.parametrize("dots", [{64: 3e-3}, {64: 1.2e-3, 128: 8e-3}, {64: 0.9, 128: 1.1}])
def test_few_dots_have_numbers_beside_them(dots: dict[int, float]) -> None:
    made = figure([Growth(name="fused", colour=0, dots=dots)], title="time", unit="seconds", lengths=(64, 128, 256))
    axis = made.to_plotly_json()["layout"]["yaxis"]
    shown = [value for value in axis["tickvals"] if axis["range"][0] <= math.log10(value) <= axis["range"][1]]
    assert len(shown) >= 2
    assert len(set(axis["ticktext"])) == len(axis["tickvals"])

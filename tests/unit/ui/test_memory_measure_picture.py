"""What a measurement's points become on the charts and in words: dots, formulas, what was not tried, powers."""

from __future__ import annotations

from typing import Literal

import pytest

from tfmviz.analysis.measure_pace import Point
from tfmviz.analysis.memory_peak import AttentionCall, peak_bytes
from tfmviz.ui.live_run import LiveRun
from tfmviz.ui.memory_measure_picture import memory_growths, time_growths
from tfmviz.ui.memory_measure_run import Asked, Measurement
from tfmviz.ui.memory_measure_words import progress, seen, table

ASKED = Asked(
    call=AttentionCall(n_heads=8, n_kv_heads=8, d_head=64),
    device="cpu",
    budget_s=5.0,
    lengths=(1_024, 2_048, 4_096, 8_192, 16_384, 32_768),
)
MATRIX = [
    Point(form="materialised", n=n, predicted=160 * n * n, outcome="measured", peak=150 * n * n, seconds=1e-7 * n * n)
    for n in (1_024, 2_048, 4_096)
]
FUSED = [
    Point(form="fused", n=n, predicted=1_000 * n, outcome="measured", peak=1_000 * n, seconds=5e-8 * n * n)
    for n in (1_024, 2_048, 4_096)
]
REFUSED = [
    Point(form="materialised", n=n, predicted=160 * n * n, outcome="would not fit") for n in (8_192, 16_384, 32_768)
]
FREE = 5 * 10**9


def test_dots_are_what_was_measured_and_the_line_is_the_formula() -> None:
    matrix = memory_growths(ASKED, MATRIX, FREE)[0]
    assert matrix.dots == {p.n: p.peak for p in MATRIX}
    assert {p.n: matrix.line[p.n] for p in MATRIX} == {p.n: p.predicted for p in MATRIX}


def test_the_formula_is_drawn_beyond_what_was_measured_so_far() -> None:
    matrix, chunked, _ = memory_growths(ASKED, MATRIX[:1], FREE)
    assert list(matrix.line) == [1_024, 2_048, 4_096, 8_192, 16_384]  # two beyond what fits
    assert matrix.line[8_192] == peak_bytes("materialised", 8_192, ASKED.call)
    assert list(chunked.line) == list(ASKED.lengths)


def test_something_is_said_of_the_first_dot() -> None:
    said = seen(ASKED, [Point(form="fused", n=64, predicted=9, outcome="measured", peak=9, seconds=1.0)], FREE)
    assert "**What you see** The first dots" in said


def test_two_lengths_that_would_not_fit_are_drawn_hollow() -> None:
    matrix = memory_growths(ASKED, MATRIX + REFUSED, FREE)[0]
    assert matrix.refused == {8_192: 160 * 8_192**2, 16_384: 160 * 16_384**2}
    assert max(matrix.line) == 16_384


def test_powers_stand_beside_the_names() -> None:
    names = [growth.name for growth in memory_growths(ASKED, MATRIX + FUSED, FREE)]
    assert names == ["materialised n²·⁰", "chunked", "fused n¹·⁰"]
    assert time_growths(MATRIX + FUSED)[2].name == "fused n²·⁰"


def test_the_words_give_powers_errors_ratios_and_refusals() -> None:
    said = seen(ASKED, [*MATRIX, *FUSED, *REFUSED], FREE)
    assert "*materialised* as n²·⁰, *fused* as n¹·⁰" in said
    assert "within 6.7 % of what was measured" in said  # 160 / 150
    assert "At 8,192 tokens *materialised* would need 11 GB: not tried" in said
    assert "At 4,096 tokens *fused* takes 4.1 MB against 2.5 GB, and is 2 times as fast" in said


@pytest.mark.parametrize(
    ("point", "row"),
    [
        (MATRIX[1], "| 2,048 | materialised | 629 MB | 671 MB | 1.067 | 419 ms |"),
        (REFUSED[0], "| 8,192 | materialised | :gray[not tried] | 11 GB |  | would need 11 GB |"),
    ],
)
def test_every_point_has_its_row(point: Point, row: str) -> None:
    assert row in table([point])


@pytest.mark.parametrize("state", ["stopped", "failed"])
def test_a_run_that_ended_early_is_not_called_complete(state: Literal["stopped", "failed"]) -> None:
    measurement, run = Measurement(ASKED), LiveRun(lambda: iter(MATRIX))
    run.state = state  # as it is when nobody looked on, or when the worker was lost
    done, said = progress(run, measurement, MATRIX)
    assert done < 1
    assert said.startswith(state.capitalize())

"""The Memory page without a browser: a short measurement, and where bytes go, against numbers obtained elsewhere."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import numpy as np
import pytest
from on_page import MAIN, words
from streamlit.testing.v1 import AppTest

from tfmviz.analysis.memory import kv_cache_bytes
from tfmviz.analysis.memory_peak import FORMS, AttentionCall, peak_bytes
from tfmviz.charts.memory_numbers import bytes_text
from tfmviz.models import Model
from tfmviz.ui.live_run import LiveRun

PAGE = MAIN.parents[1] / "pages" / "memory.py"
PATIENCE = 120


def memory_page(**query: str) -> AppTest:
    """Open the page with these parameters in its address."""
    at = AppTest.from_file(str(MAIN), default_timeout=PATIENCE)
    at.switch_page(str(PAGE))
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def charts(at: AppTest) -> dict[str, dict[str, Any]]:
    """Every figure by its key."""
    return {chart.proto.id.rsplit("-", 1)[-1]: json.loads(chart.proto.spec) for chart in at.get("plotly_chart")}


def numbers(z: Any) -> list[float]:
    """An array as Plotly gets it."""
    if not isinstance(z, dict):
        return list(z)
    return np.frombuffer(base64.b64decode(z["bdata"]), dtype=np.dtype(z["dtype"])).tolist()


def traces(figure: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [trace for trace in figure["data"] if trace["name"] == kind]


def test_before_a_measurement_the_formulas_are_there_and_no_dot() -> None:
    at = memory_page(attn_heads="4", attn_kv="4", attn_width="32", attn_causal="true")
    assert not at.exception
    figure = charts(at)["memory_chart"]
    lines = traces(figure, "by formula")
    assert traces(figure, "measured") == []
    call = AttentionCall(n_heads=4, n_kv_heads=4, d_head=32, causal=True)
    for form, line in zip(FORMS, lines, strict=True):
        assert numbers(line["x"])[:2] == [64, 128]
        assert numbers(line["y"])[1] == peak_bytes(form, 128, call)


@pytest.fixture(scope="module")
def measured() -> AppTest:
    """The page after a measurement that was stopped once there were a few points of every form."""
    at = memory_page(attn_heads="2", attn_kv="1", attn_width="32", attn_seconds="180")
    at.button("measure_start").click().run()
    run: LiveRun[Any] = at.session_state["live_run_measure"][1]
    end = time.monotonic() + PATIENCE
    while len(run.points) < 9 and time.monotonic() < end:
        run.heartbeat()
        time.sleep(0.1)
    at.run().button("measure_stop").click().run()
    assert run.wait(20)
    assert run.error is None
    return at.run()


def test_every_measured_point_is_a_dot(measured: AppTest) -> None:
    run: LiveRun[Any] = measured.session_state["live_run_measure"][1]
    for key, field in (("memory_chart", "peak"), ("time_chart", "seconds")):
        dots = traces(charts(measured)[key], "measured")
        for form, trace in zip(FORMS, dots, strict=True):
            expected = {p.n: getattr(p, field) for p in run.points if p.form == form and p.outcome == "measured"}
            assert numbers(trace["x"]) == list(expected)
            assert numbers(trace["y"]) == pytest.approx(list(expected.values()))
            assert len(expected) >= 3


def test_a_stopped_measurement_keeps_its_points_and_can_be_made_again(measured: AppTest) -> None:
    run: LiveRun[Any] = measured.session_state["live_run_measure"][1]
    assert 9 <= len(run.points) < 33
    assert measured.button("measure_start").label == "Measure again"


def test_the_page_says_what_was_measured(measured: AppTest) -> None:
    run: LiveRun[Any] = measured.session_state["live_run_measure"][1]
    first = run.points[0]
    assert f"| 64 | {first.form} | {bytes_text(first.peak)} | {bytes_text(first.predicted)} |" in words(measured)


def test_kv_heads_that_do_not_divide_are_told() -> None:
    at = memory_page(attn_heads="2", attn_kv="8")
    assert any("8 KV heads do not divide 2 heads" in note.value for note in at.warning)
    assert not at.exception


def test_bytes_are_those_of_the_model(smollm2: Model) -> None:
    at = memory_page(memory_view="bytes", model="smollm2", bytes_tokens="8k")
    assert not at.exception
    lines = {line["hovertext"][0].split("<br>")[0]: line for line in charts(at)["bytes_chart"]["data"]}
    assert numbers(lines["weights"]["y"])[0] == 4 * smollm2.n_parameters
    at_8192 = numbers(lines["KV cache"]["x"]).index(8_192)
    expected = kv_cache_bytes(8_192, n_layers=30, n_kv_heads=3, d_head=64)
    assert numbers(lines["KV cache"]["y"])[at_8192] == expected
    assert "135 M parameters" in words(at)
    assert "Fits in, at 8,192 tokens" in words(at)


def test_the_textbooks_rows_are_on_the_page() -> None:
    said = words(memory_page(memory_view="bytes", sizes_of="typed in"))
    for row in ("8,388,608 | **8.4 M**", "134,217,728 | **134 M**", "8,589,934,592 | **8.6 B**"):
        assert row in said
    assert "Twice the text is four times the matrix" in said


# Llama 3 8B, whose sizes they are, has 8,030,261,248 parameters as published: 128,256 x 4,096 of them in the output.
@pytest.mark.parametrize(
    ("tied", "n_parameters", "says"),
    [
        ("false", 8_030_261_248, "a table each for input and output: 8.0 B parameters"),
        ("true", 8_030_261_248 - 128_256 * 4_096, "one table for input and output: 7.5 B parameters"),
    ],
)
def test_typed_sizes_have_one_table_or_two_as_is_said(tied: str, n_parameters: int, says: str) -> None:
    at = memory_page(memory_view="bytes", sizes_of="typed in", size_tied=tied, bytes_format="int8")
    lines = {line["hovertext"][0].split("<br>")[0]: line for line in charts(at)["bytes_chart"]["data"]}
    assert numbers(lines["weights"]["y"])[0] == n_parameters
    assert says in words(at)


def test_a_typed_model_that_cannot_be_is_answered() -> None:
    at = memory_page(memory_view="bytes", sizes_of="typed in", size_heads="32", size_kv="5")
    assert any("does not divide" in error.value for error in at.error)
    assert not at.exception


@pytest.mark.parametrize("size", ["inf", "1e400", "-inf", "nan"])
def test_a_size_without_end_is_answered(size: str) -> None:
    at = memory_page(memory_view="bytes", sizes_of="typed in", size_width=size)
    assert [error.value for error in at.error] == []
    assert any("It goes from 1 to 100000: showing 4096" in note.value for note in at.warning)
    assert at.number_input(key="size_width").value == 4_096
    at.number_input(key="size_width").set_value(2_048).run()
    assert [error.value for error in at.error] == []
    assert at.number_input(key="size_width").value == 2_048


def test_sizes_beyond_what_is_drawn_leave_no_name_without_a_line() -> None:
    at = memory_page(
        memory_view="bytes",
        sizes_of="typed in",
        size_layers="1000",
        size_heads="1000",
        size_kv="1000",
        bytes_batch="256",
    )
    figure = charts(at)["bytes_chart"]
    assert all(len(numbers(line["x"])) > 1 for line in figure["data"])
    named = {note["text"] for note in figure["layout"]["annotations"]}
    assert "one matrix" in named
    assert "all matrices" not in named


def test_an_encoder_has_no_cache() -> None:
    at = memory_page(memory_view="bytes", model="minilm")
    assert "keeps no cache. Twice the text: matrix x 4." in words(at)
    assert "the cache falls" not in words(at)
    assert not at.exception


def test_a_link_that_asks_for_what_there_is_not_is_answered() -> None:
    at = memory_page(memory_view="nothing", attn_heads="7", attn_dtype="float9")
    said = " ".join(note.value for note in at.warning)
    assert "view “nothing”" in said
    assert "Heads “7”" in said
    assert "Format “float9”" in said

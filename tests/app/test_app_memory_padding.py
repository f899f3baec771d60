"""The padding view of the Memory page without a browser: its numbers are those counted from the lines."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from on_page import MAIN, words
from streamlit.testing.v1 import AppTest

import tfmviz
from tfmviz.models import Model
from tfmviz.ui.live_run import LiveRun

PAGE = MAIN.parents[1] / "pages" / "memory.py"
LINES = ("The cat sat.", "A dog chased the cat over the garden wall, and back again.", "Birds sing.", "Why?")
TEXT = "\n".join(LINES)
PATIENCE = 120


def memory(**query: str) -> AppTest:
    """Open the view with these parameters in its address."""
    at = AppTest.from_file(str(MAIN), default_timeout=PATIENCE)
    at.switch_page(str(PAGE))
    for name, value in {"memory_view": "padding", "text": TEXT, "model": "minilm", **query}.items():
        at.query_params[name] = value
    return at.run()


def charts(at: AppTest) -> dict[str, list[dict[str, Any]]]:
    """The traces of every figure, by its key."""
    return {c.proto.id.rsplit("-", 1)[-1]: json.loads(c.proto.spec)["data"] for c in at.get("plotly_chart")}


def row(at: AppTest, name: str) -> list[str]:
    """The three cells of a row of the table."""
    (found,) = re.findall(rf"^\| {re.escape(name)} \| (.*) \|$", words(at), re.MULTILINE)
    return found.split(" | ")


def test_the_numbers_are_those_counted_from_the_lines(minilm: Model) -> None:
    at = memory(max_length="64", bucket="2")
    assert not at.exception
    assert not at.error
    n = [len(minilm.tokenize(line)) for line in LINES]
    long, _, third, _ = sorted(n, reverse=True)
    cells = [4 * 64**2, 4 * long**2, 2 * long**2 + 2 * third**2]
    tokens = [4 * 64, 4 * long, 2 * long + 2 * third]
    assert row(at, "tokens computed") == [f"{one:,}" for one in tokens]
    assert row(at, "of them padding") == [f"{one - sum(n):,}" for one in tokens]
    real = sum(one**2 for one in n)
    for shown, expected in zip(row(at, "× the lines alone"), cells, strict=True):
        assert float(shown.removesuffix(" ×")) == pytest.approx(expected / real, rel=0.05)
    assert row(at, "attention matrix of a layer")[0] == f"{12 * 4 * cells[0] / 1e3:,.0f} kB"
    drawn = charts(at)
    assert [len(drawn[f"batches_{way}"][0]["text"]) for way in ("fixed", "dynamic", "bucketed")] == [4, 4, 4]


def test_64_token_lines_padded_to_512_cost_64_times_the_matrix() -> None:
    minilm = tfmviz.load_model("minilm", device="cpu", allow_download=False)
    line = " ".join(["cat"] * 62)
    assert len(minilm.tokenize(line)) == 64
    at = memory(text="\n".join([line] * 3), max_length="512")
    assert row(at, "× the lines alone") == ["64 ×", "1.0 ×", "1.0 ×"]
    assert "**64 ×** that of the lines alone" in words(at)


def test_the_time_of_every_way_is_measured() -> None:
    at = memory(max_length="128", bucket="2")
    assert row(at, "time of all lines") == ["–"] * 3
    at.button("padding_start").click().run()
    run: LiveRun[Any] = at.session_state["live_run_padding"][1]
    assert run.wait(PATIENCE)
    at.run()
    assert not at.exception
    assert run.state == "finished"
    assert all(re.fullmatch(r"[\d.]+ m?s", cell) for cell in row(at, "time of all lines"))
    assert "median of 3 rounds" in at.get("progress")[0].proto.text
    assert "× as long as buckets" in words(at)


def test_one_line_says_that_more_make_a_batch_and_is_shown(minilm: Model) -> None:
    at = memory(text=LINES[1])
    assert not at.exception
    assert "is **one line**" in words(at)
    n = len(minilm.tokenize(LINES[1]))
    assert row(at, "tokens computed") == ["512", f"{n}", f"{n}"]


@pytest.mark.parametrize("model", ["smollm2", "scratch-dates", "scratch-untrained"])
def test_every_kind_of_model_reads_the_batch(model: str) -> None:
    at = memory(model=model, text="May 3\n12 June 2020", max_length="40")
    at.button("padding_start").click().run()
    run: LiveRun[Any] = at.session_state["live_run_padding"][1]
    assert run.wait(PATIENCE)
    assert (run.state, run.error) == ("finished", None)
    assert not at.run().exception


def test_a_text_without_a_line_and_a_line_too_long_are_answered() -> None:
    assert "nothing to pad" in memory(text=" \n ").error[0].value
    assert "Line 2 has 702 tokens and minilm takes 512" in memory(text="a\n" + "the " * 700).error[0].value


def test_a_link_that_asks_for_what_there_is_not_is_answered() -> None:
    at = memory(max_length="100000", bucket="3")
    said = " ".join(warning.value for warning in at.warning)
    assert not at.exception
    assert "“100000”" in said
    assert "“3”" in said

"""The Positions page without a browser: what it draws is the papers' formulas and the loaded model's own numbers."""

from __future__ import annotations

import base64
import json
import math
import threading
from collections.abc import Callable
from concurrent import futures
from typing import Any

import numpy as np
import pytest
from on_page import MAIN, words
from streamlit.testing.v1 import AppTest

from tfmviz.analysis import positions
from tfmviz.models import Model
from tfmviz.ui import positions_jobs
from tfmviz.ui.shelf import Stopped

PAGE = MAIN.parents[1] / "pages" / "positions.py"
TEXT = "The cat sat on the mat, and the dog on the cat."


def positions_page(**query: str) -> AppTest:
    """Open the page with these parameters in its address."""
    at = AppTest.from_file(str(MAIN), default_timeout=120)
    at.switch_page(str(PAGE))
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def charts(at: AppTest) -> dict[str, list[dict[str, Any]]]:
    """The traces of every figure, by its key."""
    return {c.proto.id.rsplit("-", 1)[-1]: json.loads(c.proto.spec)["data"] for c in at.get("plotly_chart")}


def numbers(z: Any) -> np.ndarray:
    """An array as Plotly gets it."""
    if not isinstance(z, dict):
        return np.array(z, dtype=np.float64)
    flat = np.frombuffer(base64.b64decode(z["bdata"]), dtype=np.dtype(z["dtype"]))
    return flat.reshape([int(size) for size in str(z["shape"]).split(",")]) if "shape" in z else flat


@pytest.mark.parametrize("d_model", [6, 7])
def test_the_encoding_is_the_papers(d_model: int) -> None:
    at = positions_page(d_model=str(d_model), positions="30", base="100")
    assert not at.exception
    assert not at.error
    drawn = numbers(charts(at)["encoding"][0]["z"])
    assert drawn.shape == (30, d_model)
    for i in range(d_model):
        wave = (math.cos if i % 2 else math.sin)(11 / 100 ** ((i - i % 2) / d_model))
        assert drawn[11, i] == pytest.approx(wave, abs=1e-5)


def test_dot_products_are_cosines_of_the_distance() -> None:
    at = positions_page(d_model="8", positions="20")
    drawn = numbers(charts(at)["dots"][0]["y"])
    expected = [sum(math.cos(k / 10_000 ** (2 * i / 8)) for i in range(4)) / 4 for k in range(20)]
    assert np.abs(drawn - expected).max() < 1e-5
    assert f"{expected[1]:.2f} of the dot product is left" in words(at)


def test_one_dimension_is_a_sine_whose_products_with_position_0_are_none() -> None:
    at = positions_page(d_model="1", positions="20")
    assert not at.exception
    assert not at.error
    assert numbers(charts(at)["dots"][0]["y"]).tolist() == [0.0] * 20
    assert "nan" not in words(at)


def test_pairs_turn_as_the_address_says() -> None:
    at = positions_page(position_view="rotary", pairs="4", base="100", trained="32", factor="2", position="3")
    found = charts(at)
    assert not at.exception
    plain = numbers(found["speeds"][0]["y"])
    assert np.abs(plain / [2 * math.pi * 100 ** (i / 4) for i in range(4)] - 1).max() < 1e-5
    assert numbers(found["speeds"][1]["y"]) == pytest.approx(2 * plain)
    never = sum(2 * math.pi * 100 ** (i / 4) > 32 for i in range(4))
    assert f"{never} of 4 pairs do not come round once in 32 positions" in words(at)


def test_biases_are_the_papers() -> None:
    at = positions_page(position_view="biases", n_heads="8", positions="10")
    found = charts(at)
    assert not at.exception
    assert numbers(found["alibi"][2]["y"]) == pytest.approx([d / 8 for d in range(1, 10)])
    assert "ALiBi takes 0.5 off head 0's score" in words(at)


def test_the_models_table_is_shown(minilm: Model) -> None:
    at = positions_page(position_view="this model", model="minilm", compared="7")
    table = positions.learned(minilm)
    assert table is not None
    expected = positions.similarity(table)[7].numpy()
    assert np.abs(numbers(charts(at)["alike_row"][0]["y"]) - expected).max() < 1e-5
    assert "512 positions" in words(at)


def test_a_model_without_a_table_says_what_it_has() -> None:
    said = words(positions_page(position_view="this model", model="scratch-untrained"))
    assert "no table of positions" in said
    assert "16 pairs of each head turn, with a base of 10,000" in said


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "cat",
        "the " * 50,
        "<b>&amp;</b> $x$ **bold** :smile:",
        "صباح الخير",
        "早上好，世界。" * 43,
        "👩🏽‍🚀 👨‍👩‍👧‍👦",
    ],
)
def test_shuffling_matters_with_positions_only(minilm: Model, text: str) -> None:
    at = positions_page(text=text, position_view="order", model="minilm")
    assert not at.exception
    assert not at.error
    found = {one.scheme: one for one in positions.order(minilm.tokenize(text))}
    drawn = charts(at)
    for scheme, one in found.items():
        size = min(64, len(one.weights))
        assert numbers(drawn[f"scheme_{scheme}"][0]["z"]).shape[0] <= size
    if len(minilm.tokenize(text)) <= 64:
        rotary = numbers(drawn["scheme_rotary"][0]["z"])
        assert np.abs(rotary - found["rotary"].weights.numpy()).max() < 1e-5
    assert found["none"].error < 1e-5
    if len(set(text)) > 5:
        assert min(one.error for scheme, one in found.items() if scheme != "none") > 1e-2


def test_a_text_of_special_tokens_alone_is_nothing_to_look_at() -> None:
    at = positions_page(text="", position_view="order", model="minilm")
    assert "minilm finds no token in the text" in at.error[0].value


def test_one_token_is_not_said_to_be_moved_by_positions() -> None:
    said = words(positions_page(text="a", position_view="order", model="smollm2"))
    assert "this text is the same text" in said
    assert "Your text's 1 token in six" in said
    assert "they move by at least" not in said


def test_longer_texts_show_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    few = positions.extrapolation
    monkeypatch.setattr(
        positions, "extrapolation", lambda scheme, seed, report: few(scheme, seed, n_steps=2, report=report)
    )
    for scheme in positions.SCHEMES:
        positions_jobs.lengths_job(scheme, 2).future.result()
    at = positions_page(position_view="longer texts", lengths_seed="2")
    assert not at.exception
    drawn = charts(at)["longer_chart"]
    for i, scheme in enumerate(positions.SCHEMES):
        expected = few(scheme, 2, n_steps=2).accuracy
        assert numbers(drawn[i]["x"]).tolist() == list(expected)
        assert numbers(drawn[i]["y"]) == pytest.approx(list(expected.values()), abs=1e-6)
    assert "where its table ends" in words(at)


def test_training_can_be_stopped_and_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    few, gate = positions.extrapolation, threading.Event()

    def slow(scheme: Any, seed: int, report: Callable[[float], None]) -> positions.Lengths:
        while scheme == "rotary" and not gate.wait(0.02):
            report(0.5)
        return few(scheme, seed, n_steps=2, report=report)

    monkeypatch.setattr(positions, "extrapolation", slow)
    for scheme in positions.SCHEMES[: positions.SCHEMES.index("rotary")]:
        positions_jobs.lengths_job(scheme, 1).future.result()
    at = positions_page(position_view="longer texts", lengths_seed="1")
    job = positions_jobs.lengths_job("rotary", 1)
    at.button(key="lengths_stop").click().run()
    futures.wait([job.future], timeout=20)
    assert isinstance(job.future.exception(), Stopped)
    at.run()
    n_done = positions.SCHEMES.index("rotary")
    assert at.get("progress")[0].proto.text == f"Stopped: {n_done} of {len(positions.SCHEMES)} models are trained"
    assert len(charts(at)["longer_chart"]) == n_done
    gate.set()
    at.button(key="lengths_go_on").click().run()
    for scheme in positions.SCHEMES:
        positions_jobs.lengths_job(scheme, 1).future.result()
    assert len(charts(at.run())["longer_chart"]) == len(positions.SCHEMES)


def test_a_link_that_asks_for_what_there_is_not_is_answered() -> None:
    at = positions_page(position_view="nothing", d_model="0", base="3")
    said = " ".join(w.value for w in at.warning)
    assert "view “nothing”" in said
    assert "base “3”" in said
    assert "“0”" in said
    assert not at.exception

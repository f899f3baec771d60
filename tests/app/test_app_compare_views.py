"""What the Compare page says beside its maps: number by number, outputs, many texts; and faults of one side."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compare_page import TEXT, compare_page, numbers
from on_page import component, words
from streamlit.testing.v1 import AppTest
from tiny_lfm2 import save_tiny_lfm2

import tfmviz
from tfmviz.models import Model
from tfmviz.ui import live_run
from tfmviz.ui.live_run import LiveRun

SOFTMAX = 5e-5  # PyTorch's softmax of 49 152 numbers is this exact in float32
LINES = "A cat sleeps on the sofa.\nThe kitten naps on the couch.\nTaxes are due in April."


def measured(at: AppTest) -> None:
    """Press the button and look again until the numbers are there; in a browser the page does so by itself."""
    at.button(key="measure_texts").click().run()
    for _ in range(300):
        if at.get("download_button"):
            return
        time.sleep(0.2)
        at.run()
    raise AssertionError("no numbers after a minute")


def test_two_implementations_are_laid_over_each_other_layer_by_layer(minilm: Model) -> None:
    twin = tfmviz.load_model("scratch-minilm", device="cpu", allow_download=False)
    a, b = (model.trace(TEXT, hidden_states=True).hidden_states or () for model in (minilm, twin))
    at = compare_page(text=TEXT, model="minilm", model_b="scratch-minilm", compare_view="number by number")
    assert not at.exception
    assert max(numbers(at, "same_weights", 0, "customdata")) <= 1e-5
    found = numbers(at, "same_weights", 1, "customdata")
    assert np.abs(found - [float((x - y).abs().max()) for x, y in zip(a, b, strict=True)]).max() < 1e-5
    assert "The two compute the same" in words(at)


def test_a_silenced_head_shows_as_a_difference() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="minilm", silenced_b="L2 H5", compare_view="number by number")
    hidden = numbers(at, "same_weights", 1, "customdata")
    assert max(hidden[:3]) == 0
    assert min(hidden[3:]) > 1e-3
    assert "do not compute the same" in words(at)


def test_a_head_silenced_in_the_last_layer_is_a_difference_though_every_weight_is_the_same() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="minilm", silenced_b="L5 H0", compare_view="number by number")
    assert max(numbers(at, "same_weights", 0, "customdata")) == 0
    assert "do not compute the same" in words(at)


def test_a_model_against_itself_proves_nothing() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="minilm", compare_view="number by number")
    assert "this proves nothing" in words(at)


def test_models_that_cannot_be_laid_over_each_other_are_told_apart() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="smollm2", compare_view="number by number")
    assert any("no numbers to lay over each other" in info.value for info in at.info)


def test_next_pieces_are_those_of_the_two_traces(smollm2: Model) -> None:
    at = compare_page(
        text="The capital of France is", model="smollm2", model_b="smollm2", silenced_b="L3 H4", compare_view="outputs"
    )
    assert not at.exception
    (_, best), *_ = smollm2.trace("The capital of France is").next_token(1)
    assert max(numbers(at, "next_pieces", 0, "x")) == pytest.approx(best, abs=SOFTMAX)
    silenced = smollm2.trace("The capital of France is", ablate=((3, 4),)).next_token(1)
    assert max(numbers(at, "next_pieces", 1, "x")) == pytest.approx(silenced[0][1], abs=SOFTMAX)
    assert "D(A‖B)" in words(at)


def test_what_was_left_unread_is_not_read(smollm2: Model) -> None:
    at = compare_page(text="One two three four", model="smollm2", model_b="smollm2", compare_view="outputs", unread="2")
    (_, best), *_ = smollm2.trace("One two").next_token(1)
    assert max(numbers(at, "next_pieces", 0, "x")) == pytest.approx(best, abs=SOFTMAX)
    assert "After “two”" in words(at)


def test_two_vocabularies_have_no_relative_entropy() -> None:
    at = compare_page(text=TEXT, model="smollm2", model_b="scratch-untrained", compare_view="outputs")
    assert not at.exception
    assert "vocabularies differ" in words(at)
    assert "D(A‖B)" not in words(at)


def test_an_encoder_says_that_nothing_comes_next() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="smollm2", compare_view="outputs")
    assert "does not say what comes next" in words(at)
    assert "Write two lines or more" in words(at)


@pytest.mark.parametrize("pooling", ["mean", "CLS", "max"])
def test_similarities_are_the_cosines_of_the_lines(minilm: Model, pooling: str) -> None:
    at = compare_page(text=LINES, model="minilm", model_b="scratch-minilm", compare_view="outputs", pooling=pooling)
    assert not at.exception
    pool = {"mean": lambda x: x.mean(0), "CLS": lambda x: x[0], "max": lambda x: x.max(0).values}[pooling]
    a, b, c = (pool((minilm.trace(line, hidden_states=True).hidden_states or ())[-1]) for line in LINES.split("\n"))
    expected = [float(x @ y / (x.norm() * y.norm())) for x, y in ((a, b), (a, c), (b, c))]
    assert numbers(at, "similarities", 1, "x") == pytest.approx(expected, abs=1e-5)
    assert numbers(at, "similarities", 2, "x") == pytest.approx(expected, abs=1e-4)


def test_a_decoder_has_no_cls_vector_and_says_so() -> None:
    at = compare_page(text=LINES, model="minilm", model_b="smollm2", compare_view="outputs", pooling="CLS")
    assert "B has no special token in front" in words(at)


def test_facts_of_both_are_on_the_page(minilm: Model, smollm2: Model) -> None:
    said = words(compare_page(text=TEXT, model="minilm", model_b="smollm2", compare_view="outputs"))
    for fact in ("time of a pass", "memory of its weights", "heads of keys and values", "tokens a word"):
        assert fact in said
    for model in (minilm, smollm2):
        assert f"{model.n_parameters:,}".replace(",", "\u202f") in said


def test_many_texts_become_means_with_their_spread() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="minilm", silenced_b="L0 H2", compare_view="many texts")
    at.text_area(key="lines").set_value(LINES).run()
    assert at.button(key="measure_texts").label == "Measure 3 texts"
    measured(at)
    table = at.dataframe[0].value
    row = table[table[""].str.startswith("distance of the two heads")].iloc[0]
    assert (row["mean"], row["spread"], row["texts"]) == (1, 0, 3)
    assert "n = 3 texts" in words(at)
    assert at.get("download_button")


def test_a_text_that_cannot_be_read_is_said_and_the_others_count() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="scratch-minilm", compare_view="many texts")
    at.text_area(key="lines").set_value("short one\n" + "a " * 600).run()
    measured(at)
    assert not at.exception
    assert any("602 tokens" in warning.value for warning in at.warning)
    assert "n = 1 texts" in words(at)


def test_a_run_over_many_texts_ends_when_the_visitor_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_run, "LEASE_S", 0.5)
    at = compare_page(text=TEXT, model="minilm", model_b="scratch-minilm", compare_view="many texts")
    at.text_area(key="lines").set_value("\n".join(f"{LINES} {i}".replace("\n", " ") for i in range(200))).run()
    at.button(key="measure_texts").click().run()
    run: LiveRun[Any] = at.session_state["live_run_texts"][1]
    assert run.wait(60)  # nobody looks any more
    assert run.state == "stopped"
    at.run()
    assert not at.exception
    assert f"Stopped after {len(run.points)} of 200 texts" in words(at)
    assert at.button(key="measure_texts").label == "Measure 200 texts"


def test_what_was_measured_stays_when_another_head_is_chosen() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="minilm", compare_view="many texts")
    at.text_area(key="lines").set_value(LINES).run()
    measured(at)
    at.selectbox(key="head_b").set_value(7).run()
    assert "n = 3 texts" in words(at)
    assert any("measure again for these" in caption.value for caption in at.caption)


def test_too_many_texts_are_refused_with_their_number() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="minilm", compare_view="many texts")
    at.text_area(key="lines").set_value("\n".join(f"text {i}" for i in range(201))).run()
    assert any("201 texts" in error.value for error in at.error)
    assert at.button(key="measure_texts").disabled


def test_a_text_that_is_nothing_to_one_model_is_said_on_its_side() -> None:
    at = compare_page(text=" ", model="minilm", model_b="smollm2")
    assert not at.exception
    assert len(at.error) == 1
    assert "what works is shown by itself" in words(at)


def test_a_layer_without_attention_is_said_and_all_else_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFMVIZ_LOCAL_MODELS", "1")
    folder = str(save_tiny_lfm2(tmp_path / "hybrid"))
    at = compare_page(text="a b c d", model="minilm", model_b=folder, layer_b="0", head_b="1")
    assert not at.exception
    assert not at.error
    assert any(info.value.startswith("B:") for info in at.info)
    assert component(at, "distances")[1]["distances"].shape == (72, 4)
    at.selectbox(key="layer_b").set_value(1).run()
    assert not at.info
    assert component(at, "head_pair")[1]["b"].shape[0] == 4

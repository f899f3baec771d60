"""The Compare page without a browser: its numbers are those of the two models, and each side's faults are its own."""

from __future__ import annotations

import numpy as np
import pytest
from compare_page import TEXT, compare_page
from on_page import component, words
from streamlit.testing.v1 import AppTest

from tfmviz.models import Model
from tfmviz.ui import cache


def said(at: AppTest) -> str:
    return " ".join(element.value for element in (*at.error, *at.warning, *at.info))


def test_both_maps_and_their_difference_hold_the_models_weights(minilm: Model, smollm2: Model) -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="smollm2", layer="1", head="3", layer_b="7", head_b="2")
    assert not at.exception
    assert not at.error
    # both models cut this text into the same seven words, so that units are tokens
    a = minilm.trace(TEXT)["self"].weights(1, 3).numpy()[1:-1]
    b = smollm2.trace(TEXT)["self"].weights(7, 2).numpy()
    drawn = component(at, "head_pair")[1]
    drawn_a, drawn_b = drawn["a"], drawn["b"]
    assert np.abs(drawn_a[:, :7] - a[:, 1:-1]).max() < 1e-5
    assert np.abs(drawn_a[:, 7] - a[:, [0, -1]].sum(1)).max() < 1e-5
    assert np.abs(drawn_b[:, :7] - b).max() < 1e-5
    assert np.abs(drawn["signed"] - (drawn_b - drawn_a)).max() < 1e-6


def test_the_matching_covers_all_heads() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="smollm2")
    assert component(at, "distances")[1]["distances"].shape == (72, 270)


def test_a_model_against_itself_is_at_0() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="minilm")
    assert np.abs(np.diagonal(component(at, "distances")[1]["distances"])).max() == 0
    said_there = component(at, "head_pair")[0]["said"]
    assert [text for _, text in said_there] == [
        "A L0 H2 and B L0 H2 look at the same things: no row differs by more than 0.001."
    ]


def test_minilm_and_its_twin_written_here_are_alike() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="scratch-minilm", layer="5", head="4", layer_b="5", head_b="4")
    assert np.abs(component(at, "head_pair")[1]["signed"]).max() < 1e-5


def test_a_silenced_head_comes_first_in_least_alike() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="minilm", silenced_b="L0 H4", matching="same place")
    least = at.dataframe[1].value
    assert least.iloc[0].tolist() == ["L0 H4", "L0 H4", 1.0]


def test_a_model_that_does_not_fit_beside_the_other_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr("tfmviz.models.memory.available_bytes", lambda device: 300_000_000)
    at = compare_page(text=TEXT, model="minilm", model_b="smollm2")
    assert not at.exception
    assert "A minilm about 91 MB, B smollm2 about 630 MB; 300 MB of memory are free" in words(at)
    assert [error.value.replace("\\", "") for error in at.error] == [
        "Loading smollm2 beside the other model would need about 0.63 GB and 0.21 GB are free. Choose a smaller model."
    ]
    assert len(at.get("bidi_component")) > 0
    assert cache.loaded_models() == ["minilm"]


def test_a_model_that_is_not_there_is_said_on_its_side_and_the_other_works() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="nosuchmodel")
    assert not at.exception
    assert len(at.error) == 1
    assert "nosuchmodel" in at.error[0].value
    assert len(at.get("bidi_component")) > 0
    assert "what works is shown by itself" in words(at)


def test_a_text_too_long_for_one_is_said_on_its_side() -> None:
    at = compare_page(text="a " * 600, model="minilm", model_b="scratch-untrained")
    assert not at.exception
    assert ["602 tokens" in error.value for error in at.error] == [True]


def test_a_mask_is_refused_by_a_pretrained_model_and_taken_by_ours() -> None:
    refused = compare_page(text=TEXT, model="minilm", model_b="minilm", mask_b="causal")
    assert len(refused.error) == 1
    taken = compare_page(text=TEXT, model="minilm", model_b="scratch-minilm", mask_b="causal")
    assert not taken.error
    drawn = component(taken, "head_pair")[1]["b"][:, :7]
    assert np.abs(np.triu(drawn, 1)).max() == 0


def test_what_is_no_head_is_said() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="minilm", silenced_b="H<b>")
    assert not at.exception
    assert "Write layer and head" in said(at)


def test_swapping_exchanges_models_and_heads() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="scratch-minilm", layer="1", layer_b="4")
    at.button(key="swap").click().run()
    state = at.session_state
    assert (state["model"], state["model_b"], state["layer"], state["layer_b"]) == ("scratch-minilm", "minilm", 4, 1)


def picked(at: AppTest, letter: str) -> tuple[int, int]:
    """Layer and head of a side."""
    ending = "_b" if letter == "B" else ""
    return at.selectbox(key=f"layer{ending}").value, at.selectbox(key=f"head{ending}").value


def test_another_model_opens_with_its_own_head_on_either_side() -> None:
    """As the address says: a head that nobody chose is not in it, and opening it shows the model's own."""
    own = compare_page(text=TEXT, model="smollm2", model_b="minilm")
    at = compare_page(text=TEXT, model="minilm", model_b="smollm2")
    at.selectbox(key="model_b").set_value("minilm").run()
    at.selectbox(key="model").set_value("smollm2").run()
    assert (picked(at, "A"), picked(at, "B")) == (picked(own, "A"), picked(own, "B"))
    assert picked(at, "A") != picked(at, "B")


def test_heads_that_were_chosen_go_along_when_the_sides_are_swapped() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="smollm2")
    at.selectbox(key="layer_b").set_value(1).run()
    at.selectbox(key="head_b").set_value(7).run()
    at.button(key="swap").click().run()
    assert (picked(at, "A"), picked(at, "B")) == ((1, 7), (0, 2))


def test_copying_makes_b_what_a_is() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="scratch-minilm", layer="1", layer_b="4")
    at.button(key="copy").click().run()
    assert (at.session_state["model_b"], at.session_state["layer_b"]) == ("minilm", 1)


def test_an_address_that_cannot_be_meant_is_answered() -> None:
    at = compare_page(text=TEXT, model="minilm", model_b="minilm", layer_b="99", units="letters", matching="best")
    assert not at.exception
    assert "layer “99”" in said(at)
    assert "units “letters”" in said(at)
    assert "matching “best”" in said(at)


def test_an_empty_text_is_said_once() -> None:
    at = compare_page(text=" ", model="minilm", model_b="scratch-minilm")
    assert not at.exception
    assert len(at.error) == 1

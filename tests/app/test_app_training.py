"""The Training page without a browser: what it trains is what was asked for, and what it shows is that model."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import quick_training
from on_page import MAIN, component, words
from streamlit.testing.v1 import AppTest

from tfmviz.errors import ConfigError
from tfmviz.models.scratch_load import byte_model
from tfmviz.training import PRESETS, TASKS, Loop
from tfmviz.ui import cache, training_inputs, training_models
from tfmviz.ui.requests import ModelRequest

PAGE = Path(MAIN).parents[1] / "pages" / "training.py"
EXPLORE = PAGE.with_name("explore.py")
PATIENCE = 120.0

Open = Callable[..., AppTest]


@pytest.fixture
def training() -> Open:
    """Open the Training page with these parameters in its address."""

    def open_page(**query: str) -> AppTest:
        at = AppTest.from_file(str(MAIN), default_timeout=120)
        at.switch_page(str(PAGE))
        for name, value in query.items():
            at.query_params[name] = value
        return at.run()

    return open_page


def trained(at: AppTest) -> AppTest:
    """Press Start and wait for the end."""
    at.button(key="start").click().run()
    end = time.monotonic() + PATIENCE
    while "reset" not in [button.key for button in at.button]:
        assert time.monotonic() < end, "the training did not end"
        time.sleep(0.1)
        at.run()
    return at


def bar(at: AppTest) -> str:
    return at.get("progress")[0].proto.text


def figure(at: AppTest, number: int) -> dict[str, Any]:
    return json.loads(at.get("plotly_chart")[number].proto.spec)


def drawn(values: Any) -> np.ndarray:
    """Numbers of a figure, whichever way Plotly wrote them."""
    if isinstance(values, dict):
        import base64

        return np.frombuffer(base64.b64decode(values["bdata"]), dtype=np.dtype(values["dtype"]))
    return np.array(values, np.float32)


def test_the_page_opens_with_the_untrained_model_of_the_preset(training: Open) -> None:
    at = training()
    assert not at.exception
    assert not at.error
    model = byte_model(Loop(PRESETS["induction"].settings).model, name="untrained")
    overview = model.trace(TASKS["induction"].example.text)["self"].overview().numpy()
    assert np.array_equal(component(at, "atlas")[1]["overview"], overview)
    assert bar(at).startswith("Ready")


def test_the_model_that_comes_out_is_the_one_these_settings_make(training: Open) -> None:
    at = trained(training(**quick_training.ADDRESS))
    loop = Loop(quick_training.settings())
    reports = list(loop.steps())
    assert np.allclose(drawn(figure(at, 0)["data"][0]["y"]), [report.loss for report in reports], atol=1e-6)
    assert np.allclose(drawn(figure(at, 0)["data"][1]["y"]), [report.accuracy for report in reports], atol=1e-6)
    trace = byte_model(loop.model, name="trained").trace("parrot", target="parrot")
    assert np.array_equal(component(at, "atlas")[1]["overview"], trace["cross"].overview().numpy())
    assert bar(at).startswith("Finished: step 20 of 20")


def test_scrubbing_back_shows_the_attention_of_that_step(training: Open) -> None:
    at = trained(training(**quick_training.ADDRESS))
    at.slider(key="step_shown").set_value(7).run()
    loop = Loop(quick_training.settings())
    for _ in range(7):
        loop.advance()
    trace = byte_model(loop.model, name="step 7").trace("parrot", target="parrot")
    assert np.array_equal(component(at, "atlas")[1]["overview"], trace["cross"].overview().numpy())
    assert "Step 7: loss" in words(at)
    assert at.toggle(key="follow").value is False


def test_the_slider_that_follows_a_training_only_shows_and_one_that_scrubs_takes_its_place(training: Open) -> None:
    at = training(**(quick_training.ADDRESS | {"steps": "5000"}))
    at.button(key="start").click().run()
    try:
        assert [slider.key for slider in at.slider] == ["step_followed"]
        assert at.slider(key="step_followed").disabled
        at.toggle(key="follow").set_value(False).run()
        at.slider(key="step_shown").set_value(0).run()
        assert "Step 0, before anything is learnt" in words(at)
        assert bar(at).startswith("Training")
    finally:
        at.button(key="stop").click().run()
    assert at.slider(key="step_shown").value == 0


def test_any_text_can_be_watched(training: Open) -> None:
    at = training(**quick_training.ADDRESS, watch="<b>🙂", watch_target="x")
    assert not at.error
    assert component(at, "atlas")[0]["tokens"] == [2, len("<b>🙂".encode()) + 1]


def test_the_trained_model_is_on_this_session_s_list_and_on_nobody_else_s(training: Open, explore: Open) -> None:
    at = trained(training(**quick_training.ADDRESS))
    assert "trained:copy" in at.selectbox(key="model").options
    assert "trained:copy" not in explore().selectbox(key="model").options
    other = explore(model="trained:copy", text="parrot")
    assert "they end with the session" in other.error[0].value


def test_the_trained_model_explores_like_any_other(training: Open) -> None:
    at = trained(training(**quick_training.ADDRESS))
    at.selectbox(key="model").set_value("trained:copy").run()
    at.text_area(key="text").set_value("letters").run()
    at.text_area(key="target").set_value("let").run()
    at.switch_page(str(EXPLORE)).run()
    assert not at.error
    loop = Loop(quick_training.settings())
    list(loop.steps())
    trace = byte_model(loop.model, name="trained").trace("letters", target="let")
    assert np.array_equal(component(at, "atlas")[1]["overview"], trace["cross"].overview().numpy())


def test_explore_opens_with_the_trained_model_and_the_text_that_was_watched(training: Open) -> None:
    at = trained(training(**quick_training.ADDRESS, watch="carrot", watch_target="carr"))
    at.query_params[training_models.OPEN] = "trained:copy"  # what the link says
    at.switch_page(str(EXPLORE)).run()
    assert not at.exception
    assert not at.error
    assert at.selectbox(key="model").value == "trained:copy"
    assert (at.text_area(key="text").value, at.text_area(key="target").value) == ("carrot", "carr")
    loop = Loop(quick_training.settings())
    list(loop.steps())
    trace = byte_model(loop.model, name="trained").trace("carrot", target="carr")
    assert np.array_equal(component(at, "atlas")[1]["overview"], trace["cross"].overview().numpy())
    assert training_models.OPEN not in at.query_params


def test_a_step_can_be_kept_as_a_model_of_its_own(training: Open) -> None:
    at = trained(training(**quick_training.ADDRESS))
    at.slider(key="step_shown").set_value(4).run()
    at.button(key="keep").click().run()
    assert "trained:copy-2" in at.selectbox(key="model").options
    at.button(key="keep").click().run()
    assert "trained:copy-3" not in at.selectbox(key="model").options


def test_reset_throws_away_what_was_learnt(training: Open) -> None:
    at = trained(training(**quick_training.ADDRESS))
    at.button(key="reset").click().run()
    assert bar(at).startswith("Ready")
    assert len(drawn(figure(at, 0)["data"][0]["y"])) == 0
    assert at.button(key="start").label == "Start"


def test_stop_and_resume_give_the_same_model(training: Open) -> None:
    at = training(**(quick_training.ADDRESS | {"steps": "400", "task": "sort"}))
    at.button(key="start").click().run()
    at.button(key="stop").click().run()
    assert bar(at).startswith("Paused")
    before = len(drawn(figure(at, 0)["data"][0]["y"]))
    assert at.button(key="resume").label == "Resume"
    at.button(key="resume").click().run()
    at.button(key="stop").click().run()
    assert len(drawn(figure(at, 0)["data"][0]["y"])) >= before


def test_another_task_brings_its_own_settings(training: Open) -> None:
    at = training()
    at.selectbox(key="width").set_value(16).run()
    at.get("button_group")[0].set_value("dates").run()  # type: ignore[union-attr]
    preset = PRESETS["dates"].settings
    assert at.selectbox(key="width").value == preset.d_model
    assert at.text_input(key="watch").value == TASKS["dates"].example.text
    assert component(at, "atlas")[0]["tokens"][1] == len(TASKS["dates"].example.text) + 1


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"width": "17"}, "asks for width “17”"),
        ({"task": "chess"}, "asks for task"),
        ({"steps": "1e9"}, "goes from 20"),
        ({"warmup": "inf"}, "asks for warm-up steps “inf”"),
        ({"seed": "-1e400"}, "goes from 0 to 2147483648: showing 0"),
    ],
)
def test_nonsense_in_the_address_is_answered(training: Open, query: dict[str, str], sentence: str) -> None:
    at = training(**query)
    assert not at.exception
    assert not at.error
    assert sentence in at.warning[0].value


def test_settings_that_describe_no_model_are_told_outside_of_the_closed_popover(
    training: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConfigError("width=1 describes no model.")

    monkeypatch.setattr(training_inputs, "settings", refuse)
    at = training()
    assert [around for around, words in _errors(at.main) if "describes no model" in words] == [("main",)]


def _errors(block: Any, around: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """Every error under a block: the kinds of blocks that it stands in, but for plain containers, and its words."""
    if block.type == "error":
        return [(around, block.value)]
    named = around if block.type in ("container", "vertical", "flex_container", "unknown") else (*around, block.type)
    return [found for child in getattr(block, "children", {}).values() for found in _errors(child, named)]


def test_a_token_that_nobody_has_opens_nothing() -> None:
    with pytest.raises(Exception, match="end with the session"):
        cache.model(ModelRequest(name="trained:copy", private="0123456789abcdef"))

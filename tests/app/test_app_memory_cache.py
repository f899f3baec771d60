"""The cache view of the Memory page without a browser: what it shows is what a generation of its own gives."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
import pytest
import torch
from on_page import MAIN, words
from streamlit.testing.v1 import AppTest

import tfmviz
from tfmviz.analysis import generation
from tfmviz.text import display
from tfmviz.ui.live_run import LiveRun

PAGE = MAIN.parents[1] / "pages" / "memory.py"
TEXT = "The cat sat on the mat."
PATIENCE = 120


def memory(**query: str) -> AppTest:
    """Open the view with these parameters in its address."""
    at = AppTest.from_file(str(MAIN), default_timeout=PATIENCE)
    at.switch_page(str(PAGE))
    for name, value in {"memory_view": "cache", "text": TEXT, **query}.items():
        at.query_params[name] = value
    return at.run()


def measured(at: AppTest) -> AppTest:
    """Press Start, wait for the end and draw again."""
    at.button("cache_start").click().run()
    run: LiveRun[Any] = at.session_state["live_run_cache"][1]
    assert run.wait(PATIENCE)
    return at.run()


def traces(at: AppTest) -> list[dict[str, Any]]:
    """Formula, dots without, dots with, and the cache's bytes."""
    (chart,) = at.get("plotly_chart")
    return json.loads(chart.proto.spec)["data"]


def numbers(z: Any) -> np.ndarray:
    """An array as Plotly gets it."""
    if not isinstance(z, dict):
        return np.array(z, dtype=np.float64)
    return np.frombuffer(base64.b64decode(z["bdata"]), dtype=np.dtype(z["dtype"])).astype(np.float64)


def test_before_the_start_the_formula_is_there_and_no_dot() -> None:
    at = memory(model="scratch-induction", new_tokens="6")
    assert not at.exception
    assert not at.error
    formula, *dots = traces(at)
    shape = generation.cache_shape(tfmviz.load_model("scratch-induction", device="cpu"))
    n_prompt = 1 + len(TEXT)
    assert numbers(formula["x"]).tolist() == list(range(n_prompt, n_prompt + 6))
    expected = [2 * len(shape.windows) * shape.n_kv_heads * shape.d_head * 4 * n for n in numbers(formula["x"])]
    assert numbers(formula["y"]) * 1e3 == pytest.approx(expected, rel=1e-5)
    assert all(len(numbers(one["y"])) == 0 for one in dots)
    assert "Ready to write 6 tokens" in at.get("progress")[0].proto.text


@pytest.mark.parametrize("name", ["scratch-induction", "scratch-smollm2", "smollm2"])
def test_what_is_shown_is_the_models_own_greedy_text_and_cache(name: str) -> None:
    at = measured(memory(model=name, new_tokens="5"))
    assert not at.exception
    assert not at.error
    model = tfmviz.load_model(name, device="cpu", allow_download=False)
    tokens = [token.id for token in model.tokenize(TEXT)]
    expected = list(tokens)
    with model.exclusive() as module:
        for _ in range(5):
            found = module(torch.tensor([expected]))
            logits = found if isinstance(found, torch.Tensor) else found.logits
            expected.append(int(logits[0, -1].argmax()))
    said = words(at)
    assert "Written, the same with and without the cache" in said
    assert "Both wrote the same 5 tokens" in said
    assert display.markdown(model.text_of(expected[len(tokens) :])) in said
    _, without, with_cache, kept = traces(at)
    lengths = [len(tokens) + i for i in range(5)]
    assert numbers(with_cache["x"]).tolist() == numbers(without["x"]).tolist() == lengths
    assert min(numbers(with_cache["y"]).min(), numbers(without["y"]).min()) > 0
    (each,) = re.findall(r"= ([\d,]+) bytes", said)
    per_token = int(each.replace(",", ""))
    assert "exactly the formula’s" in said
    unit = 1e6 if per_token * lengths[-1] >= 1e6 else 1e3
    assert numbers(kept["y"]) * unit == pytest.approx([per_token * n for n in lengths], rel=1e-5)


def test_smollm2s_cache_takes_46080_bytes_a_token() -> None:
    said = words(memory(model="smollm2", new_tokens="4"))
    assert "2 (key and value) × 30 layers × 3 KV heads × 64 × 4 bytes = 46,080 bytes" in said


@pytest.mark.parametrize(("name", "kind"), [("minilm", "encoder"), ("scratch-dates", "encoder-decoder")])
def test_models_that_write_nothing_on_say_what_to_choose(name: str, kind: str) -> None:
    at = memory(model=name)
    assert not at.exception
    (said,) = [info.value for info in at.info]
    assert f"is an {kind}" in said
    assert "smollm2" in said
    assert not at.get("plotly_chart")


def test_another_text_is_another_measurement() -> None:
    at = measured(memory(model="scratch-induction", new_tokens="4"))
    first = at.session_state["live_run_cache"][1]
    at.text_area("text").set_value("Another text.").run()
    assert "Ready to write 4 tokens" in at.get("progress")[0].proto.text
    assert at.button("cache_start").label == "Start"
    assert first.state == "finished"


def test_it_can_be_stopped_and_says_how_far_it_came() -> None:
    at = memory(model="scratch-smollm2", new_tokens="200")
    at.button("cache_start").click().run()
    run: LiveRun[Any] = at.session_state["live_run_cache"][1]
    at.button("cache_stop").click().run()
    assert run.wait(PATIENCE)
    at.run()
    assert run.state == "stopped"
    assert len(run.points) < 200
    assert f"Stopped after {len(run.points)} of 200 tokens" in at.get("progress")[0].proto.text


@pytest.mark.parametrize(
    "text", ["", "   ", "x", "<b>&amp;</b> $x$ **bold** :smile:", "صباح الخير", "👩🏽‍🚀 👨‍👩‍👧‍👦", "早上好"]
)
def test_any_text_is_a_prompt_or_a_sentence(text: str) -> None:
    at = memory(text=text, model="scratch-induction", new_tokens="4")
    assert not at.exception
    if text:
        assert not measured(at).exception
        assert len(numbers(traces(at)[2]["y"])) == 4
    else:
        assert "nothing to go on from" in at.error[0].value


def test_a_text_as_long_as_the_model_takes_leaves_no_room() -> None:
    limit = tfmviz.load_model("scratch-untrained", device="cpu").max_tokens
    assert limit is not None
    at = memory(text="x" * (limit - 1), model="scratch-untrained")
    assert not at.exception
    assert "no room to write on" in at.info[0].value


def test_a_link_that_asks_for_what_there_is_not_is_answered() -> None:
    at = memory(model="scratch-induction", new_tokens="100000")
    assert not at.exception
    assert any("“100000”" in warning.value for warning in at.warning)

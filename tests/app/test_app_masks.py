"""The Masks page without a browser: its numbers are those of a masked softmax, its address is obeyed."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
import torch
from on_page import MAIN, words
from streamlit.testing.v1 import AppTest

import tfmviz
from tfmviz.analysis import masks
from tfmviz.analysis.masks import Sizes
from tfmviz.models import Model
from tfmviz.ui import masks_panels

PAGE = MAIN.parents[1] / "pages" / "masks.py"
TEXT = "The cat sat on the mat, and the dog on the cat."
HOSTILE = "<b>&amp;</b> $x$ **bold** :smile:"


def masks_page(**query: str) -> AppTest:
    """Open the page with these parameters in its address."""
    at = AppTest.from_file(str(MAIN), default_timeout=120)
    at.switch_page(str(PAGE))
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def charts(at: AppTest) -> dict[str, dict[str, Any]]:
    """Figures by their keys."""
    found = {}
    for chart in at.get("plotly_chart"):
        found[chart.proto.id.rsplit("-", 1)[-1]] = json.loads(chart.proto.spec)
    return found


def numbers(z: Any) -> np.ndarray:
    """An array as Plotly gets it; None is NaN."""
    if isinstance(z, dict):
        flat = np.frombuffer(base64.b64decode(z["bdata"]), dtype=np.dtype(z["dtype"]))
        return flat.reshape([int(size) for size in str(z["shape"]).split(",")]) if "shape" in z else flat
    return np.array([[np.nan if v is None else v for v in row] for row in z], dtype=np.float32)


def by_hand(model: Model, pattern: masks.Pattern, layer: int, head: int) -> np.ndarray:
    """Softmax over the allowed cells of the model's own queries and keys; hidden cells NaN."""
    n = len(model.tokenize(TEXT))
    trace = model.trace(TEXT, pad_to=n + 3, pad_side="right")
    source = trace["self"].layers[layer].source
    at = torch.arange(n + 3)
    allowed = masks.rule(pattern, trace.tokens, Sizes(), causal=model.kind == "decoder").block(at, at)
    key = source.key[head // (source.n_heads // source.n_kv_heads)]
    scores = source.query[head] @ key.T * source.scale
    return scores.masked_fill(~allowed, -torch.inf).softmax(-1).masked_fill(~allowed, torch.nan).numpy()


@pytest.mark.parametrize("model", ["minilm", "smollm2"])
def test_each_panel_is_a_softmax_over_its_own_cells(model: str, request: pytest.FixtureRequest) -> None:
    at = masks_page(text=TEXT, model=model, layer="2", head="4")
    assert not at.exception
    assert not at.error
    found, real = charts(at), request.getfixturevalue(model)
    for pattern in masks.PATTERNS:
        drawn = numbers(found[f"mask_{pattern}"]["data"][0]["z"])
        expected = by_hand(real, pattern, 2, 4)
        assert np.array_equal(np.isnan(drawn), np.isnan(expected))
        assert np.nanmax(np.abs(drawn - expected)) < 1e-5


def test_the_difference_is_to_the_models_own_mask(minilm: Model) -> None:
    found = charts(masks_page(text=TEXT, model="minilm", layer="2", head="4", show="difference"))
    n = len(minilm.tokenize(TEXT))
    own = minilm.trace(TEXT, pad_to=n + 3)["self"].weights(2, 4).numpy()
    drawn = numbers(found["mask_causal"]["data"][0]["z"])
    expected = np.nan_to_num(by_hand(minilm, "causal", 2, 4)) - own
    seen = ~np.isnan(drawn)
    assert np.abs(drawn - expected)[seen].max() < 1e-5
    assert np.abs(expected[~seen]).max(initial=0) < 1e-7
    assert np.abs(numbers(found["mask_own"]["data"][0]["z"])[:, :n]).max() == 0


def test_the_words_say_how_many_cells_are_allowed(minilm: Model) -> None:
    at = masks_page(text=TEXT, model="minilm", pads="0")
    n = len(minilm.tokenize(TEXT))
    share = 100 * (n + 1) / (2 * n)
    assert f"**causal**  \n:small[:gray[{float(f'{share:.2g}'):g} % allowed" in words(at)


def test_the_whole_model_under_a_mask_is_the_models_pass_under_it() -> None:
    at = masks_page(text=TEXT, model="scratch-minilm", layer="3", head="1", whole="true", pads="0")
    model = tfmviz.load_model("scratch-minilm", device="cpu", allow_download=False)
    expected = model.trace(TEXT, mask="sliding:4")["self"].weights(3, 1).numpy()
    drawn = np.nan_to_num(numbers(charts(at)["mask_sliding"]["data"][0]["z"]))
    assert np.abs(drawn - expected).max() < 1e-5


def test_a_text_too_long_for_whole_passes_is_not_said_to_be_run_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks_panels, "WHOLE_UP_TO", 20)
    said = words(masks_page(text=TEXT, model="scratch-untrained", whole="true"))
    assert "masked anew in this layer alone" in said
    assert "the whole model run again" not in said


def test_the_applied_masks_of_a_decoder_are_those_of_its_own_tokens() -> None:
    query = {"text": "the 5th of March, 2021", "target": "2021-0", "model": "scratch-dates", "mask_view": "this model"}
    model = tfmviz.load_model("scratch-dates", device="cpu", allow_download=False)
    n_tokens = len(model.tokenize(query["text"], target=query["target"]))
    assert n_tokens < len(model.tokenize(query["text"]))
    assert f"in this pass over {n_tokens} tokens" in words(masks_page(**query, self_stack="decoder"))


def test_a_text_of_one_token_is_one_token() -> None:
    said = words(masks_page(text="a", model="smollm2", mask_view="this model"))
    assert "in this pass over 1 token, read" in said
    assert "A window wider than 1 token would" in said


def test_sizes_come_from_the_address(minilm: Model) -> None:
    at = masks_page(text=TEXT, model="minilm", pads="0", window="2", prefix="5", show="allowed")
    found = charts(at)
    window = ~np.isnan(numbers(found["mask_sliding"]["data"][0]["z"]))
    assert window.sum(1).tolist() == [1] + [2] * (len(window) - 1)
    assert (~np.isnan(numbers(found["mask_prefix"]["data"][0]["z"])))[0].sum() == 5


def test_a_link_that_asks_for_what_there_is_not_is_answered() -> None:
    at = masks_page(text=TEXT, model="minilm", layer="99", mask_view="nothing", window="0")
    said = " ".join(w.value for w in at.warning)
    assert "layer “99”" in said
    assert "view “nothing”" in said
    assert not at.exception


@pytest.mark.parametrize(
    "text", ["cat", "the " * 50, HOSTILE, "صباح الخير", "早上好，世界。" * 43, "👨‍👩‍👧‍👦 👩🏽‍🚀 👨‍👩‍👧‍👦"]
)
@pytest.mark.parametrize("view", ["side by side", "this model", "padding", "leakage"])
def test_every_text_works_in_every_view(text: str, view: str) -> None:
    at = masks_page(text=text, model="scratch-untrained", mask_view=view)
    assert not at.exception
    assert not [error.value for error in at.error]
    assert at.get("plotly_chart")


def test_the_models_full_length_works_and_leaves_no_room_for_padding(minilm: Model) -> None:
    text = "a " * 510
    assert len(minilm.tokenize(text)) == 512
    at = masks_page(text=text, model="minilm")
    assert not at.exception
    assert not at.error
    assert charts(at)["mask_padding"]
    assert "There is no room for padding" in words(at)
    assert "no room for padding" in masks_page(text=text, model="minilm", mask_view="padding").info[0].value


def test_a_text_that_is_too_long_is_refused_in_words() -> None:
    at = masks_page(text="a " * 600, model="minilm")
    assert not at.exception
    assert "602 tokens" in at.error[0].value


def test_padding_says_what_was_measured() -> None:
    model = tfmviz.load_model("scratch-minilm", device="cpu", allow_download=False)
    at = masks_page(text=TEXT, model="scratch-minilm", mask_view="padding", padding="6")
    effect = masks.padding(model, TEXT, len(model.tokenize(TEXT)) + 6)
    found = charts(at)
    open_leak = numbers(found["leak_by_layer"]["data"][1]["y"])
    assert np.abs(open_leak - effect.leak_open.numpy()).max() < 1e-6
    assert f"mean cosine is {float(effect.cosine_open.mean()):.4f}" in words(at)
    assert "Hidden, they draw 0 % of the attention" in words(at)


def test_leakage_says_who_moved() -> None:
    at = masks_page(text=TEXT, model="scratch-minilm", mask_view="leakage", at="6")
    said = words(at)
    assert "Under the causal mask none of the 6 tokens before it changed, in any layer." in said
    assert "Under the bidirectional mask 6 of the 6 tokens before it changed" in said
    drawn = numbers(charts(at)["movement_causal"]["data"][0]["z"])
    assert np.isnan(drawn[:, :6]).all()
    assert not np.isnan(drawn[:, 6]).any()


def test_a_pretrained_model_is_tested_under_its_own_mask() -> None:
    at = masks_page(text=TEXT, model="smollm2", mask_view="leakage", at="5")
    assert "Under the model's own mask none of the 5 tokens before it changed" in words(at)


def test_the_applied_mask_is_named(minilm: Model) -> None:
    said = words(masks_page(text=TEXT, model="smollm2", mask_view="this model"))
    assert "**Layers 0–29** causal" in said
    assert "**Layers 0–5** bidirectional" in words(masks_page(text=TEXT, model="minilm", mask_view="this model"))

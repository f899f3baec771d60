"""The Positions page on models that turn queries or add to scores: what is drawn is the loaded model's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from on_page import MAIN, words
from streamlit.testing.v1 import AppTest
from test_app_positions import charts, numbers
from tiny_t5 import save_tiny_t5

from tfmviz.models import Model
from tfmviz.ui import cache

PAGE = MAIN.parents[1] / "pages" / "positions.py"


def this_model(name: str) -> AppTest:
    """Open the view of the loaded model."""
    at = AppTest.from_file(str(MAIN), default_timeout=120)
    at.switch_page(str(PAGE))
    for key, value in {"position_view": "this model", "model": name, "text": "a b c"}.items():
        at.query_params[key] = value
    return at.run()


def test_smollm2s_pairs_turn_at_the_speeds_of_its_own_buffer(smollm2: Model) -> None:
    at = this_model("smollm2")
    assert not at.exception
    assert not at.error
    with smollm2.exclusive() as module:
        speeds = module.base_model.rotary_emb.inv_freq.numpy().copy()
    drawn = charts(at)
    assert numbers(drawn["own_speeds"][0]["y"]) == pytest.approx(2 * np.pi / speeds, rel=1e-5)
    at_distance = numbers(drawn["own_scores"][0]["x"]).astype(np.float64)
    expected = np.cos(at_distance[:, None] * speeds.astype(np.float64)).mean(1)
    assert np.abs(numbers(drawn["own_scores"][0]["y"]) - expected).max() < 1e-3
    said = words(at)
    assert "32 pairs of each head turn, with a base of 100,000" in said
    never = int((2 * np.pi / speeds > 8192).sum())
    assert f"{never} of them never come round within the 8,192 tokens" in said


def test_t5s_learned_numbers_are_drawn_by_distance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFMVIZ_LOCAL_MODELS", "1")
    folder = str(save_tiny_t5(tmp_path / "tiny-t5"))
    cache.clear()
    at = this_model(folder)
    assert not at.exception
    assert not at.error
    from transformers import T5ForConditionalGeneration

    module = T5ForConditionalGeneration.from_pretrained(folder)
    drawn = charts(at)
    for stack in ("encoder", "decoder"):
        attention = getattr(module, stack).block[0].layer[0].SelfAttention
        with torch.no_grad():
            own = attention.compute_bias(60, 60)[0]
        line = drawn[f"own_bias_{stack}"][0]
        by_distance = dict(zip(numbers(line["x"]).tolist(), numbers(line["y"]).tolist(), strict=True))
        for back in (0, 1, 7, 40):
            assert by_distance[-back] == pytest.approx(float(own[0, 50, 50 - back]), abs=1e-6)
    assert "32 learned numbers a head" in words(at)


def test_the_induction_model_has_the_slopes_of_the_alibi_paper() -> None:
    at = this_model("scratch-induction")
    assert not at.exception
    lines = charts(at)["own_bias_self"]
    assert len(lines) == 8
    for head, line in enumerate(lines):
        assert numbers(line["y"]) == pytest.approx(numbers(line["x"]) * 2.0 ** -(head + 1), rel=1e-5)
    assert "8 heads with slopes from 0.5 to 0.0039 a token" in words(at)

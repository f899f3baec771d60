"""The Inside page without a browser: the numbers in its pictures and sentences are those of the formula."""

from __future__ import annotations

import base64
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from on_page import MAIN, words
from streamlit.testing.v1 import AppTest
from tiny_t5 import save_tiny_t5

from tfmviz.analysis.inside import stages
from tfmviz.models import Model

PAGE = MAIN.parents[1] / "pages" / "inside.py"
TEXT = "The cat sat on the mat, and the dog on the cat."
DOWN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
HOSTILE = "<b>&amp;</b> $x$ **bold** :smile:"
TEXTS = {
    "one token": "a",
    "the same fifty times": "word " * 50,
    "markup": HOSTILE,
    "arabic": "كتب الطالب الدرس في الدفتر.",
    "chinese of 300": "猫坐在垫子上看着窗外的雨。" * 23 + "猫",
    "emoji families": "👨‍👩‍👧‍👦 and 👩‍👩‍👦 went 👍🏽 home",
    "500 tokens": "rivers and stones " * 167,
}


def inside(**query: str) -> AppTest:
    """Open the page with these parameters in its address."""
    at = AppTest.from_file(str(MAIN), default_timeout=200)
    at.switch_page(str(PAGE))
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def charts(at: AppTest) -> dict[str, dict[str, Any]]:
    """Figures by their keys."""
    return {chart.proto.id.rsplit("-", 1)[-1]: json.loads(chart.proto.spec) for chart in at.get("plotly_chart")}


def numbers(z: Any) -> np.ndarray:
    """An array as Plotly gets it; None is NaN."""
    if isinstance(z, dict):
        flat = np.frombuffer(base64.b64decode(z["bdata"]), dtype=np.dtype(z["dtype"]))
        return flat.reshape([int(size) for size in str(z["shape"]).split(",")]) if "shape" in z else flat
    rows = z if z and isinstance(z[0], list) else [z]
    return np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=np.float32).squeeze()


def step_map(at: AppTest) -> np.ndarray:
    return numbers(charts(at)["step_map"]["data"][0]["z"])


def check_line(at: AppTest) -> str:
    assert not at.warning, [one.value for one in at.warning]
    return at.success[0].value


@pytest.mark.parametrize("step", ["query", "key", "value", "scores", "scaled", "masked", "weights", "output"])
@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_each_step_shows_the_numbers_of_the_formula(name: str, step: str, request: pytest.FixtureRequest) -> None:
    model: Model = request.getfixturevalue(name)
    shown = step_map(inside(text=TEXT, model=name, step=step, layer="2", head="5"))
    source = model.trace(TEXT).inside(2).source
    query, key = source.query[5], source.key[5 // (source.n_heads // source.n_kv_heads)]
    assert source.value is not None
    value = source.value[5 // (source.n_heads // source.n_kv_heads)]
    scores = query @ key.T
    hidden = torch.ones_like(scores).triu(1).bool() if name == "smollm2" else torch.zeros_like(scores).bool()
    scaled = scores / math.sqrt(query.shape[1])
    weights = scaled.masked_fill(hidden, -torch.inf).softmax(-1)
    expected = {
        "query": query,
        "key": key,
        "value": value,
        "scores": scores,
        "scaled": scaled,
        "masked": scaled.masked_fill(hidden, torch.nan),
        "weights": weights.masked_fill(hidden, torch.nan),
        "output": weights @ value,
    }[step].numpy()
    assert np.array_equal(np.isnan(shown), np.isnan(expected))
    assert np.nanmax(np.abs(shown - expected)) < 1e-3


def test_the_projection_and_the_stream_are_the_model_s_modules(minilm: Model) -> None:
    """The head's rows of MiniLM's own dense layer, and the layer's own input, are the other way to the numbers."""
    trace = minilm.trace(TEXT, hidden_states=True)
    assert trace.hidden_states is not None
    dense = minilm._module.encoder.layer[2].attention.output.dense
    output = stages(trace, 2, 5).output
    wanted = output @ dense.weight.detach()[:, 5 * 32 : 6 * 32].T
    shown = step_map(inside(text=TEXT, step="projection", layer="2", head="5"))
    assert np.abs(shown - wanted.numpy()).max() < 1e-4
    found = charts(inside(text=TEXT, step="residual", layer="2", head="5"))["row_stream"]["data"]
    before = trace.hidden_states[2].norm(dim=-1).numpy()
    assert np.abs(numbers(found[0]["y"]) - before).max() < 1e-3


def test_the_products_of_the_followed_pair_add_up_to_its_score(smollm2: Model) -> None:
    at = inside(text=TEXT, model="smollm2", layer="3", head="4", query="5", against="2")
    found = stages(smollm2.trace(TEXT), 3, 4)
    bars = numbers(charts(at)["row_products"]["data"][2]["y"])
    assert np.abs(bars - (found.query[5] * found.key[2]).numpy()).max() < 1e-4
    assert bars.sum() == pytest.approx(float(found.scores[5, 2]), abs=1e-3)
    assert f"{float(found.scores[5, 2]):.3g}" in words(at)
    assert f"a weight of {float(found.weights[5, 2]):.3f}" in words(at)


def test_the_row_s_bars_are_its_scores_before_and_after(smollm2: Model) -> None:
    at = inside(text=TEXT, model="smollm2", layer="3", head="4", query="5")
    found = stages(smollm2.trace(TEXT), 3, 4)
    data = charts(at)["row_keys"]["data"]
    plain, scaled = numbers(data[0]["y"]), numbers(data[1]["y"])
    assert np.abs(plain - found.scores[5].numpy()).max() < 1e-3
    assert np.abs(plain / 8 - scaled).max() < 1e-4
    weights = numbers(data[-1]["y"])
    assert len(weights) == 6, "the future has no bar"
    assert weights.sum() == pytest.approx(1, abs=1e-5)


def test_the_check_line_states_the_differences(minilm: Model) -> None:
    said = check_line(inside(text=TEXT, layer="1", head="1"))
    powers = [int(power.translate(DOWN)) for power in re.findall(r"within \d(?:\.\d)?\s×\s10(\S+?)[;.]", said)]
    assert len(powers) + said.count("exactly") == 3
    assert all(power < -4 for power in powers)
    assert "no cell is masked" in said


def test_each_step_reads_its_own_picture(smollm2: Model) -> None:
    """Numbers from the model's own modules and hidden states, where the page takes its stages."""
    query = {"text": TEXT, "model": "smollm2", "layer": "3", "head": "4", "query": "5", "against": "2"}
    trace = smollm2.trace(TEXT, hidden_states=True)
    assert trace.hidden_states is not None
    weights = trace["self"].weights(3, 4)
    source = trace.inside(3).source
    assert source.value is not None
    value = source.value[1]
    output = (weights @ value)[5]
    added = output @ smollm2._module.model.layers[3].self_attn.o_proj.weight.detach()[:, 4 * 64 : 5 * 64].T
    share, score = weights[5, 2] * value[2], float(source.query[4, 5] @ source.key[1, 2])
    for step, wanted in {
        "scaled": f"times 0.125 is {score / 8:.3g}",
        "masked": f"may look at 6 of {len(trace.tokens)} keys",
        "value": f"is {float(value[2].norm()):.3g} long",
        "output": f"is {float(share.norm()):.3g} long, the whole output {float(output.norm()):.3g}",
        "projection": f"adds a vector {float(added.norm()):.3g} long",
        "residual": f"was {float(trace.hidden_states[3][5].norm()):.3g} long. This head's part is {added.norm():.3g}",
    }.items():
        assert wanted in words(inside(**query, step=step)), step


def test_the_fifth_view_is_not_off_a_narrow_screen() -> None:
    """Five names are wider than a phone, and Streamlit puts what does not fit where nobody looks for it."""
    at = inside(text=TEXT, model="smollm2")
    groups = {one.proto.id.rsplit("-", 1)[-1]: one.proto for one in at.get("button_group")}
    assert groups["closer"].wrap


def test_masked_cells_are_counted(smollm2: Model) -> None:
    n = len(smollm2.tokenize(TEXT))
    assert f"{n * (n - 1) // 2} masked cells are 0" in check_line(inside(text=TEXT, model="smollm2"))


def test_temperature_and_scaling_change_the_weights_and_what_is_said(smollm2: Model) -> None:
    query = {"text": TEXT, "model": "smollm2", "layer": "3", "head": "4", "step": "weights"}
    own = stages(smollm2.trace(TEXT), 3, 4)
    hidden = ~own.visible
    shown = step_map(inside(**query, temperature="4.0"))
    expected = (own.masked / 4).softmax(-1)
    assert np.nanmax(np.abs(shown - expected.masked_fill(hidden, torch.nan).numpy())) < 1e-4
    at = inside(**query, unscaled="true")
    expected = own.scores.masked_fill(hidden, -torch.inf).softmax(-1)
    assert np.nanmax(np.abs(step_map(at) - expected.masked_fill(hidden, torch.nan).numpy())) < 1e-4
    telling = expected[1:]  # the first row has one key and tells nothing
    entropy = -(telling * telling.clamp(min=1e-38).log2()).sum(-1).mean()
    assert f"entropy {float(entropy):.2f} bits, largest weight {float(telling.amax(-1).mean()):.2f}" in words(at)
    assert "by the model's own formula" in words(at)


def test_without_rope_the_scores_are_those_of_the_projections(smollm2: Model) -> None:
    shown = step_map(inside(text=TEXT, model="smollm2", layer="3", head="4", unrotated="true"))
    kept: dict[str, torch.Tensor] = {}
    module = smollm2._module.model.layers[3].self_attn
    handles = [
        getattr(module, name).register_forward_hook(lambda _, __, out, name=name: kept.update({name: out[0].clone()}))
        for name in ("q_proj", "k_proj")
    ]
    smollm2.trace(TEXT)
    for handle in handles:
        handle.remove()
    query, key = kept["q_proj"].view(-1, 9, 64)[:, 4], kept["k_proj"].view(-1, 3, 64)[:, 1]
    assert np.abs(shown - (query @ key.T).numpy()).max() < 1e-3


def test_other_readings_of_the_same_pairs(minilm: Model) -> None:
    found = stages(minilm.trace(TEXT), 2, 5)
    query = {"text": TEXT, "layer": "2", "head": "5", "step": "weights"}
    cosine = numbers(charts(inside(**query, closer="cosine"))["closer_map"]["data"][0]["z"])
    expected = torch.nn.functional.cosine_similarity(found.query[:, None], found.key[None], dim=-1)
    assert np.abs(cosine - expected.numpy()).max() < 1e-5
    dense = minilm._module.encoder.layer[2].attention.output.dense.weight.detach()[:, 5 * 32 : 6 * 32]
    lengths = numbers(charts(inside(**query, closer="value-weighted"))["closer_map"]["data"][0]["z"])
    expected = found.weights * (found.value @ dense.T).norm(dim=-1)
    assert np.abs(lengths - expected.numpy()).max() < 1e-4


def test_the_root_of_d_has_its_chart() -> None:
    data = charts(inside(text=TEXT, closer="why √d"))["why_chart"]["data"]
    widths, variance = numbers(data[1]["x"]), numbers(data[1]["y"])
    assert (widths[0], widths[-1]) == (1, 1024)
    assert np.abs(variance / widths - 1).max() < 0.15


@pytest.mark.parametrize("name", list(TEXTS))
@pytest.mark.parametrize("model", ["minilm", "smollm2"])
def test_any_text_opens_and_checks_out(model: str, name: str) -> None:
    at = inside(text=TEXTS[name], model=model, step="weights")
    assert not at.exception
    if model == "minilm" and name == "500 tokens" and at.error:
        pytest.fail(at.error[0].value)
    assert "equals the block's output" in check_line(at)
    shown = step_map(at)
    assert max(shown.shape) <= 64
    assert "<b>" not in json.dumps(charts(at)["step_map"])


def test_a_long_text_is_seen_through_a_window_around_the_followed_pair(smollm2: Model) -> None:
    text = "rivers and stones " * 60
    found = stages(smollm2.trace(text), 3, 4)
    shown = step_map(inside(text=text, model="smollm2", step="scores", layer="3", head="4", query="100", against="90"))
    assert shown.shape == (64, 64)
    assert np.abs(shown - found.scores[68:132, 58:122].numpy()).max() < 1e-2


def test_a_long_row_s_largest_weight_counts_where_the_picture_does_not_reach(smollm2: Model) -> None:
    text = "rivers and stones " * 60
    query = {"text": text, "model": "smollm2", "layer": "10", "head": "2", "query": "150", "against": "150"}
    said = words(inside(**query, closer="value-weighted"))
    found = stages(smollm2.trace(text), 10, 2, rows=range(117, 181))
    output = smollm2._module.model.layers[10].self_attn.o_proj.weight.detach()[:, 2 * 64 : 3 * 64]
    brought = found.weights * (found.value @ output.T).norm(dim=-1)
    same = int((found.weights.argmax(1) == brought.argmax(1)).sum())
    assert f"In {same} of 64 rows" in said


def test_every_stack_of_an_encoder_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFMVIZ_LOCAL_MODELS", "1")
    folder = str(save_tiny_t5(tmp_path / "tiny-t5"))
    for stack, shape in {"encoder": (6, 6), "decoder": (4, 4), "cross": (4, 6)}.items():
        at = inside(text="a b c d e", target="f g h", model=folder, stack=stack, step="weights", layer="1", head="3")
        assert not at.exception
        assert step_map(at).shape == shape
        assert "equals the block's output" in check_line(at)


def test_a_mean_of_heads_in_the_address_is_answered() -> None:
    at = inside(text=TEXT, layer="mean", head="mean")
    assert not at.exception
    assert "has no steps of its own" in at.warning[0].value
    assert at.selectbox(key="layer").value == 0


def test_nonsense_in_the_address_is_answered() -> None:
    at = inside(text=TEXT, layer="99", query="zebra", step="nowhere", closer="moon", temperature="1e9")
    assert not at.exception
    said = at.warning[0].value
    for what in ("99", "zebra", "nowhere", "moon"):
        assert what in said


def test_arrow_buttons_move_one_step() -> None:
    at = inside(text=TEXT, step="masked")
    at.button(key="step_on").click().run()
    assert at.select_slider(key="step").value == "weights"
    at.button(key="step_back").click().run()
    at.button(key="step_back").click().run()
    assert at.select_slider(key="step").value == "scaled"


def test_a_from_scratch_model_shows_the_same_as_the_pretrained_one() -> None:
    query = {"text": TEXT, "step": "projection", "layer": "1", "head": "3"}
    ours, theirs = (step_map(inside(**query, model=name)) for name in ("scratch-minilm", "minilm"))
    assert np.abs(ours - theirs).max() < 1e-4

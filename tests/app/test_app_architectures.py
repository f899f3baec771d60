"""The Architectures page without a browser: every model on the visitor's text, and each number worked out again."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from on_page import MAIN, component, words
from streamlit.testing.v1 import AppTest
from torch.nn import functional as F

from tfmviz.analysis import depth
from tfmviz.analysis.architecture import untrained
from tfmviz.models import Model
from tfmviz.models.catalog import Kind
from tfmviz.nn import Transformer
from tfmviz.ui import architectures_depth, architectures_warmup
from tfmviz.ui.architectures_models import KINDS, UNTRAINED, names

PAGE = Path(MAIN).parents[1] / "pages" / "architectures.py"
TEXT = "The cat sat on the mat."
SMALL = {"encoder": UNTRAINED, "decoder": UNTRAINED, "encoder_decoder": UNTRAINED}

Open = Callable[..., AppTest]


@pytest.fixture
def architectures() -> Open:
    """Open the Architectures page with these parameters in its address."""

    def open_page(**query: str) -> AppTest:
        at = AppTest.from_file(str(MAIN), default_timeout=240)
        at.switch_page(str(PAGE))
        for name, value in query.items():
            at.query_params[name] = value
        return at.run()

    return open_page


def chart(at: AppTest, key: str) -> dict[str, Any]:
    """A figure as Plotly gets it."""
    return next(json.loads(one.proto.spec) for one in at.get("plotly_chart") if one.proto.id.endswith(f"-{key}"))


def numbers(values: Any) -> np.ndarray:
    """Numbers of a figure, whichever way Plotly wrote them; what is not drawn is NaN."""
    if isinstance(values, dict):
        flat = np.frombuffer(base64.b64decode(values["bdata"]), dtype=np.dtype(values["dtype"]))
        return flat.reshape([int(size) for size in str(values.get("shape", flat.size)).split(",")])
    return np.array(values, dtype=np.float32)


def map_of(at: AppTest) -> np.ndarray:
    return numbers(chart(at, "head_map")["data"][0]["z"])


def view(at: AppTest) -> Any:
    """The control that says which part of the page is shown."""
    return at.get("button_group")[0]


def labels(at: AppTest, kind: str) -> str:
    """All that a diagram says."""
    return " ".join(note["text"] for note in chart(at, f"diagram_{kind}")["layout"]["annotations"])


@pytest.mark.parametrize("kind", KINDS)
def test_every_model_that_is_offered_runs_on_the_text(architectures: Open, kind: Kind) -> None:
    at = architectures(text=TEXT, **SMALL)
    picker, stacks = kind.replace("-", "_"), {"encoder": ["encoder_only"], "decoder": ["decoder_only"]}
    assert at.selectbox(key=picker).options == names(kind)
    for name in at.selectbox(key=picker).options:
        at.selectbox(key=picker).set_value(name).run()
        assert not at.exception
        assert not at.error
        for stack in stacks.get(kind, ["encoder", "decoder", "cross"]):
            header, arrays = component(at, f"atlas_{stack}")
            layers, heads, rows, cols = arrays["overview"].shape
            assert (rows, cols) == tuple(header["tokens"])  # short enough to be shown whole
            assert f"{heads} heads" in labels(at, picker)
            assert f"× {layers} block" in labels(at, picker)


def test_minilm_s_map_is_that_of_transformers(architectures: Open, minilm: Model) -> None:
    at = architectures(text=TEXT, stack="encoder-only", layer="3", head="7", encoder="scratch-minilm")
    ids = torch.tensor([[token.id for token in minilm.tokenize(TEXT)]])
    from transformers import AutoModel

    from tfmviz.models.sources import locate

    folder = locate("minilm", allow_download=False).path
    reference = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        expected = reference(ids, output_attentions=True).attentions[3][0, 7].numpy()
    assert np.abs(map_of(at) - expected).max() < 1e-5
    assert f"12 heads, weights 12 × {len(expected)} × {len(expected)}" in labels(at, "encoder")


def test_the_small_encoder_s_map_is_the_formula_on_its_weights(architectures: Open) -> None:
    """Softmax of query times key over the root of the head's width, on the normed sum of vector and sinusoid."""
    at = architectures(text=TEXT, stack="encoder-only", layer="0", head="2", **SMALL)
    weights = {name: value.double().numpy() for name, value in untrained("encoder").state_dict().items()}
    ids = [*TEXT.encode()]
    drawn = map_of(at)
    if len(drawn) > len(ids):  # the vocabulary's own signs at the ends
        from tfmviz.text.byte_vocabulary import END, START

        ids = [START, *ids, END] if len(drawn) == len(ids) + 2 else [*ids, END]
    at_place = np.arange(len(ids))[:, None] / 10_000 ** (np.arange(0, 64, 2) / 64)
    sinusoid = np.stack([np.sin(at_place), np.cos(at_place)], -1).reshape(len(ids), 64)
    x = weights["tokens.weight"][ids] * 8 + sinusoid
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    first = "stack.blocks.0.attention"
    query, key = (
        (x @ weights[f"{first}.{name}.weight"].T + weights[f"{first}.{name}.bias"])[:, 32:48]
        for name in ("query", "key")
    )
    scores = np.exp(query @ key.T / 4)
    assert np.abs(drawn - scores / scores.sum(-1, keepdims=True)).max() < 1e-5


def test_cross_attention_has_a_row_for_each_output_and_a_column_for_each_input(architectures: Open) -> None:
    at = architectures(text="A date: 2021", written="ab", stack="cross", **SMALL)
    # the decoder reads its start sign and two bytes; the encoder 12 bytes and its end sign
    assert component(at, "atlas_cross")[0]["tokens"] == [3, 13]
    assert component(at, "atlas_decoder")[0]["tokens"] == [3, 3]
    assert component(at, "atlas_encoder")[0]["tokens"] == [13, 13]
    assert map_of(at).shape == (3, 13)
    assert np.allclose(map_of(at).sum(-1), 1, atol=1e-5)
    assert "weights 4 × 3 × 13" in labels(at, "encoder_decoder")
    assert "The map has 3 rows and 13 columns" in words(at)


def test_another_text_changes_every_shape(architectures: Open) -> None:
    at = architectures(text=TEXT, **SMALL)
    at.text_area(key="text").set_value("Å" * 10).run()
    assert component(at, "atlas_decoder_only")[0]["tokens"] == [21, 21]  # two bytes each, and the start sign
    assert "weights 4 × 21 × 21" in labels(at, "decoder")


def test_only_the_stack_that_is_looked_at_has_a_ring(architectures: Open) -> None:
    at = architectures(text=TEXT, stack="decoder", layer="1", head="3", **SMALL)
    told = [json.loads(one.proto.json) for one in at.get("bidi_component") if '"selected"' in one.proto.json]
    assert {one["key"]: one["selected"] for one in told} == {
        "atlas_encoder_only": None,
        "atlas_decoder_only": None,
        "atlas_encoder": None,
        "atlas_decoder": [1, 3],
        "atlas_cross": None,
    }


def test_a_text_too_long_for_one_model_is_a_sentence_in_its_place_and_the_others_run(architectures: Open) -> None:
    text = "!" * 600  # each a token of its own
    at = architectures(text=text, encoder="scratch-minilm", decoder=UNTRAINED, encoder_decoder=UNTRAINED)
    assert not at.exception
    assert any("512" in error.value for error in at.error)
    shown = {one.proto.id.split("-diagram_")[-1] for one in at.get("plotly_chart") if "diagram_" in one.proto.id}
    assert "encoder" not in shown
    at.text_area(key="text").set_value(TEXT).run()
    assert not at.error
    assert "9 × 384" in labels(at, "encoder")  # six words, the dot and two signs


def test_nothing_typed_is_one_sentence(architectures: Open) -> None:
    at = architectures(text="", **SMALL)
    assert not at.exception
    assert len(at.error) == 1
    assert "empty" in at.error[0].value.lower() or "nothing" in at.error[0].value.lower()


def test_markup_in_text_and_target_stays_text(architectures: Open) -> None:
    at = architectures(text="<b>x</b>", written="**<i>**", stack="cross", **SMALL)
    assert not at.error
    ticks = chart(at, "head_map")["layout"]["xaxis"]["ticktext"]
    assert "".join(ticks).startswith("&lt;b&gt;x&lt;/b&gt;")
    read = next(one.value for one in at.caption if one.value.startswith("The decoder has read"))
    assert "**" not in read
    assert "<i>" not in read


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"view": "towers"}, "asks for view “towers”"),
        ({"encoder": "bart"}, "asks for encoder model “bart”"),
        ({"stack": "none"}, "asks for stack “none”"),
        ({"layer": "99"}, "asks for layer “99”"),
        ({"view": "depth", "depth": "7"}, "asks for depth “7”"),
        ({"view": "depth", "depth_seed": "-1"}, "seed"),
        ({"view": "depth", "depth_seed": "inf"}, "asks for seed “inf”. It goes from 0 to 999: showing 0"),
    ],
)
def test_nonsense_in_the_address_is_answered(architectures: Open, query: dict[str, str], sentence: str) -> None:
    at = architectures(text=TEXT, **({} if "encoder" in query else {"encoder": UNTRAINED}), **query)
    assert not at.exception
    assert not at.error
    assert sentence in at.warning[0].value


def test_models_target_and_view_are_there_again_after_another_page(architectures: Open) -> None:
    at = architectures(text=TEXT, **SMALL)
    at.selectbox(key="decoder").set_value("scratch-untrained").run()
    at.text_input(key="written").set_value("rats").run()
    view(at).set_value("depth").run()
    at.switch_page(str(PAGE.with_name("training.py"))).run()
    at.switch_page(str(PAGE)).run()
    assert view(at).value == "depth"
    view(at).set_value("three kinds").run()
    assert at.selectbox(key="decoder").value == "scratch-untrained"
    assert at.text_input(key="written").value == "rats"
    assert component(at, "atlas_decoder")[0]["tokens"] == [5, 5]


@pytest.fixture
def shallow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Depths up to 6: the deep ones are the same computation, and take most of the time."""
    monkeypatch.setattr(architectures_depth, "DEPTHS", (2, 4, 6, 24))
    architectures_depth._profiles.clear()
    yield
    architectures_depth._profiles.clear()


@pytest.mark.usefixtures("shallow")
@pytest.mark.parametrize(("mark", "order"), enumerate(architectures_depth.ORDERS))
def test_sizes_by_depth_are_worked_out_again_in_double_precision(architectures: Open, mark: int, order: str) -> None:
    at = architectures(view="depth", depth="4", depth_seed="3")
    drawn = [numbers(trace["y"]) for trace in chart(at, "by_layer")["data"]]
    model = Transformer(depth.config(order, 4), seed=3).double()  # type: ignore[arg-type]
    tokens = depth.batch(3)
    sizes: list[float] = []
    first = model.stack.blocks[0]
    first.register_forward_pre_hook(lambda _, given: sizes.append(given[0].detach().square().mean().sqrt().item()))
    for block in model.stack.blocks:
        block.register_forward_hook(lambda _, __, out: sizes.append(out.detach().square().mean().sqrt().item()))

    def loss() -> torch.Tensor:
        return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    loss()
    assert np.allclose(drawn[mark], sizes[:5], rtol=1e-4)
    lengths = []
    for block in model.stack.blocks:
        gradients = torch.autograd.grad(loss(), list(block.parameters()))
        lengths.append(sum(gradient.square().sum().item() for gradient in gradients) ** 0.5)
    assert np.allclose(drawn[2 + mark], lengths, rtol=1e-4)
    assert f"{sizes[4] / sizes[0]:.2g} in {order}" in words(at)


@pytest.mark.usefixtures("shallow")
def test_the_predicted_line_is_one_over_the_root_of_the_depth(architectures: Open) -> None:
    at = architectures(view="depth")
    lines = {trace["hovertemplate"]: trace for trace in chart(at, "by_depth")["data"] if trace["mode"] == "lines"}
    falls = numbers(next(trace for says, trace in lines.items() if "1/√layers" in says)["y"])
    level = numbers(next(trace for says, trace in lines.items() if "same at every depth" in says)["y"])
    assert np.allclose(falls * np.sqrt([2, 4, 6, 24]), falls[0] * np.sqrt(2), rtol=1e-5)
    assert np.allclose(level, level[0])


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Four trainings of a few steps."""
    monkeypatch.setattr(architectures_warmup, "N_STEPS", 3)
    monkeypatch.setattr(architectures_warmup, "_growing", {})
    architectures_warmup._shelf.clear()
    yield
    architectures_warmup._shelf.clear()


def settled(at: AppTest, seed: int) -> AppTest:
    architectures_warmup.job(seed).future.result(timeout=240)
    return at.run()


@pytest.mark.usefixtures("brief")
def test_the_four_losses_are_those_of_an_adam_written_out(architectures: Open) -> None:
    at = settled(architectures(view="warm-up", warmup_seed="1"), 1)
    drawn = chart(at, "losses_chart")["data"]
    for variant, trace in zip(architectures_warmup.VARIANTS, drawn, strict=True):
        assert np.allclose(numbers(trace["y"]), _losses(variant, seed=1, n_steps=3), rtol=1e-3), variant.name
    assert "Loss after 3 steps" in words(at)


@pytest.mark.usefixtures("brief")
def test_the_four_trainings_begin_when_somebody_asks_for_them(architectures: Open) -> None:
    at = architectures(view="warm-up", warmup_seed="2")
    assert not architectures_warmup.is_asked(2)
    assert "What you will see" in words(at)
    at.button(key="train_four").click().run()
    assert architectures_warmup.is_asked(2)
    assert "Loss after 3 steps" in words(settled(at, 2))


@pytest.mark.parametrize("text", ["March 5, 2021", "no date at all"])
def test_the_date_model_writes_its_own_target(architectures: Open, text: str) -> None:
    at = architectures(text=text, encoder=UNTRAINED, decoder=UNTRAINED, encoder_decoder="scratch-dates")
    said = next(caption.value for caption in at.caption if "The decoder has read" in caption.value)
    assert re.search(r"\d{4}-\d\d-\d\d$", said.replace("\\", "")), said


def _losses(variant: architectures_warmup.Variant, seed: int, n_steps: int) -> list[float]:
    """AdamW by its formula, decay on matrices, with the rate that the warm-up leaves. Loshchilov and Hutter 2019."""
    from tfmviz.nn import build

    settings = architectures_warmup.settings(variant, seed, n_steps)
    model = build(settings.config(), seed=seed)
    weights = list(model.parameters())
    first, second = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))
    losses = []
    for step in range(n_steps):
        batch = settings.task.sample(settings.batch_size, np.random.default_rng([seed, 0, step]))
        loss = F.cross_entropy(model(batch.tokens).flatten(0, 1), batch.labels.flatten(), ignore_index=-100)
        losses.append(loss.item())
        rate = settings.learning_rate * min(1.0, (step + 1) / (variant.warmup or 1))
        with torch.no_grad():
            for weight, gradient, m, v in zip(weights, torch.autograd.grad(loss, weights), first, second, strict=True):
                m.mul_(0.9).add_(0.1 * gradient)
                v.mul_(0.98).add_(0.02 * gradient**2)
                if weight.ndim > 1:
                    weight *= 1 - rate * settings.weight_decay
                weight -= rate * (m / (1 - 0.9 ** (step + 1))) / ((v / (1 - 0.98 ** (step + 1))).sqrt() + 1e-8)
    return losses

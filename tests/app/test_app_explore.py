"""The Explore page without a browser: its numbers are the trace's, its address is obeyed, its words read the map."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from on_page import component, figure_of, map_weights, words
from streamlit.testing.v1 import AppTest

from tfmviz.models import Model
from tfmviz.ui import cache
from tfmviz.ui.requests import ModelRequest, TraceRequest

Open = Callable[..., AppTest]
TEXT = "The cat sat on the mat, and the dog on the cat."


def test_the_first_page_shows_a_sample_text_with_real_attention(explore: Open, minilm: Model) -> None:
    at = explore()
    assert not at.exception
    assert not at.error
    trace = minilm.trace(at.text_area(key="text").value)
    header, arrays = component(at, "atlas")
    assert np.array_equal(arrays["overview"], trace["self"].overview().numpy())
    assert (header["layers"], header["heads"]) == (6, 12)


@pytest.mark.parametrize(("layer", "head"), [(0, 0), (3, 7), (5, 11)])
def test_the_map_holds_the_weights_of_the_head_in_the_address(
    explore: Open, minilm: Model, layer: int, head: int
) -> None:
    at = explore(text=TEXT, layer=str(layer), head=str(head))
    assert (at.selectbox(key="layer").value, at.selectbox(key="head").value) == (layer, head)
    expected = minilm.trace(TEXT)["self"].weights(layer, head).numpy()
    assert np.abs(map_weights(at) - expected).max() < 1e-6


@pytest.mark.parametrize("model", ["minilm", "smollm2"])
def test_the_opening_head_has_a_pattern_that_can_be_named(explore: Open, model: str) -> None:
    said = words(explore(model=model))
    assert "no single pattern" not in said
    assert "spread out" not in said


def test_another_model_opens_with_its_own_head_unless_one_was_chosen(explore: Open) -> None:
    """As the address says: a head that nobody chose is not in it, and opening it shows the model's own."""
    own = explore(text=TEXT, model="smollm2")
    opened = (own.selectbox(key="layer").value, own.selectbox(key="head").value)
    at = explore(text=TEXT)
    assert (at.selectbox(key="layer").value, at.selectbox(key="head").value) != opened
    at.selectbox(key="model").set_value("smollm2").run()
    assert (at.selectbox(key="layer").value, at.selectbox(key="head").value) == opened
    chosen = explore(text=TEXT, layer="2", head="5")
    chosen.selectbox(key="model").set_value("smollm2").run()
    assert (chosen.selectbox(key="layer").value, chosen.selectbox(key="head").value) == (2, 5)


def test_a_causal_model_s_future_is_not_a_weight(explore: Open, smollm2: Model) -> None:
    at = explore(text="The cat sat on the mat.", model="smollm2", layer="4", head="2")
    drawn = map_weights(at)
    expected = smollm2.trace("The cat sat on the mat.")["self"].weights(4, 2).numpy()
    past = np.tri(len(expected), dtype=bool)
    assert np.isnan(drawn[~past]).all()
    assert np.abs(drawn - expected)[past].max() < 1e-5


@pytest.mark.parametrize(("layer", "head"), [("mean", "4"), ("2", "mean"), ("mean", "mean")])
def test_averages_are_the_mean_of_the_heads(explore: Open, minilm: Model, layer: str, head: str) -> None:
    at = explore(text=TEXT, layer=layer, head=head)
    stack = minilm.trace(TEXT)["self"]
    layers = range(6) if layer == "mean" else [int(layer)]
    heads = range(12) if head == "mean" else [int(head)]
    expected = np.mean([stack.weights(i, j).numpy() for i in layers for j in heads], axis=0)
    assert np.abs(map_weights(at) - expected).max() < 1e-5


def test_another_text_makes_another_picture(explore: Open, minilm: Model) -> None:
    at = explore(text=TEXT)
    at.text_area(key="text").set_value("Entirely different words.").run()
    assert component(at, "atlas")[0]["tokens"] == [len(minilm.tokenize("Entirely different words."))] * 2
    layer, head = at.selectbox(key="layer").value, at.selectbox(key="head").value
    expected = minilm.trace("Entirely different words.")["self"].weights(layer, head).numpy()
    assert np.abs(map_weights(at) - expected).max() < 1e-6


@pytest.mark.parametrize("part", ["A→A", "A→B", "B→A", "B→B"])
def test_parts_of_a_pair_are_the_rows_of_one_and_the_columns_of_the_other(
    explore: Open, minilm: Model, part: str
) -> None:
    at = explore(text="The bakery opens at six.", pair="Nobody buys bread.", part=part, layer="1", head="3")
    trace = minilm.trace("The bakery opens at six.", pair="Nobody buys bread.")
    of = {"A": [t.segment == 0 for t in trace.tokens], "B": [t.segment == 1 for t in trace.tokens]}
    whole = trace["self"].weights(1, 3).numpy()
    expected = whole[np.ix_(of[part[0]], of[part[2]])]
    assert np.abs(map_weights(at) - expected).max() < 1e-6
    share = expected.sum() / sum(of[part[0]])
    assert f"{part} holds {100 * share:.2g} % of these rows' attention" in words(at)


def test_a_single_text_has_no_parts_to_pick(explore: Open) -> None:
    assert all(group.key != "part" for group in explore(text=TEXT).get("button_group"))


def test_hidden_special_tokens_are_counted(explore: Open, minilm: Model) -> None:
    at = explore(text=TEXT, hide="true", layer="3", head="2")
    trace = minilm.trace(TEXT)
    typed = np.array([not token.is_special for token in trace.tokens])
    whole = trace["self"].weights(3, 2).numpy()
    assert np.abs(map_weights(at) - whole[np.ix_(typed, typed)]).max() < 1e-6
    share = whole[np.ix_(typed, ~typed)].sum() / typed.sum()
    assert f"Hidden special tokens hold {100 * share:.2g} %" in words(at)
    assert component(at, "head_lines")[0]["hidden_share"] == pytest.approx(share, abs=1e-5)


def test_the_sentence_reads_the_head_on_the_screen(explore: Open, minilm: Model) -> None:
    """L0 H2 of MiniLM looks one back: its share and its weight are worked out here again."""
    at = explore(text=TEXT, layer="0", head="2")
    trace = minilm.trace(TEXT)
    weights = trace["self"].weights(0, 2).numpy()
    typed = [i for i, token in enumerate(trace.tokens) if not token.is_special]
    mean = np.mean([weights[i, i - 1] for i in typed])
    assert f"Layer 0, head 2: nearly all tokens look one back, mean weight {mean:.2f}." in words(at)


def test_lines_are_the_weights_above_the_threshold(explore: Open, minilm: Model) -> None:
    at = explore(text=TEXT, threshold="0.3", layer="1", head="1")
    header, arrays = component(at, "head_lines")
    weights = minilm.trace(TEXT)["self"].weights(1, 1).numpy()
    drawn = header["n_drawn"]
    assert drawn == int((weights >= 0.3).sum())
    pairs = {(int(q), int(k)) for q, k in zip(arrays["query"][:drawn], arrays["key"][:drawn], strict=True)}
    assert pairs == {(int(q), int(k)) for q, k in np.argwhere(weights >= 0.3)}


def test_heads_beside_the_chosen_one_have_lines_of_their_own(explore: Open, minilm: Model) -> None:
    at = explore(text=TEXT, layer="1", head="1", heads=["L0 H2", "L5 H0"])
    header, arrays = component(at, "head_lines")
    assert header["heads"] == ["L1 H1", "L0 H2", "L5 H0"]
    stack = minilm.trace(TEXT)["self"]
    for at_link in range(header["n_drawn"]):
        layer, head = [(1, 1), (0, 2), (5, 0)][arrays["head"][at_link]]
        weight = stack.weights(layer, head)[int(arrays["query"][at_link]), int(arrays["key"][at_link])]
        assert arrays["weight"][at_link] == pytest.approx(float(weight), abs=1e-6)


def test_what_the_trace_keeps_is_said_in_bytes(explore: Open, smollm2: Model) -> None:
    text = "word " * 300
    at = explore(text=text, model="smollm2")
    memory = smollm2.trace(text).memory
    assert f"Kept {memory.kept / 1e6:.2g}".rstrip("0").rstrip(".") in words(at)
    assert f"all weights would take {float(f'{memory.dense / 1e6:.2g}'):.0f} MB" in words(at)
    assert "exact, computed from the queries and keys" in words(at)


def test_the_map_is_named_after_its_head(explore: Open) -> None:
    assert figure_of(explore(text=TEXT, layer="4", head="9"))["layout"]["title"]["text"] == "L4 H9"


def test_the_atlas_is_told_what_every_head_does(explore: Open, minilm: Model) -> None:
    at = explore(text=TEXT)
    request = TraceRequest(model=ModelRequest(name="minilm"), text=TEXT)
    cache.notes_job(request, cache.traced(request)).future.result(60)  # a slow machine's page does not wait for it
    at.run()
    told = [json.loads(e.proto.json) for e in at.get("bidi_component") if e.proto.json and "roles" in e.proto.json]
    assert len(told) == 1
    assert told[0]["about"] == f"6x12x{len(minilm.tokenize(TEXT))}"
    tokens, stack = minilm.trace(TEXT).tokens, minilm.trace(TEXT)["self"]
    back = [float(stack.weights(0, 2)[i, i - 1]) for i, token in enumerate(tokens) if not token.is_special]
    assert told[0]["roles"][0][2] == f"previous {np.mean(back):.2f}"
    for layer, head in ((0, 0), (3, 5), (5, 11)):
        weights = stack.weights(layer, head).numpy()
        query, key = np.unravel_index(weights.argmax(), weights.shape)
        assert told[0]["strongest"][layer][head] == [
            tokens[query].text,
            tokens[key].text,
            pytest.approx(float(weights.max()), abs=1e-6),
        ]

"""The transformer written here with MiniLM's and SmolLM2's weights gives the numbers that transformers gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.nn import functional

import tfmviz
from tfmviz.nn import generate

TEXTS = (
    "The cat sat on the mat.",
    "a",
    "the the the the the the the the the the the the the the the the",
    "Attention is all you need: queries, keys and values.",
    "In 1815, after Waterloo, the map of Europe was drawn anew by people who had not been asked to draw it.",
    "def fibonacci(n):\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)",
    "To be, or not to be, that is the question:",
    "Water boils at 100 °C at sea level, but at 71 °C on top of Mount Everest.",
    "The trophy would not fit in the suitcase because it was too big. What was too big?",
    "Der Hund läuft über die Straße.",
    "Le chat noir dort près de la fenêtre.",
    "吃葡萄不吐葡萄皮。",
    "القطة على السجادة.",
    "Кошка сидит на ковре.",
    "👩‍👩‍👧‍👦 went to the 🏖️ and ate 🍦🍦🍦.",
    "<b>&amp;</b> $x$ **bold** :smile:",
    "one two three four five six seven eight nine ten one two three four five six seven",
    "Q: What is the capital of France?\nA: Paris.\nQ: What is the capital of Italy?\nA:",
    "   blanks   between    words   ",
    "The quick brown fox jumps over the lazy dog. " * 9,
)
N_NEW = 30
TOGETHER = 5  # texts that transformers continues at once


@pytest.fixture(scope="module")
def ours_minilm() -> Any:
    return tfmviz.load_model("scratch-minilm", device="cpu", allow_download=False)


@pytest.fixture(scope="module")
def ours_smollm2() -> Any:
    return tfmviz.load_model("scratch-smollm2", device="cpu", allow_download=False)


@contextmanager
def eager(model: Any) -> Iterator[Any]:
    """The module of transformers, computing attention by the formula, so that it can hand out its weights."""
    module = model._module
    before = module.config._attn_implementation
    module.set_attn_implementation("eager")
    try:
        yield module
    finally:
        module.set_attn_implementation(before)


def ids(model: Any, text: str) -> torch.Tensor:
    return torch.tensor([[token.id for token in model.tokenize(text)]])


@pytest.fixture(scope="module")
def continued(smollm2: Any) -> dict[str, torch.Tensor]:
    """Each text and the 30 tokens that transformers adds to it, shape (1, n + 30).

    A few texts of about the same length at once, filled up on the left: one token takes as long as one each.
    """
    module, found = smollm2._module, {}
    by_length = sorted(TEXTS, key=lambda text: ids(smollm2, text).shape[1])
    for at in range(0, len(TEXTS), TOGETHER):
        texts = by_length[at : at + TOGETHER]
        prompts = [ids(smollm2, text)[0] for text in texts]
        longest = max(map(len, prompts))
        filled = torch.stack([functional.pad(prompt, (longest - len(prompt), 0)) for prompt in prompts])
        real = torch.stack([torch.arange(longest) >= longest - len(prompt) for prompt in prompts]).long()
        options = {"max_new_tokens": N_NEW, "do_sample": False, "eos_token_id": -1, "pad_token_id": 0}
        written = module.generate(filled, attention_mask=real, **options)
        for text, prompt, row in zip(texts, prompts, written, strict=True):
            found[text] = row[longest - len(prompt) :][None]
    return found


def test_there_are_twenty_texts() -> None:
    assert len(set(TEXTS)) == 20


@pytest.mark.parametrize("text", TEXTS)
def test_minilm_hidden_states(minilm: Any, ours_minilm: Any, text: str) -> None:
    found = ours_minilm.trace(text, hidden_states=True).hidden_states
    tokens = ids(minilm, text)
    with torch.no_grad():
        expected = minilm._module(tokens, output_hidden_states=True).hidden_states
    assert len(found) == len(expected) == 7
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs[0], atol=1e-4, rtol=0)


def test_minilm_of_two_sentences_padded(minilm: Any, ours_minilm: Any) -> None:
    options: dict[str, Any] = {"pair": "It was tired.", "pad_to": 30, "hidden_states": True}
    found, expected = (model.trace("The cat slept.", **options) for model in (ours_minilm, minilm))
    assert found.tokens == expected.tokens
    torch.testing.assert_close(found.hidden_states[-1], expected.hidden_states[-1], atol=1e-4, rtol=0)


@pytest.mark.parametrize("text", TEXTS[::4])
def test_minilm_attention_weights(minilm: Any, ours_minilm: Any, text: str) -> None:
    stack = ours_minilm.trace(text)["self"]
    with eager(minilm) as module, torch.no_grad():
        expected = module(ids(minilm, text), output_attentions=True).attentions
    for layer in range(6):
        for head in range(12):
            torch.testing.assert_close(stack.weights(layer, head), expected[layer][0, head], atol=1e-5, rtol=0)


@pytest.mark.parametrize("text", TEXTS)
def test_smollm2_logits_and_greedy_continuation(
    smollm2: Any, ours_smollm2: Any, continued: dict[str, torch.Tensor], text: str
) -> None:
    written = continued[text]
    with torch.no_grad():
        theirs = smollm2._module(written).logits[0]
        ours = ours_smollm2.module(written)[0]
    torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=0)
    # Each token that transformers wrote is the one that we find likeliest after all before it: our own greedy
    # continuation is the same, token by token.
    n = written.shape[1] - N_NEW
    assert written[0, :n].tolist() == ids(smollm2, text)[0].tolist()
    assert ours[n - 1 : -1].argmax(-1).tolist() == written[0, n:].tolist()
    last = n - 1
    assert ours[last].topk(10).indices.tolist() == theirs[last].topk(10).indices.tolist()


@pytest.mark.parametrize("text", [TEXTS[0], TEXTS[11]])
def test_smollm2_writes_token_by_token_what_transformers_writes(
    smollm2: Any, ours_smollm2: Any, continued: dict[str, torch.Tensor], text: str
) -> None:
    written = generate(ours_smollm2.module, ids(smollm2, text), N_NEW, temperature=0)
    assert written.tolist() == continued[text].tolist()


def test_smollm2_next_tokens(smollm2: Any, ours_smollm2: Any) -> None:
    found, expected = (model.trace(TEXTS[4]).next_token(10) for model in (ours_smollm2, smollm2))
    assert [text for text, _ in found] == [text for text, _ in expected]
    assert [p for _, p in found] == pytest.approx([p for _, p in expected], abs=1e-4)


@pytest.mark.parametrize("text", [TEXTS[4], TEXTS[14]])
def test_smollm2_attention_weights(smollm2: Any, ours_smollm2: Any, text: str) -> None:
    stack = ours_smollm2.trace(text)["self"]
    with eager(smollm2) as module, torch.no_grad():
        expected = module(ids(smollm2, text), output_attentions=True).attentions
    for layer in range(30):
        for head in range(9):
            torch.testing.assert_close(stack.weights(layer, head), expected[layer][0, head], atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_the_model_says_the_same_of_itself(name: str, request: pytest.FixtureRequest) -> None:
    ours, theirs = request.getfixturevalue(f"ours_{name}"), request.getfixturevalue(name)
    for field in ("kind", "n_layers", "n_heads", "n_kv_heads", "d_model", "max_tokens", "device"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert ours.tokenize(TEXTS[14]) == theirs.tokenize(TEXTS[14])


@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_a_silenced_head_changes_both_models_alike(name: str, request: pytest.FixtureRequest) -> None:
    ours, theirs = request.getfixturevalue(f"ours_{name}"), request.getfixturevalue(name)
    options: dict[str, Any] = {"ablate": ((1, 0), (2, 5)), "hidden_states": True}
    found, expected = (model.trace(TEXTS[0], **options).hidden_states[-1] for model in (ours, theirs))
    plain = theirs.trace(TEXTS[0], hidden_states=True).hidden_states[-1]
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=0)
    assert (expected - plain).abs().max() > 1e-2


def test_smollm2_under_a_window_sees_only_the_window(ours_smollm2: Any) -> None:
    stack = ours_smollm2.trace(TEXTS[4], mask="sliding:4")["self"]
    weights = stack.weights(7, 3)
    n = len(weights)
    outside = ~torch.ones(n, n).tril().triu(-3).bool()
    assert (weights[outside] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(n))


def test_config_survives_json(ours_smollm2: Any) -> None:
    config = ours_smollm2.module.config
    assert type(config).from_dict(json.loads(json.dumps(config.to_dict()))) == config

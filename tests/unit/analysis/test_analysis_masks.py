"""Masks against masked softmax written out by hand, and against the masks that transformers' models apply."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from tfmviz.analysis import masks
from tfmviz.analysis.masks import Runs, Sizes
from tfmviz.errors import ConfigError, OutOfRange, UnknownMask
from tfmviz.models import Model, ScratchModel
from tfmviz.models.scratch_load import byte_model
from tfmviz.models.sources import locate
from tfmviz.nn import Bidirectional, Causal, Document, SlidingWindow, TransformerConfig, build
from tfmviz.text import Token
from tfmviz.trace import AttentionStack, LayerAttention, capture

TEXT = "The cat sat. A dog ran! Nobody saw it."
WIDTHS = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 48}


def tokens(n: int) -> tuple[Token, ...]:
    return tuple(Token(id=i, text=f"t{i}", start=i, end=i + 1) for i in range(n))


@pytest.fixture(scope="module")
def decoder() -> ScratchModel:
    return _scratch("decoder", "rotary")


@pytest.fixture(scope="module")
def encoder() -> ScratchModel:
    return _scratch("encoder", "learned")


def _scratch(architecture: Any, position: Any) -> ScratchModel:
    config = TransformerConfig(
        architecture=architecture, vocab_size=259, d_model=32, n_heads=4, n_layers=3, position=position
    )
    return byte_model(build(config, seed=1), name=f"tiny {architecture}")


@pytest.mark.parametrize("pattern", masks.PATTERNS)
def test_under_is_a_softmax_over_the_allowed_cells(decoder: ScratchModel, pattern: masks.Pattern) -> None:
    trace = decoder.trace(TEXT, pad_to=45)
    stack = trace["self"]
    rule = masks.rule(pattern, trace.tokens, Sizes(window=3, prefix=5), causal=True)
    other = masks.under(stack, rule)
    at = torch.arange(len(trace.tokens))
    allowed = rule.block(at, at)
    source = stack.layers[1].source
    for head in range(4):
        scores = source.query[head] @ source.key[head].T * 8**-0.5
        expected = scores.masked_fill(~allowed, -torch.inf).softmax(-1).nan_to_num(0.0)
        assert (other.weights(1, head) - expected).abs().max() < 1e-6
        assert torch.equal(other.visible(1, head), allowed)


def test_the_own_mask_changes_nothing(smollm2: Model) -> None:
    stack = smollm2.trace(TEXT)["self"]
    same = masks.under(stack, Causal())
    for layer in (0, 13, 29):
        assert (same.weights(layer, 5) - stack.weights(layer, 5)).abs().max() < 1e-6


def test_a_whole_pass_agrees_with_one_layer_alone_at_layer_0_and_not_later(encoder: ScratchModel) -> None:
    trace = encoder.trace(TEXT)
    whole = masks.passed(encoder, trace.tokens, Causal())
    alone = masks.under(trace["self"], Causal())
    assert (whole.stack.weights(0, 2) - alone.weights(0, 2)).abs().max() < 1e-6
    assert (whole.stack.weights(2, 2) - alone.weights(2, 2)).abs().max() > 1e-4


@pytest.mark.parametrize("pair", [None, "And the dog slept."])
def test_a_pass_without_a_mask_is_the_models_own(pair: str | None) -> None:
    import tfmviz

    model = tfmviz.load_model("scratch-minilm", device="cpu", allow_download=False)
    trace = model.trace(TEXT, pair, hidden_states=True, pad_to=40)
    whole = masks.passed(model, trace.tokens)
    assert (whole.hidden[-1] - trace.hidden_states[-1]).abs().max() < 1e-5


def test_a_pretrained_model_is_not_run_under_another_mask(minilm: Model) -> None:
    with pytest.raises(UnknownMask, match="scratch-minilm"):
        masks.passed(minilm, minilm.tokenize(TEXT), Causal())


def test_cross_attention_has_no_such_masks() -> None:
    layer = LayerAttention.from_weights(torch.rand(2, 3, 5).softmax(-1))
    stack = AttentionStack(name="cross", query_tokens=tokens(3), key_tokens=tokens(5), layers=(layer,))
    with pytest.raises(ConfigError, match="cross"):
        masks.under(stack, Causal())


def test_documents_begin_after_sentences(decoder: ScratchModel) -> None:
    found = decoder.tokenize(TEXT)
    ids = masks.documents(found)
    texts = ["".join(t.text for t, i in zip(found, ids, strict=True) if i == k and not t.is_special) for k in range(3)]
    assert texts == ["The cat sat.", " A dog ran!", " Nobody saw it."]
    assert int(ids.max()) == 2


def test_one_sentence_is_cut_in_the_middle_and_one_token_not_at_all() -> None:
    assert masks.documents(tokens(6)).tolist() == [0, 0, 0, 1, 1, 1]
    assert masks.documents(tokens(1)).tolist() == [0]


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (Causal(), "causal"),
        (Bidirectional(), "bidirectional"),
        (SlidingWindow(3), "itself and the 2 before it"),
        (Causal() & Document(torch.tensor([0] * 4 + [1] * 4)), "of no simple shape"),
    ],
)
def test_a_mask_is_named_by_its_cells(rule: Any, name: str) -> None:
    at = torch.arange(8)
    assert name in Runs.of(rule.block(at, at)).name


def _stack(model: Any, n: int) -> AttentionStack:
    with torch.inference_mode():
        seen = capture(model.eval(), {"input_ids": torch.arange(5, 5 + n)[None]})
    return AttentionStack(name="self", query_tokens=tokens(n), key_tokens=tokens(n), layers=seen.stacks["self"])


def _gemma2(window: int) -> Any:
    torch.manual_seed(0)
    config = transformers.Gemma2Config(
        **WIDTHS, num_key_value_heads=2, head_dim=8, vocab_size=101, sliding_window=window, query_pre_attn_scalar=8
    )
    return transformers.Gemma2ForCausalLM(config)


def test_windowed_layers_are_told_from_full_ones() -> None:
    found = masks.applied(_stack(_gemma2(4), 12))
    assert [(one.layers, one.name.split(":")[0]) for one in found] == [((0, 2), "sliding window"), ((1, 3), "causal")]
    assert "the 3 before it" in found[0].name
    cells = sum(min(i + 1, 4) for i in range(12))
    assert found[0].share == pytest.approx(cells / 144)


def test_a_window_wider_than_the_text_is_not_seen() -> None:
    (found,) = masks.applied(_stack(_gemma2(64), 12))
    assert (found.layers, found.name.split(":")[0]) == ((0, 1, 2, 3), "causal")


def test_a_window_to_both_sides_is_read_from_the_pass() -> None:
    torch.manual_seed(0)
    config = transformers.ModernBertConfig(
        **WIDTHS, vocab_size=101, local_attention=6, global_attn_every_n_layers=2, pad_token_id=0
    )
    found = masks.applied(_stack(transformers.ModernBertModel(config), 12))
    assert [one.name.split(":")[0] for one in found] == ["bidirectional", "window"]
    assert "the 3 before it and the 3 after it" in found[1].name


@pytest.mark.parametrize(("side", "name"), [("right", "tokens 0 to"), ("left", "tokens 5 to")])
def test_padding_is_read_from_the_pass(minilm: Model, side: Any, name: str) -> None:
    n = len(minilm.tokenize(TEXT))
    (found,) = masks.applied(minilm.trace(TEXT, pad_to=n + 5, pad_side=side)["self"])
    assert name in found.name
    assert found.share == pytest.approx(n / (n + 5))


def test_difference_is_the_share_of_attention_that_moved() -> None:
    a, b = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), np.array([[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    assert masks.difference(a, b) == pytest.approx(0.25)
    assert masks.difference(a, a) == 0


# Leakage


def test_under_a_causal_mask_nothing_before_the_change_moves(decoder: ScratchModel) -> None:
    found = masks.leakage(decoder, TEXT, 20)
    assert found.before == 0
    assert found.moved_before == 0
    assert bool((found.movement[-1, found.at :] > 0).all())


def test_under_a_bidirectional_mask_everything_moves(decoder: ScratchModel) -> None:
    found = masks.leakage(decoder, TEXT, 20, mask="bidirectional")
    assert found.moved_before == found.at == 20
    assert bool((found.movement[1:] > 0).all())
    assert bool((found.movement[0, :20] == 0).all())


def test_a_window_lets_a_change_reach_one_window_further_with_each_layer(decoder: ScratchModel) -> None:
    found = masks.leakage(decoder, TEXT, 10, mask="sliding:3")
    for layer in range(4):
        reached = (found.movement[layer] > 0).nonzero().reshape(-1).tolist()
        assert reached == list(range(10, 10 + 2 * layer + 1))


def test_a_document_keeps_its_change_to_itself(decoder: ScratchModel) -> None:
    found_tokens = decoder.tokenize(TEXT)
    ids = masks.documents(found_tokens)
    found = masks.leakage(decoder, TEXT, 20, mask=Document(ids))
    moved = (found.movement[-1] > 0).tolist()
    assert moved == [int(i) == int(ids[20]) for i in ids]


@pytest.mark.parametrize(
    "text", [TEXT, "the " * 50, "<b>&amp;</b> $x$ **bold** :smile:", "صباح الخير يا صديقي", "早上好，" * 20]
)
def test_real_models_leak_as_their_masks_say(minilm: Model, smollm2: Model, text: str) -> None:
    for model, leaks in ((minilm, True), (smollm2, False)):
        typed = [i for i, token in enumerate(model.tokenize(text)) if not token.is_special and token.end > token.start]
        found = masks.leakage(model, text, typed[-1])
        assert len(found.changed) == len(found.tokens)
        assert (found.moved_before == found.at) is (leaks or found.at == 0)
        if not leaks:
            assert found.before == 0


def test_only_typed_tokens_can_be_changed(minilm: Model) -> None:
    for at in (0, -1, 10**6):
        with pytest.raises(OutOfRange):
            masks.leakage(minilm, TEXT, at)


def test_a_replacement_that_is_no_single_token_is_refused(minilm: Model) -> None:
    with pytest.raises(ConfigError, match="leaves"):
        masks.leakage(minilm, TEXT, 2, replacement="two whole words")


# Padding


@pytest.mark.parametrize("side", ["left", "right"])
def test_hidden_padding_draws_no_attention_and_open_padding_does(encoder: ScratchModel, side: Any) -> None:
    n = len(encoder.tokenize(TEXT))
    found = masks.padding(encoder, TEXT, n + 7, side)
    assert float(found.leak.max()) == 0
    bare = masks.passed(encoder, encoder.trace(TEXT, pad_to=n + 7, pad_side=side).tokens, hide_padding=False)
    pads = slice(0, 7) if side == "left" else slice(n, n + 7)
    real = slice(7, n + 7) if side == "left" else slice(0, n)
    for layer in range(3):
        heads = torch.stack([bare.stack.weights(layer, head) for head in range(4)])
        assert float(found.leak_open[layer]) == pytest.approx(float(heads[:, real, pads].sum(-1).mean()), abs=1e-6)


def test_padding_on_the_right_moves_nothing_once_hidden(encoder: ScratchModel) -> None:
    found = masks.padding(encoder, TEXT, 60, "right")
    assert found.cosine.min() > 1 - 1e-5
    assert found.cosine_open.min() < 0.999


def test_padding_on_the_left_moves_learned_positions_and_not_rotary_ones(
    encoder: ScratchModel, decoder: ScratchModel
) -> None:
    assert masks.padding(encoder, TEXT, 60, "left").cosine.min() < 0.999
    assert masks.padding(decoder, TEXT, 60, "left").cosine.min() > 1 - 1e-5


def test_a_causal_model_cannot_see_padding_to_its_right(decoder: ScratchModel) -> None:
    found = masks.padding(decoder, TEXT, 60, "right")
    assert float(found.leak_open.max()) == 0


def test_a_pretrained_model_leaks_to_padding_what_transformers_says_it_does(minilm: Model) -> None:
    found = masks.padding(minilm, TEXT, 40, "right")
    assert float(found.leak.max()) == 0
    assert found.cosine.min() > 1 - 1e-5
    n, ids = len(found.tokens), torch.zeros(1, 40, dtype=torch.long)  # BERT's [PAD] is number 0
    ids[0, :n] = torch.tensor([token.id for token in found.tokens])
    eager = transformers.AutoModel.from_pretrained(
        locate("minilm", allow_download=False).path, attn_implementation="eager"
    )
    with torch.no_grad():
        seen = eager(ids, attention_mask=torch.ones_like(ids), output_attentions=True, output_hidden_states=True)
    leaks = torch.stack([weights[0, :, :n, n:].sum(-1).mean() for weights in seen.attentions])
    assert torch.allclose(found.leak_open, leaks, atol=1e-5)
    with torch.no_grad():
        alone = eager(ids[:, :n]).last_hidden_state[0]
    cosine = torch.nn.functional.cosine_similarity(seen.last_hidden_state[0, :n], alone, dim=-1)
    assert torch.allclose(found.cosine_open, cosine, atol=1e-4)


def test_padding_needs_room(encoder: ScratchModel) -> None:
    with pytest.raises(ConfigError, match="Use more"):
        masks.padding(encoder, TEXT, 5)

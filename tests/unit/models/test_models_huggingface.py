"""Pretrained models of every form: their weights, their tokens, their guesses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import tfmviz
from tfmviz.errors import ConfigError, EmptyText, OutOfRange, UnknownMask, UnsupportedModel

TEXT = "The cat sat over the sea."
TARGET = "A dog sang."
FORMS = ("bert", "roberta", "gpt2", "llama", "t5", "bart")
CLOSE = 1e-5
Saved = Callable[[str], Path]


def eager(folder: Path, opener: Any) -> Any:
    return opener.from_pretrained(folder, attn_implementation="eager").eval()


def opener_of(form: str) -> Any:
    if form in ("t5", "bart"):
        return transformers.AutoModelForSeq2SeqLM
    return transformers.AutoModelForCausalLM if form in ("gpt2", "llama") else transformers.AutoModelForMaskedLM


def inputs_of(trace: Any) -> dict[str, torch.Tensor]:
    """What transformers' own model is given for the same text: only numbers come from the trace."""
    given = {
        "input_ids": torch.tensor([[token.id for token in trace.tokens]]),
        "attention_mask": torch.tensor([[int(not token.is_padding) for token in trace.tokens]]),
    }
    if trace.target_tokens:
        given["decoder_input_ids"] = torch.tensor([[token.id for token in trace.target_tokens]])
    return given


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("padding", [None, "left", "right"])
def test_weights_equal_eager_attention(saved: Saved, form: str, padding: Any) -> None:
    folder = saved(form)
    model = tfmviz.load_model(folder, device="cpu")
    n = len(model.tokenize(TEXT))
    pad_to = n + 5 if padding else None
    trace = model.trace(
        TEXT, target=TARGET if model.kind == "encoder-decoder" else None, pad_to=pad_to, pad_side=padding
    )
    with torch.no_grad():
        output = eager(folder, opener_of(form))(**inputs_of(trace), output_attentions=True, use_cache=False)
    if form in ("t5", "bart"):
        expected = {
            "encoder": output.encoder_attentions,
            "decoder": output.decoder_attentions,
            "cross": output.cross_attentions,
        }
    else:
        expected = {"self": output.attentions}
    assert set(trace.stacks) == set(expected)
    real = [i for i, token in enumerate(trace.tokens) if not token.is_padding]
    for name, layers in expected.items():
        assert len(layers) == trace[name].n_layers
        for layer, weights in enumerate(layers):
            # a padded query that may look at nothing has zeros here and something arbitrary there
            rows = real if trace[name].query_tokens == trace.tokens else slice(None)
            for head in range(weights.shape[1]):
                difference = (trace[name].weights(layer, head)[rows] - weights[0, head][rows]).abs().max()
                assert difference < CLOSE, (name, layer, head)


@pytest.mark.parametrize(("form", "kind"), [("bert", "encoder"), ("llama", "decoder"), ("bart", "encoder-decoder")])
def test_a_folder_says_what_kind_of_model_it_holds(saved: Saved, form: str, kind: str) -> None:
    assert tfmviz.load_model(saved(form), device="cpu").kind == kind


def test_numbers_of_a_model_are_those_of_its_config(saved: Saved) -> None:
    model = tfmviz.load_model(saved("llama"), device="cpu")
    config = transformers.AutoConfig.from_pretrained(saved("llama"))
    assert (model.n_layers, model.n_heads, model.n_kv_heads, model.d_model) == (2, 4, 2, config.hidden_size)
    own = transformers.AutoModelForCausalLM.from_pretrained(saved("llama"))
    assert model.n_parameters == own.num_parameters()


@pytest.mark.parametrize("form", ["gpt2", "llama"])
@pytest.mark.parametrize("padding", [None, "right"])
def test_next_token_is_the_softmax_of_the_last_real_position(saved: Saved, form: str, padding: Any) -> None:
    model = tfmviz.load_model(saved(form), device="cpu")
    n = len(model.tokenize(TEXT))
    trace = model.trace(TEXT, pad_to=n + 4 if padding else None, pad_side=padding)
    with torch.no_grad():
        logits = eager(saved(form), opener_of(form))(torch.tensor([[t.id for t in model.tokenize(TEXT)]])).logits
    expected = torch.softmax(logits[0, -1], -1).sort(descending=True).values[:5]
    found = torch.tensor([probability for _, probability in trace.next_token(5)])
    assert torch.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("form", ["t5", "bart"])
def test_next_token_of_an_encoder_decoder_follows_its_target(saved: Saved, form: str) -> None:
    trace = tfmviz.load_model(saved(form), device="cpu").trace(TEXT, target=TARGET)
    with torch.no_grad():
        logits = eager(saved(form), opener_of(form))(**inputs_of(trace)).logits
    expected = torch.softmax(logits[0, -1], -1).max()
    assert trace.next_token(1)[0][1] == pytest.approx(float(expected), abs=1e-5)


def test_masked_tokens_are_guessed_at_their_places(saved: Saved) -> None:
    model = tfmviz.load_model(saved("bert"), device="cpu")
    trace = model.trace("The [MASK] sat on the [MASK].")
    places = [i for i, token in enumerate(trace.tokens) if token.text == "[MASK]"]
    with torch.no_grad():
        logits = eager(saved("bert"), opener_of("bert"))(**inputs_of(trace)).logits
    assert len(places) == 2
    for place in places:
        expected = torch.softmax(logits[0, place], -1).max()
        assert trace.next_token(1, position=place)[0][1] == pytest.approx(float(expected), abs=1e-5)


def test_an_encoder_without_head_says_that_it_does_not_guess(saved: Saved) -> None:
    trace = tfmviz.load_model(saved("bert-without-head"), device="cpu").trace(TEXT)
    with pytest.raises(UnsupportedModel, match="no vocabulary head"):
        trace.next_token()


def test_the_target_is_moved_one_place_to_the_right(saved: Saved) -> None:
    model = tfmviz.load_model(saved("bart"), device="cpu")
    tokenizer = transformers.AutoTokenizer.from_pretrained(saved("bart"))
    labels = torch.tensor([tokenizer(TARGET)["input_ids"]])
    own = transformers.AutoModelForSeq2SeqLM.from_pretrained(saved("bart"))
    expected = own.prepare_decoder_input_ids_from_labels(labels)[0].tolist()
    assert [token.id for token in model.trace(TEXT, target=TARGET).target_tokens] == expected


def test_without_target_the_decoder_has_its_start_token_only(saved: Saved) -> None:
    trace = tfmviz.load_model(saved("t5"), device="cpu").trace(TEXT)
    assert [(token.text, token.is_special) for token in trace.target_tokens] == [("<pad>", True)]


def test_cross_attention_has_a_row_a_target_token_and_a_column_a_text_token(saved: Saved) -> None:
    trace = tfmviz.load_model(saved("bart"), device="cpu").trace(TEXT, target=TARGET)
    assert trace["cross"].weights(0, 0).shape == (len(trace.target_tokens), len(trace.tokens))


def test_a_pair_gets_the_second_segment(saved: Saved) -> None:
    model = tfmviz.load_model(saved("bert"), device="cpu")
    trace = model.trace("The cat sat.", pair="A dog sang.")
    with torch.no_grad():
        types = torch.tensor([[token.segment for token in trace.tokens]])
        own = eager(saved("bert"), opener_of("bert"))(**inputs_of(trace), token_type_ids=types, output_attentions=True)
    assert set(types[0].tolist()) == {0, 1}
    assert (trace["self"].weights(1, 2) - own.attentions[1][0, 2]).abs().max() < CLOSE


def test_tokenize_gives_the_tokens_of_the_trace(saved: Saved) -> None:
    for form in FORMS:
        model = tfmviz.load_model(saved(form), device="cpu")
        assert model.tokenize(TEXT) == model.trace(TEXT).tokens


@pytest.mark.parametrize("text", ["", " ", "\n\t  "])
def test_a_text_without_tokens_is_refused(saved: Saved, text: str) -> None:
    with pytest.raises(EmptyText):
        tfmviz.load_model(saved("bert"), device="cpu").trace(text)


def test_a_decoder_refuses_a_second_sentence(saved: Saved) -> None:
    with pytest.raises(ConfigError, match="decoder"):
        tfmviz.load_model(saved("llama"), device="cpu").trace(TEXT, pair="Another.")


def test_an_encoder_refuses_a_target(saved: Saved) -> None:
    with pytest.raises(ConfigError, match="no encoder-decoder"):
        tfmviz.load_model(saved("bert"), device="cpu").trace(TEXT, target="Another.")


def test_padding_never_cuts(saved: Saved) -> None:
    with pytest.raises(ConfigError, match="cut"):
        tfmviz.load_model(saved("bert"), device="cpu").trace(TEXT, pad_to=3)


@pytest.mark.parametrize("typed", [{"text": ["a", "b"]}, {"text": None}, {"text": b"a"}, {"text": "a", "pair": ["b"]}])
def test_several_texts_or_none_are_a_sentence(saved: Callable[[str], Path], typed: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"{[*typed][-1]} is of type .*one text"):
        tfmviz.load_model(saved("bert"), device="cpu").trace(**typed)


@pytest.mark.parametrize("mask", ["causal", "bidirectional", "sliding:8", "nonsense"])
def test_a_pretrained_model_keeps_its_own_mask(saved: Saved, mask: str) -> None:
    with pytest.raises(UnknownMask, match="written from scratch"):
        tfmviz.load_model(saved("bert"), device="cpu").trace(TEXT, mask=mask)


@pytest.mark.parametrize("pair", [(2, 0), (0, 4), (-1, 0), (0, -1)])
def test_a_head_that_is_not_there_cannot_be_ablated(saved: Saved, pair: tuple[int, int]) -> None:
    with pytest.raises(OutOfRange, match="no head"):
        tfmviz.load_model(saved("bert"), device="cpu").trace(TEXT, ablate=(pair,))


def test_ablation_equals_a_head_without_its_slice_of_the_output_projection(saved: Saved) -> None:
    trace = tfmviz.load_model(saved("llama"), device="cpu").trace(TEXT, ablate=((0, 1),))
    own = eager(saved("llama"), opener_of("llama"))
    with torch.no_grad():
        own.model.layers[0].self_attn.o_proj.weight[:, 8:16] = 0  # head 1 of 4, 8 wide
        attention = own(**inputs_of(trace), output_attentions=True).attentions
    assert (trace["self"].weights(1, 0) - attention[1][0, 0]).abs().max() < CLOSE


def test_a_model_without_attention_is_refused(saved: Saved) -> None:
    with pytest.raises(UnsupportedModel, match="no layer with attention"):
        tfmviz.load_model(saved("mamba"), device="cpu")


def test_threads_on_one_model_get_their_own_attention(saved: Saved) -> None:
    model = tfmviz.load_model(saved("llama"), device="cpu")
    texts = [
        f"The {animal} sat on the {place}." for animal in ("cat", "dog", "owl") for place in ("mat", "wall", "sea")
    ]
    alone = {text: model.trace(text)["self"].weights(1, 3) for text in texts}
    wrong: list[str] = []

    def ask(offset: int) -> None:
        for i in range(25):
            text = texts[(i + offset) % len(texts)]
            found = model.trace(text)["self"].weights(1, 3)
            if found.shape != alone[text].shape or not torch.equal(found, alone[text]):
                wrong.append(text)

    threads = [threading.Thread(target=ask, args=(offset,)) for offset in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_model_is_in_eval_and_wants_no_gradients(saved: Saved) -> None:
    model = tfmviz.load_model(saved("bert"), device="cpu")
    module = model._module
    assert not any(part.training for part in module.modules())
    assert not any(weight.requires_grad for weight in module.parameters())

"""Generation with a cache on tiny random decoders of several families, and the numbers that models spell as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, MistralConfig, MistralForCausalLM

import tfmviz
from tfmviz.analysis import generation


@pytest.mark.parametrize("window", [None, 6])
def test_a_sliding_window_keeps_no_more_than_it_can_see(
    saved: Callable[[str], Path], tmp_path: Path, window: int | None
) -> None:
    config = MistralConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        vocab_size=300,
        max_position_embeddings=64,
        sliding_window=window,
    )
    torch.manual_seed(0)
    MistralForCausalLM(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(saved("gpt2")).save_pretrained(tmp_path)
    model = tfmviz.load_model(str(tmp_path), device="cpu")
    shape = generation.cache_shape(model)
    steps = list(generation.write(model, "The cat sat on the mat and", 12))
    prefill, *decode = steps
    assert [step.cache_bytes for step in decode] == [shape.nbytes(step.length) for step in decode]
    assert [step.token for step in steps] == [step.token_without for step in steps]
    kept = 2 * 2 * 2 * 8 * 4  # key and value, layers, KV heads, width, bytes
    assert prefill.cache_bytes == kept * prefill.length  # a window's buffer is cut at the next token
    assert decode[-1].cache_bytes == kept * (decode[-1].length if window is None else window)


@pytest.mark.parametrize("form", ["gpt2", "llama"])
def test_decoders_of_other_families_keep_what_the_formula_says(saved: Callable[[str], Path], form: str) -> None:
    model = tfmviz.load_model(str(saved(form)), device="cpu")
    shape = generation.cache_shape(model)
    steps = list(generation.write(model, "The cat sat", 6))
    assert [step.cache_bytes for step in steps] == [shape.nbytes(step.length) for step in steps]
    module = AutoModelForCausalLM.from_pretrained(saved(form)).eval()
    ids = torch.tensor([[token.id for token in model.tokenize("The cat sat")]])
    expected = module.generate(ids, max_new_tokens=6, do_sample=False, eos_token_id=None, pad_token_id=0)
    assert [step.token for step in steps] == expected[0, ids.shape[1] :].tolist()


@pytest.mark.parametrize("form", ["gpt2", "bert", "t5"])
def test_numbers_become_the_text_that_was_typed(saved: Callable[[str], Path], form: str) -> None:
    model = tfmviz.load_model(str(saved(form)), device="cpu")
    typed = "the cat sat on the mat"  # in lower case: BERT's tokenizer keeps no capitals
    ids = [token.id for token in model.tokenize(typed) if not token.is_special]
    assert model.text_of(ids).strip() == typed


def test_bytes_become_text_and_broken_characters_are_marked() -> None:
    model = tfmviz.load_model("scratch-untrained", device="cpu")
    assert model.text_of([token.id for token in model.tokenize("naïve 🦜")]) == "naïve 🦜"
    assert model.text_of([0xE2, 0x82]) == "\ufffd"
    assert model.end_id == 258


def test_nobody_else_runs_a_module_that_is_lent(saved: Callable[[str], Path]) -> None:
    model = tfmviz.load_model(str(saved("gpt2")), device="cpu")
    with model.exclusive() as module:
        assert torch.is_inference_mode_enabled()
        assert isinstance(module, torch.nn.Module)
        assert not model._lock.acquire(blocking=False)  # type: ignore[attr-defined]
    assert model._lock.acquire(blocking=False)  # type: ignore[attr-defined]

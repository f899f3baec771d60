"""How long a text may be, and where one that is longer is cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

import tfmviz
from tfmviz.errors import ConfigError, TextTooLong
from tfmviz.models.limits import max_tokens

Saved = Callable[[str], Path]
LIMITS = {"bert": 40, "roberta": 40, "gpt2": 40, "llama": 64, "t5": None, "bart": 40}
LONG = "The cat sat on the mat and the dog chased the birds over the garden wall. " * 10


class Unlimited:
    """A tokenizer that says nothing about lengths."""

    model_max_length = 10**30


@pytest.mark.parametrize("form", LIMITS)
def test_a_model_says_how_many_tokens_it_takes(saved: Saved, form: str) -> None:
    assert tfmviz.load_model(saved(form), device="cpu").max_tokens == LIMITS[form]


@pytest.mark.parametrize("form", ["bert", "roberta", "gpt2", "bart"])
def test_the_limit_is_where_the_table_of_positions_ends(saved: Saved, form: str) -> None:
    """One token more and transformers itself fails: the limit is neither too low nor too high."""
    opener = transformers.AutoModel
    module = opener.from_pretrained(saved(form)).eval()
    limit = LIMITS[form]
    assert limit is not None
    module(input_ids=torch.full((1, limit), 7))
    with pytest.raises((IndexError, RuntimeError)):
        module(input_ids=torch.full((1, limit + 1), 7))


def test_a_shorter_limit_of_the_tokenizer_counts(saved: Saved) -> None:
    class Shorter:
        model_max_length = 24

    module = transformers.AutoModel.from_pretrained(saved("bert"))
    assert max_tokens(module, Shorter()) == 24
    assert max_tokens(module, Unlimited()) == 40


def test_opt_has_two_rows_more_than_positions() -> None:
    config = transformers.OPTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        ffn_dim=16,
        vocab_size=50,
        max_position_embeddings=30,
    )
    config.word_embed_proj_dim = 16
    module = transformers.OPTModel(config)
    assert max_tokens(module, Unlimited()) == 30
    module(input_ids=torch.full((1, 30), 7))


def test_minilm_takes_all_its_512_positions(minilm: Any) -> None:
    """sentence-transformers cuts at 256; the model's attention is defined up to 512."""
    assert minilm.max_tokens == 512


def test_smollm2_takes_8192(smollm2: Any) -> None:
    assert smollm2.max_tokens == 8192


@pytest.mark.parametrize("form", ["bert", "roberta", "gpt2", "llama", "bart"])
def test_a_long_text_is_cut_at_the_last_border_that_fits(saved: Saved, form: str) -> None:
    model = tfmviz.load_model(saved(form), device="cpu")
    with pytest.raises(TextTooLong) as caught:
        model.trace(LONG)
    error = caught.value
    assert error.n_tokens == len(model.tokenize(LONG)) > error.max_tokens == model.max_tokens
    assert len(model.trace(LONG[: error.cut_at]).tokens) <= error.max_tokens
    borders = [token.end for token in model.tokenize(LONG) if not token.is_special]
    assert error.cut_at in borders
    after = min(border for border in borders if border > error.cut_at)
    assert len(model.tokenize(LONG[:after])) > error.max_tokens


def test_a_text_of_just_the_limit_is_taken(saved: Saved) -> None:
    model = tfmviz.load_model(saved("bert"), device="cpu")
    text = "cat " * (40 - 2)
    assert len(model.trace(text).tokens) == 40
    with pytest.raises(TextTooLong):
        model.trace(text + "cat")


@pytest.fixture(scope="module")
def byte_model(saved: Saved) -> Any:
    return tfmviz.load_model(saved("gpt2"), device="cpu")


@settings(max_examples=30, deadline=None)
@given(text=st.text(st.sampled_from("ab é👨‍👩‍👧🏽́日本नि🇫🇷\n"), min_size=60, max_size=120))
def test_a_cut_leaves_whole_characters_that_fit(byte_model: Any, text: str) -> None:
    import regex

    if len(byte_model.tokenize(text)) <= 40:
        return
    with pytest.raises(TextTooLong) as caught:
        byte_model.trace(text)
    cut_at = caught.value.cut_at
    assert len(byte_model.tokenize(text[:cut_at])) <= 40
    assert cut_at in {0, *(match.end() for match in regex.finditer(r"\X", text))}


@pytest.mark.parametrize(("text", "pair", "part"), [(LONG, "A dog.", "text"), ("A dog.", LONG, "pair")])
def test_of_two_sentences_the_longer_is_cut(saved: Saved, text: str, pair: str, part: str) -> None:
    model = tfmviz.load_model(saved("bert"), device="cpu")
    with pytest.raises(TextTooLong, match="two sentences have") as caught:
        model.trace(text, pair=pair)
    assert caught.value.part == part
    cut = {"text": text, "pair": pair}
    cut[part] = cut[part][: caught.value.cut_at]
    assert len(model.trace(cut["text"], pair=cut["pair"]).tokens) <= 40


def test_two_long_sentences_fit_after_a_cut_of_each(saved: Saved) -> None:
    model = tfmviz.load_model(saved("bert"), device="cpu")
    sentences = {"text": LONG, "pair": LONG}
    for _ in range(2):
        with pytest.raises(TextTooLong) as caught:
            model.trace(sentences["text"], pair=sentences["pair"])
        part = caught.value.part
        sentences[part] = sentences[part][: caught.value.cut_at]
    assert len(model.trace(sentences["text"], pair=sentences["pair"]).tokens) == 40


def test_a_long_target_is_told_as_such(saved: Saved) -> None:
    model = tfmviz.load_model(saved("bart"), device="cpu")
    with pytest.raises(TextTooLong, match="The target has") as caught:
        model.trace("A dog.", target=LONG)
    assert caught.value.part == "target"
    assert len(model.trace("A dog.", target=LONG[: caught.value.cut_at]).target_tokens) <= 40


def test_t5_has_no_limit(saved: Saved) -> None:
    trace = tfmviz.load_model(saved("t5"), device="cpu").trace(LONG * 4)
    assert len(trace.tokens) > 512


def test_padding_beyond_the_limit_is_refused(saved: Saved) -> None:
    with pytest.raises(ConfigError, match="pad_to=41"):
        tfmviz.load_model(saved("bert"), device="cpu").trace("A dog.", pad_to=41)

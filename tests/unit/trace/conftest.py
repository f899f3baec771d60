"""Tiny models, built once."""

from __future__ import annotations

import pytest
from tiny import WIDTHS, peaked
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)


@pytest.fixture(scope="session")
def llama() -> PreTrainedModel:
    return peaked(LlamaForCausalLM(LlamaConfig(**WIDTHS, num_key_value_heads=2, max_position_embeddings=4096)))


@pytest.fixture(scope="session")
def bert() -> PreTrainedModel:
    return peaked(BertModel(BertConfig(**WIDTHS, max_position_embeddings=4096)))


@pytest.fixture(scope="session")
def gpt2() -> PreTrainedModel:
    return peaked(GPT2LMHeadModel(GPT2Config(vocab_size=101, n_embd=32, n_layer=2, n_head=4, n_positions=4096)))


@pytest.fixture(scope="session")
def t5() -> PreTrainedModel:
    widths = {"vocab_size": 101, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    return peaked(T5ForConditionalGeneration(T5Config(**widths, decoder_start_token_id=0)))

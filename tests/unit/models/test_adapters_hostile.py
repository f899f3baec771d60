"""Checkpoints that do not fit together: each is a sentence, never a stray error from inside."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from tfmviz.errors import CheckpointError
from tfmviz.models.adapters import from_checkpoint


def gpt2() -> tuple[dict[str, Any], dict[str, Tensor]]:
    made = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=2, n_positions=6)
    )
    return made.config.to_dict(), dict(made.state_dict())


def test_a_tensor_with_too_many_dimensions_is_named_with_its_shape() -> None:
    settings, state = gpt2()
    state["transformer.h.0.attn.c_proj.weight"] = torch.zeros(2, 4, 8)
    with pytest.raises(CheckpointError, match=r"c_proj\.weight has the shape \(2, 4, 8\)"):
        from_checkpoint(settings, state)


def test_two_names_of_one_tensor_are_both_named() -> None:
    settings, state = gpt2()
    state["wpe.weight"] = torch.zeros(6, 8)
    with pytest.raises(CheckpointError, match=r"transformer\.wpe\.weight and wpe\.weight"):
        from_checkpoint(settings, state)


def test_a_head_without_its_table_is_a_missing_tensor() -> None:
    settings, state = gpt2()
    del state["transformer.wte.weight"]
    with pytest.raises(CheckpointError, match=r"wte\.weight"):
        from_checkpoint(settings, state)


def test_a_setting_that_config_json_lacks_is_named() -> None:
    settings, state = gpt2()
    del settings["n_embd"]
    with pytest.raises(CheckpointError, match="n_embd"):
        from_checkpoint(settings, state)


def test_a_head_of_its_own_that_is_not_there_is_a_missing_tensor() -> None:
    config = transformers.LlamaConfig(
        vocab_size=9, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2,
        tie_word_embeddings=False,
    )  # fmt: skip
    state = dict(transformers.LlamaForCausalLM(config).state_dict())
    del state["lm_head.weight"]
    with pytest.raises(CheckpointError, match=r"lm_head\.weight"):
        from_checkpoint(config.to_dict(), state)

"""Checkpoints that do not fit are refused, and the message says which tensor or setting it is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from tfmviz.errors import CheckpointError, UnsupportedModel
from tfmviz.models.adapters import FAMILIES, from_checkpoint
from tfmviz.models.load import load_model

Checkpoint = tuple[dict[str, Any], dict[str, Tensor]]


@pytest.fixture
def checkpoint() -> Checkpoint:
    """A GPT-2 of one layer: its config.json and tensors."""
    config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=1, n_head=2, n_positions=16)
    return config.to_dict(), dict(transformers.GPT2LMHeadModel(config).state_dict())


def test_it_loads_as_it_is(checkpoint: Checkpoint) -> None:
    assert from_checkpoint(*checkpoint).config.n_layers == 1


def test_a_missing_tensor_is_named(checkpoint: Checkpoint) -> None:
    settings, state = checkpoint
    del state["transformer.h.0.mlp.c_fc.bias"]
    with pytest.raises(CheckpointError, match=r"lacks 1 tensors: h\.0\.mlp\.c_fc\.bias"):
        from_checkpoint(settings, state)


def test_tensors_without_a_place_are_listed(checkpoint: Checkpoint) -> None:
    settings, state = checkpoint
    state |= {"transformer.h.1.ln_1.weight": torch.ones(8), "lora.weight": torch.ones(2)}
    with pytest.raises(CheckpointError, match=r"2 tensors .* no place for: h\.1\.ln_1\.weight, lora\.weight"):
        from_checkpoint(settings, state)


def test_known_leftovers_are_let_pass(checkpoint: Checkpoint) -> None:
    settings, state = checkpoint
    state["transformer.h.0.attn.masked_bias"] = torch.tensor(-1e4)
    assert from_checkpoint(settings, state) is not None


def test_another_shape_is_told_with_both(checkpoint: Checkpoint) -> None:
    settings, state = checkpoint
    state["transformer.h.0.mlp.c_proj.weight"] = torch.ones(31, 8)
    with pytest.raises(CheckpointError, match=r"h\.0\.mlp\.c_proj\.weight gives .* \(8, 31\).* says \(8, 32\)"):
        from_checkpoint(settings, state)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_none_are_refused(checkpoint: Checkpoint, bad: float) -> None:
    settings, state = checkpoint
    state["transformer.ln_f.weight"] = torch.full((8,), bad)
    with pytest.raises(CheckpointError, match=r"ln_f\.weight holds 8 NaN or infinite"):
        from_checkpoint(settings, state)


def test_a_copy_that_is_none_is_refused() -> None:
    config = transformers.T5Config(vocab_size=20, d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2)
    state = {
        name: value.clone() for name, value in transformers.T5ForConditionalGeneration(config).state_dict().items()
    }
    state["decoder.embed_tokens.weight"] += 1
    with pytest.raises(CheckpointError, match=r"decoder\.embed_tokens\.weight should be a copy of shared\.weight"):
        from_checkpoint(config.to_dict(), state)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "mamba"}, "model_type='mamba' has no adapter .* bert, llama"),
        ({"activation_function": "mish"}, "'mish' is none of relu, gelu"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True"),
        ({"add_cross_attention": True}, "add_cross_attention=True"),
    ],
)
def test_what_our_model_cannot_compute_is_named(checkpoint: Checkpoint, change: dict[str, Any], said: str) -> None:
    settings, state = checkpoint
    with pytest.raises(UnsupportedModel, match=said):
        from_checkpoint(settings | change, state)


def test_an_unknown_rotary_scaling_is_named() -> None:
    config = transformers.LlamaConfig(
        vocab_size=20, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2
    )
    state = dict(transformers.LlamaForCausalLM(config).state_dict())
    rope = {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 2.0}}
    with pytest.raises(UnsupportedModel, match="'yarn'"):
        from_checkpoint(config.to_dict() | rope, state)


def test_a_family_without_an_adapter_is_refused_before_its_weights_are_read(tmp_path: Any) -> None:
    config = transformers.GPTNeoXConfig(
        vocab_size=20, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2
    )
    transformers.GPTNeoXForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(UnsupportedModel, match="gpt_neox"):
        load_model(f"scratch:{tmp_path}")


def test_every_leftover_has_a_reason() -> None:
    for family in FAMILIES:
        assert all(len(reason) > 10 for reason in family.unused.values())

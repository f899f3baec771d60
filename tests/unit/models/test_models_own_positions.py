"""What a loaded model's rotation and biases are read to be, against what the model itself computes with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers

import tfmviz
from tfmviz.analysis import positions_own
from tfmviz.models import Model
from tfmviz.models.scratch_load import byte_model
from tfmviz.nn import TransformerConfig, build

SIZES = {"vocab_size": 259, "d_model": 32, "n_heads": 4, "n_layers": 1, "max_positions": 64}


def ours(position: str, **more: object) -> Model:
    config = TransformerConfig(architecture="decoder", position=position, **SIZES, **more)  # type: ignore[arg-type]
    return byte_model(build(config, seed=1).eval(), name=position)


def loaded(config: transformers.PreTrainedConfig, saved: Callable[[str], Path], folder: Path) -> Model:
    """A random decoder of a family, with a small byte-level tokenizer."""
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(saved("gpt2")).save_pretrained(folder)
    return tfmviz.load_model(str(folder), device="cpu")


def test_smollm2_turns_with_the_base_of_its_config(smollm2: Model) -> None:
    (found,) = positions_own.rotations(smollm2)
    assert found.base == 100_000
    assert found.scaling is None
    expected = 1 / 100_000 ** (torch.arange(0, 64, 2) / 64)
    torch.testing.assert_close(found.turns.radians, expected)
    assert found.turns.trained_length == 8192
    assert positions_own.biases(smollm2) == ()


def test_our_copy_of_smollm2_turns_as_it_does(smollm2: Model) -> None:
    copy = tfmviz.load_model("scratch-smollm2", device="cpu", allow_download=False)
    (theirs,), (mine,) = positions_own.rotations(smollm2), positions_own.rotations(copy)
    torch.testing.assert_close(mine.turns.radians, theirs.turns.radians)
    assert (mine.base, mine.turns.trained_length) == (theirs.base, theirs.turns.trained_length)


def test_scaled_speeds_are_those_that_the_model_turns_with(saved: Callable[[str], Path], tmp_path: Path) -> None:
    config = transformers.LlamaConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=48,
        vocab_size=300,
        max_position_embeddings=128,
        rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0},
    )
    (found,) = positions_own.rotations(loaded(config, saved, tmp_path))
    assert (found.base, found.scaling) == (500, "linear")
    torch.testing.assert_close(found.turns.radians, 500.0 ** (-torch.arange(0, 16, 2) / 16) / 4)


def test_layers_that_turn_differently_are_told_apart(saved: Callable[[str], Path], tmp_path: Path) -> None:
    config = transformers.Gemma3TextConfig(
        hidden_size=32,
        num_hidden_layers=6,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        intermediate_size=48,
        vocab_size=300,
        max_position_embeddings=128,
    )
    found = {one.layers: one for one in positions_own.rotations(loaded(config, saved, tmp_path))}
    assert set(found) == {"full attention", "sliding attention"}
    for one in found.values():
        assert one.base is not None
        torch.testing.assert_close(one.turns.radians, one.base ** (-torch.arange(0, 16, 2) / 16))
    assert found["full attention"].base != found["sliding attention"].base


@pytest.mark.parametrize("n_heads", [4, 6])
def test_blooms_slopes_are_the_papers(saved: Callable[[str], Path], tmp_path: Path, n_heads: int) -> None:
    config = transformers.BloomConfig(hidden_size=48, n_layer=1, n_head=n_heads, vocab_size=300)
    (found,) = positions_own.biases(loaded(config, saved, tmp_path))
    assert found.kind == "alibi"
    paper = {4: [2.0 ** (-2 * i) for i in range(1, 5)], 6: [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]}
    assert found.slopes.tolist() == pytest.approx(paper[n_heads], rel=1e-5)
    assert int(found.distance[-1]) == 0
    assert found.bias[:, -1].tolist() == [0.0] * n_heads
    assert float(found.bias[0, -11]) == pytest.approx(-10 * paper[n_heads][0], rel=1e-5)


def test_mpts_slopes_are_those_of_its_own_bias(saved: Callable[[str], Path], tmp_path: Path) -> None:
    config = transformers.MptConfig(d_model=32, n_heads=4, n_layers=1, vocab_size=300, max_seq_len=64)
    (found,) = positions_own.biases(loaded(config, saved, tmp_path))
    assert found.slopes.tolist() == pytest.approx([2.0 ** (-2 * i) for i in range(1, 5)], rel=1e-5)


def test_t5s_numbers_are_those_that_it_adds_to_its_scores(saved: Callable[[str], Path]) -> None:
    model = tfmviz.load_model(str(saved("t5")), device="cpu")
    found = {one.stack: one for one in positions_own.biases(model)}
    assert set(found) == {"encoder", "decoder"}
    with model.exclusive() as module:
        for stack, one in found.items():
            attention = getattr(module, stack).block[0].layer[0].SelfAttention
            own = attention.compute_bias(100, 100)[0]  # [heads, query, key]
            at = {int(d): i for i, d in enumerate(one.distance)}
            for query, key in [(50, 50), (50, 49), (50, 30), (99, 0)] + ([(3, 70)] if stack == "encoder" else []):
                assert torch.equal(one.bias[:, at[key - query]], own[:, query, key])
    assert positions_own.rotations(model) == ()


@pytest.mark.parametrize("position", ["alibi", "relative"])
def test_our_biases_are_those_that_our_models_add(position: str) -> None:
    model = ours(position)
    (found,) = positions_own.biases(model)
    assert found.kind == position
    bias = model.module.stack.bias  # type: ignore[attr-defined]
    block = bias.block(torch.tensor([40]), torch.arange(41))[:, 0]
    assert torch.equal(found.bias[:, -41:], block)


@pytest.mark.parametrize("position", ["learned", "sinusoidal", "none"])
def test_models_that_turn_nothing_and_add_nothing_to_scores_have_neither(position: str) -> None:
    assert positions_own.rotations(ours(position)) == ()
    assert positions_own.biases(ours(position)) == ()


def test_a_table_is_neither(minilm: Model) -> None:
    assert positions_own.rotations(minilm) == ()
    assert positions_own.biases(minilm) == ()

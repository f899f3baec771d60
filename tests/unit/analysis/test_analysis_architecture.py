"""The diagram's shapes are the shapes that the model's own modules give out."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tfmviz.analysis.architecture import columns, untrained
from tfmviz.nn import AnyTransformer, Recording, TransformerConfig, build
from tfmviz.nn.block import Block
from tfmviz.nn.multihead import Attention

SIZES: dict[str, Any] = {"vocab_size": 40, "d_model": 24, "n_heads": 6, "n_kv_heads": 2, "d_ff": 32, "n_layers": 3}
N, M = 7, 4


def passed(model: AnyTransformer) -> tuple[dict[str, tuple[int, ...]], Recording, torch.Tensor]:
    """Run a model on N (and M) tokens; what each module gave out, and what it recorded."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, module in model.named_modules():
        module.register_forward_hook(
            lambda _, __, out, name=name: (
                shapes.__setitem__(name, tuple(out.shape[1:])) if torch.is_tensor(out) else None
            )
        )
    recording = Recording()
    source, target = torch.zeros(1, N, dtype=torch.int64), torch.zeros(1, M, dtype=torch.int64)
    if model.config.is_encoder_decoder:
        return shapes, recording, model(source, target, recording=recording)
    return shapes, recording, model(source, recording=recording)


@pytest.mark.parametrize("block", ["pre-norm", "post-norm"])
@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_one_stack(architecture: str, block: str) -> None:
    model = build(TransformerConfig(architecture=architecture, block=block, **SIZES))
    (column,) = columns(model.config, {"self": N})
    shapes, recording, logits = passed(model)
    assert column.n_layers == sum(isinstance(module, Block) for module in model.modules())
    by_kind = {part.kind: part for part in (*column.before, *column.block, *column.after)}
    assert by_kind["embedding"].shape == shapes["embedding"]
    assert by_kind["attention"].shape == shapes["stack.blocks.0.attention"]
    assert by_kind["feed-forward"].shape == shapes["stack.blocks.0.feed_forward"]
    assert by_kind["output"].shape == tuple(logits.shape[1:])
    heads, keys = recording.attention[0].query.shape[1], recording.attention[0].key
    assert by_kind["attention"].note == f"{heads} heads on {keys.shape[1]} key heads, weights 6 × 7 × 7"
    assert (column.block[0].kind == "norm") is (block == "pre-norm")
    assert any(part.title == "Last norm" for part in column.after) is (block == "pre-norm")


def test_two_stacks_of_unequal_lengths() -> None:
    model = build(TransformerConfig(architecture="encoder-decoder", n_decoder_layers=2, **SIZES))
    encoder, decoder = columns(model.config, {"encoder": N, "decoder": M})
    shapes, recording, logits = passed(model)
    assert (encoder.n_layers, decoder.n_layers) == (3, 2)
    cross = next(part for part in decoder.block if part.kind == "cross")
    assert cross.shape == shapes["decoder.blocks.0.cross"] == (M, 24)
    record = recording.stack("cross")[0]
    assert f"weights {record.query.shape[1]} × {record.query.shape[2]} × {record.key.shape[2]}" in cross.note
    assert all(part.kind != "cross" for part in encoder.block)
    assert all(part.kind != "output" for part in encoder.after)
    assert decoder.after[-1].shape == tuple(logits.shape[1:])


def test_every_attention_of_the_model_is_a_box() -> None:
    for kind in ("encoder", "decoder", "encoder-decoder"):
        model = untrained(kind)
        drawn = columns(model.config, {"self": N, "encoder": N, "decoder": M})
        boxes = sum(column.n_layers * sum(p.kind in ("attention", "cross") for p in column.block) for column in drawn)
        assert boxes == sum(isinstance(module, Attention) for module in model.modules())


def test_a_model_without_vocabulary_ends_in_its_hidden_states() -> None:
    config = TransformerConfig(architecture="encoder", output="none", block="post-norm", **SIZES)
    (column,) = columns(config, {"self": N})
    assert column.after == ()

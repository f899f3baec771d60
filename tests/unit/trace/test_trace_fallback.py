"""Models that are heard one level lower than the attention interface."""

from __future__ import annotations

import math

import pytest
import torch
from tiny import WIDTHS, ids, naive_weights, peaked
from transformers import BloomConfig, BloomForCausalLM, FalconConfig, FalconForCausalLM, PreTrainedModel

from tfmviz.errors import UnsupportedModel
from tfmviz.trace import LayerAttention, capture
from tfmviz.trace.acquaintance import acquaintance
from tfmviz.trace.bias import KeyBias
from tfmviz.trace.mask import Intervals
from tfmviz.trace.windowed import in_token_order

FALCON = {"vocab_size": 101, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}


def weights(layer: LayerAttention) -> torch.Tensor:
    return torch.stack([layer.weights(head) for head in range(layer.n_heads)])


@pytest.fixture(scope="module")
def bloom() -> PreTrainedModel:
    return peaked(BloomForCausalLM(BloomConfig(vocab_size=101, hidden_size=32, n_layer=2, n_head=4)))


def test_alibi_in_a_float_mask_is_told_apart_from_the_mask() -> None:
    """Falcon's eager path adds ALiBi twice, so the comparison is with the formula (Press et al. 2022)."""
    falcon = peaked(FalconForCausalLM(FalconConfig(**FALCON, alibi=True, multi_query=True)))
    mask = torch.tensor([[0] * 3 + [1] * 9])
    for layer in capture(falcon, {"input_ids": ids(12), "attention_mask": mask}).stacks["self"]:
        source = layer.source
        assert isinstance(source.mask, Intervals)
        assert isinstance(source.bias, KeyBias)
        slopes = [2.0 ** (-2 * (h + 1)) for h in range(4)]  # four heads: 2^-2, 2^-4, 2^-6, 2^-8
        expected = naive_weights(
            source.query, source.key, scale=8**-0.5, sees=lambda h, i, j: 3 <= j <= i,
            bias=lambda h, i, j: slopes[h] * (j - 3) / math.sqrt(8),  # noqa: B023
        )  # fmt: skip
        assert torch.allclose(weights(layer).double(), expected, atol=1e-5)
        assert layer.residual < 1e-5


def test_repeated_keys_are_kept_once() -> None:
    config = FalconConfig(**FALCON, alibi=False, new_decoder_architecture=True, num_kv_heads=2)
    layers = capture(peaked(FalconForCausalLM(config)), {"input_ids": ids(12)}).stacks["self"]
    assert [(layer.n_heads, layer.n_kv_heads) for layer in layers] == [(4, 2)] * 2


def test_what_a_first_capture_learned_spares_the_next_ones_their_passes(bloom: PreTrainedModel) -> None:
    passes = []
    hook = bloom.register_forward_pre_hook(lambda *_: passes.append(1))
    first = capture(bloom, {"input_ids": ids(8)})
    n_first = len(passes)
    second = capture(bloom, {"input_ids": ids(8)})
    hook.remove()
    assert acquaintance(bloom).useful == ("softmax",)
    assert (n_first, len(passes) - n_first) == (2, 1)
    assert torch.equal(first.output, second.output)
    assert all(layer.status == "dense" for layer in second.stacks["self"])


def test_ablation_reaches_a_softmax(bloom: PreTrainedModel) -> None:
    def zero(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        mixed = inputs[0].clone()
        mixed[..., 8:16] = 0
        return (mixed, *inputs[1:])

    hook = bloom.transformer.h[1].self_attention.dense.register_forward_pre_hook(zero)
    with torch.no_grad():
        expected = bloom(input_ids=ids(8)).logits
    hook.remove()
    assert torch.allclose(capture(bloom, {"input_ids": ids(8)}, ablate=[(1, 1)]).output, expected, atol=1e-6)


def test_ablation_where_a_model_only_reports_is_refused() -> None:
    from transformers import LongformerConfig, LongformerModel

    model = peaked(LongformerModel(LongformerConfig(**WIDTHS, attention_window=4, pad_token_id=0)))
    with pytest.raises(UnsupportedModel, match="cannot be ablated"):
        capture(model, {"input_ids": ids(8)}, ablate=[(0, 0)])


def test_raw_scores_are_not_taken_for_weights() -> None:
    assert in_token_order(torch.randn(1, 2, 5, 5), 5, 5) is None


def test_a_band_that_reaches_out_of_the_text_is_not_taken() -> None:
    band = torch.full((1, 2, 6, 3), 1 / 3)
    assert in_token_order(band, 6, 6) is None
    band[:, :, 0] = torch.tensor([0, 0.5, 0.5])
    band[:, :, -1] = torch.tensor([0.5, 0.5, 0])
    found = in_token_order(band, 6, 6)
    assert torch.allclose(found[0, 2], torch.tensor([0, 1, 1, 1, 0, 0]) / 3)
    assert torch.equal(found[1, 5], torch.tensor([0, 0, 0, 0, 0.5, 0.5]))

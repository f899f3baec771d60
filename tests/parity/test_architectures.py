"""Captured weights equal the weights that Hugging Face's eager attention reports, architecture by architecture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from architectures import ARCHITECTURES
from tiny_random import Architecture
from torch import Tensor
from transformers import PreTrainedModel

from tfmviz.trace import Capture, capture

N_TOKENS, N_PADDED, N_TARGET = 13, 17, 9
BAND = 5  # columns of a window of 2 on both sides
PADDING = ("single", "right-padded", "left-padded")
REPORTED_AS = {
    "self": "attentions",
    "encoder": "encoder_attentions",
    "decoder": "decoder_attentions",
    "cross": "cross_attentions",
}


def inputs_of(architecture: Architecture, padding: str) -> dict[str, Tensor]:
    """One text, with padding on one side."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 95, (1, N_TOKENS), generator=generator)
    mask = torch.ones_like(ids)
    fill = torch.zeros(1, N_PADDED - N_TOKENS, dtype=torch.long)
    if padding == "right-padded":
        ids, mask = torch.cat([ids, fill], 1), torch.cat([mask, fill], 1)
    if padding == "left-padded":
        ids, mask = torch.cat([fill, ids], 1), torch.cat([fill, mask], 1)
    inputs = {"input_ids": ids, "attention_mask": mask}
    if architecture.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.randint(5, 95, (1, N_TARGET), generator=generator)
    return inputs


def eager_weights(model: PreTrainedModel, inputs: Mapping[str, Tensor]) -> dict[str, tuple[Any, ...]]:
    """What a model that was built with eager attention reports."""
    with torch.no_grad():
        output = model(**inputs, output_attentions=True, use_cache=False)
    reported = {stack: getattr(output, name, None) for stack, name in REPORTED_AS.items()}
    return {stack: layers for stack, layers in reported.items() if layers}


@pytest.fixture(scope="module", params=ARCHITECTURES, ids=str)
def architecture(request: pytest.FixtureRequest) -> Architecture:
    return request.param


@pytest.fixture(scope="module")
def model(architecture: Architecture) -> PreTrainedModel:
    return architecture.build()


@pytest.fixture(scope="module")
def eager_model(architecture: Architecture) -> PreTrainedModel:
    return architecture.build(attn_implementation="eager")


@pytest.mark.parametrize("padding", PADDING)
def test_weights_equal_eager_attention(
    architecture: Architecture, model: PreTrainedModel, eager_model: PreTrainedModel, padding: str
) -> None:
    inputs = inputs_of(architecture, padding)
    with torch.no_grad():
        plain = model(**inputs, use_cache=False)
    found = capture(model, inputs)

    assert torch.equal(found.output, plain[0]), "recording changed what the model computes"
    expected = eager_weights(eager_model, inputs)
    assert set(found.stacks) == set(expected)
    for stack, layers in expected.items():
        check_stack(architecture, found, stack, layers, inputs)


def check_stack(
    architecture: Architecture, found: Capture, stack: str, expected: tuple[Any, ...], inputs: Mapping[str, Tensor]
) -> None:
    layers = found.stacks[stack]
    assert tuple(layer.status for layer in layers) == architecture.expected_status(stack, len(layers))
    with_attention = [layer for layer in layers if layer.has_attention]
    if len(expected) == len(layers):  # a recurrent layer reports None, or something that is not attention
        expected = tuple(weights for layer, weights in zip(layers, expected, strict=True) if layer.has_attention)
    assert len(with_attention) == len(expected)
    real_key = inputs["attention_mask"][0].bool() if stack != "decoder" else None
    real_query = inputs["attention_mask"][0].bool() if stack in ("self", "encoder") else None
    # A padding query that sees nothing gets zeros from fused attention and a mean from eager attention, so what it asks
    # in later layers differs too.
    comparable = torch.ones(with_attention[0].n_queries, dtype=torch.bool)
    peak = 0.0
    for layer, reference in zip(with_attention, expected, strict=True):
        ours = torch.stack([layer.weights(head) for head in range(layer.n_heads)])
        sink = torch.stack([layer.sink(head) for head in range(layer.n_heads)])
        visible = torch.stack([layer.visible(head) for head in range(layer.n_heads)])
        theirs = as_weights(architecture, reference[0], sink)
        assert ours.shape == theirs.shape
        live = visible.any(-1)
        if real_query is not None:
            assert live[:, real_query].all(), "a real token sees nothing"
        if real_key is not None and real_key.numel() == ours.shape[-1]:
            looking = ours if real_query is None else ours[:, real_query]
            assert not looking[..., ~real_key].any(), "a real token looks at padding"
        assert not ours[~visible].any()
        assert not ours[~live].any()
        assert (ours - theirs)[live & comparable].abs().max() <= architecture.tolerance
        assert ((ours.sum(-1) + sink)[live] - 1).abs().max() <= 1e-5
        comparable &= live.all(0)
        peak = max(peak, float((ours.amax(-1) * visible.sum(-1))[live].max()))
    assert peak > 2, "attention this flat would hide mistakes"


def as_weights(architecture: Architecture, reported: Tensor, sink: Tensor) -> Tensor:
    """The map [h, q, k] that the model's report stands for."""
    n_tokens = reported.shape[-2]
    match architecture.reports:
        case "raw scores":
            return torch.softmax(reported, -1)
        case "weights without the sink":
            return reported * (1 - sink[..., None])
        case "band" if reported.shape[-1] == BAND:
            weights = torch.zeros(*reported.shape[:2], n_tokens)
            for i in range(n_tokens):
                for c in range(BAND):
                    if 0 <= (j := i + c - BAND // 2) < n_tokens:
                        weights[:, i, j] = reported[:, i, c]
            return weights
        case "blocks" if reported.ndim == 4:
            n_blocks, n_heads, length, window = reported.shape
            weights = torch.zeros(n_heads, n_blocks * length, n_blocks * length)
            for b in range(n_blocks):
                for c in range(window):
                    if 0 <= (j := (b - 1) * length + c) < n_blocks * length:
                        weights[:, b * length : (b + 1) * length, j] = reported[b, :, :, c]
            return weights[:, : sink.shape[1], : sink.shape[1]]
        case _:
            return reported

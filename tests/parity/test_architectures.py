"""Captured weights equal the weights that Hugging Face's eager attention reports, architecture by architecture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import torch
from architectures import ARCHITECTURES, Architecture
from torch import Tensor
from transformers import PreTrainedModel

from tfmviz.trace import Capture, capture

N_TOKENS, N_PADDED, N_TARGET = 13, 17, 9
PADDING = ("single", "right-padded", "left-padded")
ONE_LAYER_REPORTS = {"self": "attentions", "encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}


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


def eager_weights(model: PreTrainedModel, inputs: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, ...]]:
    """What the model itself reports under eager attention."""
    own = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            output = model(**inputs, output_attentions=True, use_cache=False)
    finally:
        model.set_attn_implementation(own)
    reported = {stack: getattr(output, name, None) for stack, name in ONE_LAYER_REPORTS.items()}
    return {stack: layers for stack, layers in reported.items() if layers}


@pytest.fixture(scope="module", params=ARCHITECTURES, ids=str)
def architecture(request: pytest.FixtureRequest) -> Architecture:
    return request.param


@pytest.fixture(scope="module")
def model(architecture: Architecture) -> PreTrainedModel:
    return architecture.build()


@pytest.mark.parametrize("padding", PADDING)
def test_weights_equal_eager_attention(architecture: Architecture, model: PreTrainedModel, padding: str) -> None:
    inputs = inputs_of(architecture, padding)
    with torch.no_grad():
        plain = model(**inputs, use_cache=False)
    found = capture(model, inputs)

    assert torch.equal(found.output, plain[0]), "recording changed what the model computes"
    expected = eager_weights(model, inputs)
    assert set(found.stacks) == set(expected)
    for stack, layers in expected.items():
        check_stack(architecture, found, stack, layers, inputs)


def check_stack(
    architecture: Architecture, found: Capture, stack: str, expected: tuple[Any, ...], inputs: Mapping[str, Tensor]
) -> None:
    layers = found.stacks[stack]
    status = architecture.status if isinstance(architecture.status, tuple) else (architecture.status,) * len(layers)
    assert tuple(layer.status for layer in layers) == status
    with_attention = [layer for layer in layers if layer.has_attention]
    expected = [weights for weights in expected if isinstance(weights, Tensor)]
    assert len(with_attention) == len(expected)
    real_key = inputs["attention_mask"][0].bool() if stack != "decoder" else None
    real_query = inputs["attention_mask"][0].bool() if stack in ("self", "encoder") else None
    peak = 0.0
    for layer, reference in zip(with_attention, expected, strict=True):
        ours = torch.stack([layer.weights(head) for head in range(layer.n_heads)])
        sink = torch.stack([layer.sink(head) for head in range(layer.n_heads)])
        visible = torch.stack([layer.visible(head) for head in range(layer.n_heads)])
        assert ours.shape == reference.shape[1:]
        live = visible.any(-1)
        if real_query is not None:
            assert live[:, real_query].all(), "a real token sees nothing"
        if real_key is not None and real_key.numel() == ours.shape[-1]:
            assert not ours[..., ~real_key].any(), "padding is looked at"
        assert not ours[~visible].any()
        assert not ours[~live].any()
        theirs = as_weights(architecture, reference[0], sink)
        assert (ours - theirs)[live].abs().max() <= architecture.tolerance
        assert ((ours.sum(-1) + sink)[live] - 1).abs().max() <= 1e-5
        peak = max(peak, float((ours.amax(-1) * visible.sum(-1))[live].max()))
    assert peak > 2, "attention this flat would hide mistakes"


def as_weights(architecture: Architecture, reported: Tensor, sink: Tensor) -> Tensor:
    match architecture.reports:
        case "raw scores":
            return torch.softmax(reported, -1)
        case "weights without the sink":
            return reported * (1 - sink[..., None])
        case _:
            return reported

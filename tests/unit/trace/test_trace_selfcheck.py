"""A formula that does not give what the layer gave is not shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tiny import WIDTHS, ids, peaked
from torch import Tensor, nn
from transformers import AttentionInterface, LlamaConfig, LlamaForCausalLM, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from tfmviz.trace import LayerAttention, capture
from tfmviz.trace.selfcheck import Sampler, residuals
from tfmviz.trace.source import QueriesAndKeys

N = 40


@pytest.fixture
def odd_llama() -> Iterator[PreTrainedModel]:
    """A model whose attention function does something that its arguments do not say, in layer 1, in row 17 alone."""

    def attend(module: nn.Module, query: Tensor, *rest: Any, **options: Any) -> tuple[Tensor, None]:
        out, _ = sdpa_attention_forward(module, query, *rest, **options)
        if module.layer_idx == 1:
            out = out.clone()
            out[:, odd_rows] *= 1.01
        return out, None

    odd_rows = [N - 1]
    AttentionInterface.register("odd", attend)
    AttentionMaskInterface.register("odd", sdpa_mask)
    model = peaked(LlamaForCausalLM(LlamaConfig(**WIDTHS, num_key_value_heads=2, attn_implementation="odd")))
    model.odd_rows = odd_rows
    yield model
    del AttentionInterface._global_mapping["odd"]
    del AttentionMaskInterface._global_mapping["odd"]


def test_a_layer_that_does_something_else_is_taken_from_the_model_instead(odd_llama: PreTrainedModel) -> None:
    layers = capture(odd_llama, {"input_ids": ids(N)}).stacks["self"]
    assert [layer.status for layer in layers] == ["exact", "dense", "exact"]
    assert odd_llama.config._attn_implementation == "odd"


def test_the_check_says_how_well_the_formula_fits(llama: PreTrainedModel) -> None:
    for layer in capture(llama, {"input_ids": ids(N)}).stacks["self"]:
        assert 0 < layer.residual < 2e-6


def test_an_unknown_tensor_has_every_row_checked() -> None:
    seen_rows: list[int] = []

    class Counting(QueriesAndKeys):
        def block(self, heads: slice, rows: Tensor, seen: Any) -> Any:
            seen_rows.extend(rows.tolist())
            return super().block(heads, rows, seen)

    query, key, value = (torch.randn(2, N, 4) for _ in range(3))
    source = Counting(query=query, key=key, scale=1.0)
    out = (torch.softmax(query @ key.transpose(1, 2), -1) @ value).transpose(0, 1)[None]
    spoilt = out.clone()
    spoilt[0, 17] += 1
    few = [Sampler().sample(source, value, given) for given in (out, spoilt)]
    assert residuals(few) == pytest.approx([0, 0], abs=1e-5)
    seen_rows.clear()
    every = [Sampler().sample(source, value, given, every_row=True) for given in (out, spoilt)]
    assert sorted(seen_rows) == sorted([*range(N), *range(N)])
    assert residuals(every)[0] == pytest.approx(0, abs=1e-5)
    assert residuals(every)[1] > 0.1


def test_nan_does_not_pass() -> None:
    from tfmviz.trace.recorder import accepted

    source = QueriesAndKeys(query=torch.zeros(1, 1, 1), key=torch.zeros(1, 1, 1), scale=1.0)
    assert accepted(source, float("nan")) is None
    assert accepted(source, None) is None
    assert isinstance(accepted(source, 0.0), LayerAttention)


def test_rows_that_see_nothing_do_not_count() -> None:
    query, key, value = (torch.randn(2, 6, 4) for _ in range(3))
    mask = torch.ones(6, 6).tril().bool()
    mask[[2, 4]] = False
    source = LayerAttention.from_queries_and_keys(query=query, key=key, scale=1.0, mask=mask).source
    out = torch.full((1, 6, 2, 4), 1e9)
    out[0, 5] = (torch.softmax(query[:, 5:] @ key.transpose(1, 2), -1) @ value)[:, 0]
    assert residuals([Sampler().sample(source, value, out)])[0] < 1e-5

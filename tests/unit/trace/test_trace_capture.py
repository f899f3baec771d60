"""One pass through a model: what is kept, and that nothing else changes."""

from __future__ import annotations

import pytest
import torch
from tiny import WIDTHS, ids, peaked
from torch import nn
from transformers import DynamicCache, JambaConfig, JambaForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedModel

from tfmviz.errors import ConfigError, OutOfRange, UnsupportedModel
from tfmviz.trace import LayerAttention, MemoryUse, capture
from tfmviz.trace.mask import Intervals
from tfmviz.trace.source import QueriesAndKeys


def weights(layer: LayerAttention) -> torch.Tensor:
    return torch.stack([layer.weights(head) for head in range(layer.n_heads)])


def eager(model: PreTrainedModel, **inputs: object) -> tuple[torch.Tensor, ...]:
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            return model(**inputs, output_attentions=True).attentions
    finally:
        model.set_attn_implementation("sdpa")


def test_recording_changes_no_bit_of_the_output(llama: PreTrainedModel) -> None:
    with torch.no_grad():
        plain = llama(input_ids=ids(40), use_cache=False).logits
    assert torch.equal(capture(llama, {"input_ids": ids(40)}).output, plain)


def test_the_model_is_left_as_it_was(gpt2: PreTrainedModel) -> None:
    before = gpt2.config.to_dict()
    hooks = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in gpt2.modules())
    capture(gpt2, {"input_ids": ids(9)}, ablate=[(0, 1)])
    assert gpt2.config.to_dict() == before
    assert sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in gpt2.modules()) == hooks


@pytest.mark.parametrize("name", ["llama", "bert", "gpt2"])
@pytest.mark.parametrize("n", [256, 1024])
def test_a_trace_keeps_its_queries_and_keys_and_little_else(name: str, n: int, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(name)
    for mask in (torch.ones(1, n), torch.cat([torch.zeros(1, 50), torch.ones(1, n - 50)], 1)):
        layers = capture(model, {"input_ids": ids(n), "attention_mask": mask.long()}).stacks["self"]
        kept = MemoryUse.of(layers).kept
        wanted = sum(layer.source.query.nbytes + layer.source.key.nbytes for layer in layers)
        head = model.config.hidden_size // 4
        assert wanted == len(layers) * (4 + layers[0].n_kv_heads) * head * n * 4
        assert kept <= 1.1 * wanted


def test_t5_keeps_its_position_bias_by_distance(t5: PreTrainedModel) -> None:
    sizes = []
    for n in (128, 256, 512):
        found = capture(t5, {"input_ids": ids(n), "decoder_input_ids": ids(n)})
        sizes.append(MemoryUse.of(layer for layers in found.stacks.values() for layer in layers).kept / n)
    assert max(sizes) / min(sizes) < 1.05


def test_layers_share_one_mask(llama: PreTrainedModel) -> None:
    mask = torch.ones(1, 20, dtype=torch.long)
    mask[:, :6] = 0
    layers = capture(llama, {"input_ids": ids(20), "attention_mask": mask}).stacks["self"]
    assert isinstance(layers[0].source.mask, Intervals)
    assert len({id(layer.source.mask) for layer in layers}) == 1


@pytest.mark.parametrize(("layer", "head"), [(0, 1), (2, 3)])
def test_ablating_a_head_is_zeroing_its_slice_before_the_output_projection(
    llama: PreTrainedModel, layer: int, head: int
) -> None:
    width = llama.config.hidden_size // 4

    def zero(_: nn.Module, inputs: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        mixed = inputs[0].clone()
        mixed[..., head * width : (head + 1) * width] = 0
        return (mixed,)

    hook = llama.model.layers[layer].self_attn.o_proj.register_forward_pre_hook(zero)
    with torch.no_grad():
        expected = llama(input_ids=ids(12), use_cache=False).logits
    hook.remove()
    found = capture(llama, {"input_ids": ids(12)}, ablate=[(layer, head)])
    assert torch.equal(found.output, expected)
    assert not torch.equal(found.output, capture(llama, {"input_ids": ids(12)}).output)
    assert all(one.status == "exact" for one in found.stacks["self"])


def test_ablation_in_an_encoder_decoder_names_its_stack(t5: PreTrainedModel) -> None:
    inputs = {"input_ids": ids(8), "decoder_input_ids": ids(6)}
    plain, by_default, encoder, cross = (
        capture(t5, inputs, ablate=heads).output for heads in ((), [(0, 1)], [("encoder", 0, 1)], [("cross", 0, 1)])
    )
    assert torch.equal(by_default, encoder)
    assert not torch.equal(encoder, plain)
    assert not torch.equal(cross, plain)
    assert not torch.equal(cross, encoder)


def test_heads_that_are_not_there_cannot_be_ablated(llama: PreTrainedModel) -> None:
    for heads, sentence in (([(9, 0)], "0 to 2"), ([(0, 4)], "layer 0 has 4"), ([("cross", 0, 0)], "has: self")):
        with pytest.raises(OutOfRange, match=sentence):
            capture(llama, {"input_ids": ids(5)}, ablate=heads)


def test_a_recurrent_layer_says_so_and_cannot_be_ablated() -> None:
    config = JambaConfig(
        **WIDTHS, num_key_value_heads=2, attn_layer_period=3, attn_layer_offset=1, use_mamba_kernels=False,
        mamba_d_state=8, mamba_dt_rank=4, num_experts=2, num_experts_per_tok=1,
    )  # fmt: skip
    jamba = peaked(JambaForCausalLM(config))
    nothing = "none: no attention in this layer"
    found = capture(jamba, {"input_ids": ids(7)})
    assert [layer.status for layer in found.stacks["self"]] == [nothing, "exact", nothing]
    with pytest.raises(UnsupportedModel):
        capture(jamba, {"input_ids": ids(7)}, ablate=[(0, 0)])


def test_hidden_states_are_the_models_own(llama: PreTrainedModel, t5: PreTrainedModel) -> None:
    with torch.no_grad():
        expected = llama(input_ids=ids(9), output_hidden_states=True).hidden_states
    found = capture(llama, {"input_ids": ids(9)}, hidden_states=True).hidden_states
    assert len(found["self"]) == 4
    assert all(torch.equal(ours, theirs[0]) for ours, theirs in zip(found["self"], expected, strict=True))
    found = capture(t5, {"input_ids": ids(9), "decoder_input_ids": ids(4)}, hidden_states=True).hidden_states
    assert [states[0].shape for states in found.values()] == [(9, 32), (4, 32)]
    assert capture(llama, {"input_ids": ids(9)}).hidden_states == {}


def test_values_are_kept_on_request_and_make_the_output(llama: PreTrainedModel) -> None:
    mixed = []
    projection = llama.model.layers[1].self_attn.o_proj
    hook = projection.register_forward_pre_hook(lambda _, inputs: mixed.append(inputs[0]))
    layer = capture(llama, {"input_ids": ids(15)}, keep_value=True).stacks["self"][1]
    hook.remove()
    ours = weights(layer) @ layer.source.value.repeat_interleave(2, 0)
    assert torch.allclose(ours.transpose(0, 1).reshape(1, 15, -1), mixed[0], atol=1e-5)
    assert capture(llama, {"input_ids": ids(15)}).stacks["self"][1].source.value is None


def test_a_step_of_generation_has_one_row(llama: PreTrainedModel) -> None:
    text = ids(21)
    cache = DynamicCache(config=llama.config)
    with torch.no_grad():
        llama(input_ids=text[:, :-1], past_key_values=cache)
    step = capture(llama, {"input_ids": text[:, -1:], "past_key_values": cache}).stacks["self"]
    whole = capture(llama, {"input_ids": text}).stacks["self"]
    for one, all_rows in zip(step, whole, strict=True):
        assert (one.status, one.n_queries, one.n_keys) == ("exact", 1, 21)
        assert torch.allclose(weights(one), weights(all_rows)[:, -1:], atol=1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 4e-2), (torch.float16, 1e-2)])
def test_short_floats_differ_from_eager_no_more_than_their_precision(dtype: torch.dtype, tolerance: float) -> None:
    model = peaked(LlamaForCausalLM(LlamaConfig(**WIDTHS, num_key_value_heads=2))).to(dtype)
    layers = capture(model, {"input_ids": ids(30)}).stacks["self"]
    assert [layer.status for layer in layers] == ["exact"] * 3
    for layer, reference in zip(layers, eager(model, input_ids=ids(30)), strict=True):
        assert (weights(layer) - reference[0].float()).abs().max() <= tolerance


def test_one_token_is_enough(llama: PreTrainedModel, bert: PreTrainedModel) -> None:
    for model in (llama, bert):
        layers = capture(model, {"input_ids": ids(1)}).stacks["self"]
        assert all(torch.equal(weights(layer), torch.ones(4, 1, 1)) for layer in layers)


def test_a_capture_takes_one_text(llama: PreTrainedModel) -> None:
    with pytest.raises(ConfigError, match="holds 2"):
        capture(llama, {"input_ids": ids(5).repeat(2, 1)})


def test_dropout_is_refused() -> None:
    model = LlamaForCausalLM(LlamaConfig(**WIDTHS)).train()
    with pytest.raises(ConfigError, match="eval"):
        capture(model, {"input_ids": ids(5)})


def test_queries_of_a_fused_projection_leave_its_buffer(gpt2: PreTrainedModel) -> None:
    source = capture(gpt2, {"input_ids": ids(50)}).stacks["self"][0].source
    assert isinstance(source, QueriesAndKeys)
    for tensor in (source.query, source.key):
        assert tensor.untyped_storage().nbytes() == tensor.nbytes

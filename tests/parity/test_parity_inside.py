"""Every step of every head, recomputed, equals what the model itself computed; and the heads add up to the block.

The two sides: the model's numbers are taken with plain hooks on its modules by name, ours from the pass alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from architectures import ARCHITECTURES
from tiny_random import Architecture
from torch import Tensor, nn

import tfmviz
from tfmviz.analysis.inside import check, contribution, head_stages
from tfmviz.models import Model
from tfmviz.models.catalog import catalog
from tfmviz.trace import capture, capture_inside

TOLERANCE = 1e-4
TEXTS = ("The animal didn't cross the street because it was too tired.", "word " * 50, "猫坐在垫子上。", "a")
SCRATCH = tuple(entry.name for entry in catalog() if entry.name.startswith("scratch-"))
# The module whose input is the heads side by side, and whose output is the attention block's, by its own name.
PROJECTION = {
    "gpt2": "attn.c_proj",
    "gemma2": "self_attn.o_proj",
    "gpt_oss": "self_attn.o_proj",
    "llama": "self_attn.o_proj",
    "bert": "attention.output.dense",
    "t5": "o",
    "bart": "out_proj",
    "gpt_neox": "attention.dense",
    "modernbert": "attn.Wo",
    "qwen3_next": "self_attn.o_proj",
    "olmo2": "self_attn.o_proj",
}
TINY = tuple(one for one in ARCHITECTURES if str(one) in PROJECTION)


def inputs_of(architecture: Architecture) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 95, (1, 13), generator=generator)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if architecture.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.randint(5, 95, (1, 9), generator=generator)
    return inputs


def projections(model: nn.Module, ending: str, run: Callable[[], Any]) -> dict[str, tuple[Tensor, Tensor]]:
    """Input and output of every module whose name ends so, by name."""
    seen: dict[str, tuple[Tensor, Tensor]] = {}

    def hook(name: str) -> Callable[..., None]:
        def keep(_: nn.Module, args: tuple[Tensor, ...], out: Tensor) -> None:
            seen[name] = (args[0][0].clone(), out[0].clone())

        return keep

    named = [(name, one) for name, one in model.named_modules() if f".{name}".endswith(f".{ending}")]
    handles = [one.register_forward_hook(hook(name)) for name, one in named]
    with torch.no_grad():
        run()
    for handle in handles:
        handle.remove()
    return seen


@pytest.fixture(scope="module", params=TINY, ids=str)
def tiny(request: pytest.FixtureRequest) -> tuple[Architecture, Any, dict[str, Tensor]]:
    return request.param, request.param.build(), inputs_of(request.param)


def test_heads_and_their_sum_equal_the_model_s(tiny: tuple[Architecture, Any, dict[str, Tensor]]) -> None:
    architecture, model, inputs = tiny
    theirs = projections(model, PROJECTION[str(architecture)], lambda: model(**inputs, use_cache=False))
    assert theirs
    plain, seen = capture(model, inputs), set()
    for stack, layers in plain.stacks.items():
        for index, layer in enumerate(layers):
            if layer.status != "exact":
                continue
            inside = capture_inside(model, inputs, (stack, index))
            assert inside is not None
            assert inside.projection is not None
            assert inside.projection.path in theirs
            seen.add(inside.projection.path)
            entered, block = theirs[inside.projection.path]
            ours = torch.stack([head_stages(inside, head).output for head in range(layer.n_heads)], 1)
            if inside.projection.changed == 0:
                assert (ours.flatten(1) - entered).abs().max() <= TOLERANCE
            assert (ours.transpose(0, 1) - inside.heads).abs().max() <= TOLERANCE
            summed = sum(contribution(inside, h, head_stages(inside, h)) for h in range(layer.n_heads))
            if inside.projection.bias is not None:
                summed = summed + inside.projection.bias
            assert (summed - block).abs().max() <= TOLERANCE
    assert seen == set(theirs), "a layer's output projection was taken for another's"
    assert torch.equal(capture(model, inputs).output, plain.output), "looking inside left something in the model"


def test_a_gate_between_heads_and_projection_is_reported() -> None:
    """Qwen3-Next multiplies its heads by a gate; Llama hands them on as they are."""
    changed = {}
    for architecture in (one for one in ARCHITECTURES if str(one) in ("qwen3_next", "llama")):
        model, inputs = architecture.build(), inputs_of(architecture)
        last = capture_inside(model, inputs, ("self", model.config.num_hidden_layers - 1))
        assert last is not None
        assert last.projection is not None
        changed[str(architecture)] = last.projection.changed
    assert changed["llama"] == 0
    assert changed["qwen3_next"] > 0.1


def real(name: str, request: pytest.FixtureRequest) -> Model:
    if name in ("minilm", "smollm2"):
        return request.getfixturevalue(name)
    return tfmviz.load_model(name, device="cpu", allow_download=False)


@pytest.mark.parametrize("name", ["minilm", "smollm2", *SCRATCH])
def test_every_layer_of_a_real_model(name: str, request: pytest.FixtureRequest) -> None:
    trace = real(name, request).trace(TEXTS[0])
    places = [(name, i) for name, stack in trace.stacks.items() for i in range(stack.n_layers)]
    for stack, layer in places:
        inside = trace.inside(layer, stack)
        found = check(inside, 0)
        assert inside.missing == ()
        assert found.output <= TOLERANCE
        assert found.block is not None
        assert found.block <= TOLERANCE
        assert found.row_sum <= 1e-5
        assert found.masked == 0
        assert found.output_size > 0.01


@pytest.mark.parametrize("text", TEXTS[1:], ids=("long", "chinese", "one"))
@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_other_texts(name: str, text: str, request: pytest.FixtureRequest) -> None:
    model = real(name, request)
    found = check(model.trace(text).inside(model.n_layers // 2), model.n_heads - 1)
    assert found.output <= TOLERANCE
    assert found.block is not None
    assert found.block <= TOLERANCE


@pytest.mark.parametrize("name", ["smollm2", "scratch-smollm2", "minilm"])
def test_the_stream_is_the_hidden_state_between_layers(name: str, request: pytest.FixtureRequest) -> None:
    """What the attention is added to is the layer's input, which the model reports as a hidden state."""
    model = real(name, request)
    trace = model.trace(TEXTS[0], hidden_states=True)
    assert trace.hidden_states is not None
    for layer in (0, model.n_layers // 2):
        step = trace.inside(layer).residual
        assert step is not None
        assert (step.before - trace.hidden_states[layer]).abs().max() <= 1e-5
        assert (step.before + step.update - step.after).abs().max() <= 1e-5


def test_queries_before_rotation_are_the_projection_s_output(smollm2: Model) -> None:
    """SmolLM2's q_proj gives them; turning them back by hand is the other way to the same numbers."""
    inside = smollm2.trace(TEXTS[0]).inside(3)
    assert inside.unrotated is not None
    module = smollm2._module.model.layers[3].self_attn
    kept: dict[str, Tensor] = {}
    handle = module.q_proj.register_forward_hook(lambda _, __, out: kept.update(out=out[0].clone()))
    smollm2.trace(TEXTS[0])
    handle.remove()
    n = kept["out"].shape[0]
    assert torch.equal(inside.unrotated[0], kept["out"].view(n, 9, 64).transpose(0, 1))
    theta = 1.0 / smollm2._module.config.rope_parameters["rope_theta"] ** (torch.arange(0, 64, 2) / 64)
    angle = torch.arange(n)[:, None] * theta
    a, b = inside.source.query.float().chunk(2, -1)
    back = torch.cat([a * angle.cos() + b * angle.sin(), b * angle.cos() - a * angle.sin()], -1)
    assert (back - inside.unrotated[0]).abs().max() <= 1e-4


@pytest.mark.parametrize("name", ["smollm2", "scratch-smollm2"])
def test_the_pass_ends_with_the_layer(name: str, request: pytest.FixtureRequest) -> None:
    """Nothing after the layer runs, the stream that enters it is the whole pass's, and the next pass is whole again."""
    model = real(name, request)
    before = model.trace(TEXTS[0], hidden_states=True)
    module = model._module.model.layers if name == "smollm2" else model.module.stack.blocks
    handle = module[4].register_forward_hook(lambda *_: pytest.fail("a later layer was run"))
    inside = model.look_inside("self", 3, text=TEXTS[0])
    handle.remove()
    assert inside.residual is not None
    assert torch.equal(inside.residual.before, before.hidden_states[3])
    assert torch.equal(inside.source.query, before["self"].layer(3).source.query)
    after = model.trace(TEXTS[0], hidden_states=True)
    assert all(torch.equal(a, b) for a, b in zip(before.hidden_states, after.hidden_states, strict=True))


@pytest.mark.parametrize("name", ["minilm", "smollm2", "scratch-minilm", "scratch-dates"])
def test_the_outline_is_the_trace_s_own(name: str, request: pytest.FixtureRequest) -> None:
    model = real(name, request)
    target = "2021" if name == "scratch-dates" else None
    trace, outline = model.trace(TEXTS[0], target=target), model.outline(TEXTS[0], target=target)
    assert list(outline) == list(trace.stacks)
    for stack in trace.stacks.values():
        found = outline[stack.name]
        assert (found.query_tokens, found.key_tokens) == (stack.query_tokens, stack.key_tokens)
        assert found.n_heads == tuple(layer.n_heads for layer in stack.layers)


def test_a_trace_keeps_no_values(smollm2: Model) -> None:
    trace = smollm2.trace(TEXTS[0])
    trace.inside(0)
    assert all(layer.source.value is None for layer in trace["self"].layers)
    n = len(trace.tokens)
    assert trace.memory.kept <= 30 * (9 + 3) * 64 * 4 * n * 1.05

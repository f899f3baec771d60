"""Two passes laid over each other: what was planted is found, where it was planted, and what is equal is exactly 0."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch

import tfmviz
from tfmviz.analysis.same_weights import comparable, largest_differences
from tfmviz.errors import ConfigError
from tfmviz.models import Model, ScratchModel
from tfmviz.models.scratch_load import byte_model
from tfmviz.nn import TransformerConfig, build
from tfmviz.text import Token
from tfmviz.trace import AttentionStack, LayerAttention, MemoryUse, Predictions, Trace

TEXT = "The cat sat on the mat."
TOKENS = tuple(Token(id=i, text="a", start=i, end=i + 1) for i in range(3))


def trace(weights: np.ndarray, hidden: np.ndarray, logits: np.ndarray | None = None, ids: int = 0) -> Trace:
    """A pass with these weights [layers, heads, n, n], hidden states [layers + 1, n, d] and logits."""
    tokens = tuple(Token(id=token.id + ids, text="a", start=token.start, end=token.end) for token in TOKENS)
    layers = tuple(LayerAttention.from_weights(torch.from_numpy(each)) for each in weights)
    stack = AttentionStack(name="self", query_tokens=tokens, key_tokens=tokens, layers=layers)
    told = None
    if logits is not None:
        told = Predictions(logits=torch.from_numpy(logits)[None], positions=(2,), decode=str)
    return Trace(
        text="aaa",
        model="planted",
        kind="decoder",
        tokens=tokens,
        stacks=MappingProxyType({"self": stack}),
        memory=MemoryUse.of(layers),
        hidden_states=tuple(map(torch.from_numpy, hidden)),
        predictions=told,
    )


def numbers(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    weights = draw.dirichlet(np.ones(3), size=(2, 4, 3)).astype(np.float32)
    return weights, draw.normal(size=(3, 3, 8)).astype(np.float32), draw.normal(size=11).astype(np.float32)


def small(seed: int = 1, **changes: Any) -> ScratchModel:
    fields: dict[str, Any] = {"architecture": "decoder", "vocab_size": 259, "d_model": 32, "n_heads": 4, "n_layers": 3}
    return byte_model(build(TransformerConfig(**(fields | changes)), seed=seed), name="small")


def test_what_was_planted_is_found_in_its_layer_and_nowhere_else() -> None:
    weights, hidden, logits = numbers()
    other = [numbers.copy() for numbers in (weights, hidden, logits)]
    other[0][1, 2, 0, 1] += 0.25
    other[1][2, 1, 5] -= 0.5
    other[2][7] += 2
    found = largest_differences(trace(weights, hidden, logits), trace(*other))
    assert np.abs(found.weights - [0, 0.25]).max() < 1e-6
    assert np.abs(found.hidden - [0, 0, 0.5]).max() < 1e-6
    assert found.logits == pytest.approx(2, abs=1e-6)
    assert not found.is_kept
    assert not found.is_exact


def test_equal_numbers_are_exactly_0() -> None:
    found = largest_differences(trace(*numbers()), trace(*numbers()))
    assert found.is_exact
    assert found.is_kept
    assert (found.weight, found.logits) == (0, 0)


def test_the_promise_is_of_weights_and_of_logits() -> None:
    weights, hidden, logits = numbers()
    a, bent = trace(weights, hidden, logits), logits.copy()
    bent[0] += 1e-3
    assert not largest_differences(a, trace(weights, hidden, bent)).is_kept
    assert largest_differences(a, trace(weights, hidden + 1, logits)).is_kept


@pytest.mark.parametrize("change", [1.0, float("nan")])
def test_without_logits_the_last_hidden_states_are_what_is_promised(change: float) -> None:
    weights, hidden, _ = numbers()
    moved = hidden.copy()
    moved[-1, 0, 0] += change
    assert not largest_differences(trace(weights, hidden), trace(weights, moved)).is_kept
    rounded = hidden.copy()
    rounded[-1] += 1e-6
    assert largest_differences(trace(weights, hidden), trace(weights, rounded)).is_kept


def test_a_weight_that_was_moved_shows_from_its_layer_on() -> None:
    a, b = small(), small()
    with torch.no_grad():
        b.module.stack.blocks[1].attention.query.weight[3, 5] += 0.5
    found = largest_differences(*(model.trace(TEXT, hidden_states=True) for model in (a, b)))
    assert found.weights[0] == 0
    assert found.hidden[:2].tolist() == [0, 0]
    assert (found.weights[1:] > 1e-4).all()
    assert (found.hidden[2:] > 1e-4).all()


def test_other_tokens_layers_or_widths_are_refused() -> None:
    weights, hidden, logits = numbers()
    a = trace(weights, hidden, logits)
    assert not comparable(a["self"], trace(weights, hidden, ids=5)["self"])
    with pytest.raises(ConfigError, match="the same tokens"):
        largest_differences(a, trace(weights[:1], hidden))
    with pytest.raises(ConfigError, match="one width"):
        largest_differences(a, trace(weights, hidden[:, :, :4]))
    with pytest.raises(ConfigError, match="hidden_states=True"):
        largest_differences(small().trace(TEXT), small().trace(TEXT))


def test_minilm_and_its_twin_are_two_models_that_compute_the_same(minilm: Model) -> None:
    twin = tfmviz.load_model("scratch-minilm", device="cpu", allow_download=False)
    assert isinstance(twin, ScratchModel)
    theirs = {weight.data_ptr() for weight in minilm._module.parameters()}  # type: ignore[attr-defined]
    assert theirs.isdisjoint(weight.data_ptr() for weight in twin.module.parameters())
    a = minilm.trace(TEXT, hidden_states=True)
    found = largest_differences(a, twin.trace(TEXT, hidden_states=True))
    assert found.weight <= 1e-5
    assert found.hidden.max() <= 1e-4
    with torch.no_grad():
        twin.module.stack.blocks[3].attention.key.weight[7] += 1e-2
    bent = largest_differences(a, twin.trace(TEXT, hidden_states=True))
    assert bent.weights[:3].max() <= 1e-5
    assert bent.weights[3] > 1e-4

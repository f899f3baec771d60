"""The record of one pass."""

from __future__ import annotations

import pytest
import torch
from tiny import tokens

from tfmviz.errors import OutOfRange, UnsupportedModel
from tfmviz.trace import AttentionStack, LayerAttention, MemoryUse, Predictions, Trace


def trace(predictions: Predictions | None = None) -> Trace:
    layers = (LayerAttention.from_weights(torch.eye(3)[None]),)
    stack = AttentionStack(name="self", query_tokens=tokens(3), key_tokens=tokens(3), layers=layers)
    memory = MemoryUse.of(layers)
    return Trace(
        text="abc", model="tiny", kind="decoder", tokens=tokens(3), stacks={"self": stack}, memory=memory,
        predictions=predictions,
    )  # fmt: skip


def test_a_stack_is_asked_for_by_name() -> None:
    assert trace()["self"].name == "self"
    with pytest.raises(OutOfRange, match="has: self"):
        trace()["cross"]


def test_next_tokens_come_with_their_probability_likeliest_first() -> None:
    logits = torch.tensor([[0.0, 0.0, 0.0], [1.0, 3.0, 2.0]])
    one = trace(Predictions(logits=logits, positions=(0, 2), decode="abc".__getitem__))
    share = torch.tensor([1.0, 3.0, 2.0]).exp()
    share /= share.sum()
    assert one.next_token(2) == [("b", pytest.approx(float(share[1]))), ("c", pytest.approx(float(share[2])))]
    assert one.next_token(10, position=0) == [(letter, pytest.approx(1 / 3)) for letter in "abc"]
    with pytest.raises(OutOfRange, match="position 1"):
        one.next_token(position=1)


def test_a_model_without_a_vocabulary_predicts_nothing() -> None:
    with pytest.raises(UnsupportedModel, match="tiny"):
        trace().next_token()

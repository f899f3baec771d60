"""Standing between transformers and its attention functions without being noticed."""

from __future__ import annotations

import contextvars
import threading

import pytest
import torch
from tiny import ids
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, AttentionInterface

from tfmviz.trace import capture, interception
from tfmviz.trace.layout import Layout
from tfmviz.trace.recorder import Recorder


def test_where_nobody_listens_the_function_itself_comes_back() -> None:
    interception.install()
    assert ALL_ATTENTION_FUNCTIONS.get_interface("sdpa", None) is ALL_ATTENTION_FUNCTIONS["sdpa"]


def test_it_is_put_in_place_once() -> None:
    interception.install()
    method = AttentionInterface.get_interface
    assert interception.install() == "wrapped"
    assert AttentionInterface.get_interface is method


def test_another_thread_hears_nothing_unless_it_takes_the_context_along(llama: PreTrainedModel) -> None:
    recorder = Recorder(Layout(llama).paths)

    def forward() -> None:
        with torch.no_grad():
            llama(input_ids=ids(6))

    interception.install()
    with interception.listening(recorder):
        plain = threading.Thread(target=forward)
        plain.start()
        plain.join()
        assert recorder.checked() == []
        taken_along = threading.Thread(target=contextvars.copy_context().run, args=(forward,))
        taken_along.start()
        taken_along.join()
        assert len(recorder.checked()) == 3


def test_a_wrap_that_does_not_work_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    def useless(self: AttentionInterface, name: str, default: object) -> object:
        raise KeyError(name)

    monkeypatch.setattr(AttentionInterface, "get_interface", useless)
    assert not interception._wrap()
    assert AttentionInterface.get_interface is useless


@pytest.mark.parametrize("name", ["llama", "bert", "t5"])
@pytest.mark.parametrize("padded", [False, True])
def test_the_registered_way_finds_the_same_weights(
    name: str, padded: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = request.getfixturevalue(name)
    mask = torch.ones(1, 12, dtype=torch.long)
    mask[:, :4] = 0 if padded else 1
    inputs = {"input_ids": ids(12), "attention_mask": mask}
    inputs |= {"decoder_input_ids": ids(5)} if name == "t5" else {}
    expected = capture(model, inputs)

    unwrapped = AttentionInterface.get_interface.__wrapped__
    monkeypatch.setattr(AttentionInterface, "get_interface", unwrapped)
    monkeypatch.setattr(interception, "_installed", interception._register())
    found = capture(model, inputs)
    assert model.config._attn_implementation == "sdpa"
    assert torch.equal(found.output, expected.output)
    for stack, layers in expected.stacks.items():
        for ours, theirs in zip(found.stacks[stack], layers, strict=True):
            assert ours.status == "exact"
            assert torch.equal(ours.weights(3), theirs.weights(3))

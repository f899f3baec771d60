"""How far a pass is: told after each layer, in one thread's passes alone, and ended by whoever is told."""

from __future__ import annotations

import threading

import pytest

from tfmviz.analysis.pace import layers_of, paced
from tfmviz.models import Model

TEXT = "The cat sat on the mat."


@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_each_layer_is_told_once(name: str, request: pytest.FixtureRequest) -> None:
    model: Model = request.getfixturevalue(name)
    told: list[float] = []
    with paced(model, told.append):
        model.trace(TEXT)
    assert told == pytest.approx([(i + 1) / model.n_layers for i in range(model.n_layers)])


def test_a_pass_that_ends_early_is_done_where_it_ends(smollm2: Model) -> None:
    told: list[float] = []
    with paced(smollm2, told.append, n_passes=10 / 30):
        smollm2.look_inside("self", 9, text=TEXT)
    assert told[-1] >= 0.9


def test_whoever_is_told_may_end_the_pass_and_the_model_is_as_before(minilm: Model) -> None:
    before = minilm.trace(TEXT)["self"].weights(5, 0)
    hooks = hooks_of(minilm)  # transformers has its own, once somebody has asked for hidden states

    def enough(done: float) -> None:
        if done > 0.4:
            raise TimeoutError

    with pytest.raises(TimeoutError), paced(minilm, enough):
        minilm.trace(TEXT)
    assert minilm.trace(TEXT)["self"].weights(5, 0).equal(before)
    assert hooks_of(minilm) == hooks


def test_passes_of_other_threads_are_not_counted(minilm: Model) -> None:
    told: list[float] = []
    other = threading.Thread(target=minilm.trace, args=(TEXT,))
    with paced(minilm, told.append):
        other.start()
        other.join()
    assert told == []


def hooks_of(model: Model) -> list[int]:
    """How many hooks listen to each layer."""
    with model.exclusive() as module:
        return [len(layer._forward_hooks) for layer in layers_of(module)]

"""Two people on one model never see each other's attention."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
from tiny import ids
from transformers import PreTrainedModel

from tfmviz.trace import capture, interception
from tfmviz.trace.layout import Layout
from tfmviz.trace.recorder import Recorder

N_EACH = 100
LENGTHS = (9, 14)  # one a thread: a mixed-up layer would have the wrong size


def test_two_hundred_captures_of_two_threads_never_mix(llama: PreTrainedModel) -> None:
    expected = [capture(llama, {"input_ids": ids(n, seed=n)}) for n in LENGTHS]

    def many(person: int) -> int:
        n = LENGTHS[person]
        for _ in range(N_EACH):
            found = capture(llama, {"input_ids": ids(n, seed=n)})
            assert torch.equal(found.output, expected[person].output)
            for ours, alone in zip(found.stacks["self"], expected[person].stacks["self"], strict=True):
                assert torch.equal(ours.weights(1), alone.weights(1))
        return N_EACH

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(many, (0, 1))) == 2 * N_EACH


def test_recorders_without_any_lock_never_mix(llama: PreTrainedModel) -> None:
    interception.install()
    paths = Layout(llama).paths

    def record(person: int) -> list[torch.Tensor]:
        recorder = Recorder(paths)
        with torch.no_grad(), interception.listening(recorder):
            llama(input_ids=ids(LENGTHS[person], seed=person), use_cache=False)
        return [call.layer.weights(2) for call in recorder.checked()]

    def many(person: int) -> int:
        for _ in range(N_EACH):
            found = record(person)
            assert len(found) == 3
            assert all(torch.equal(ours, alone) for ours, alone in zip(found, expected[person], strict=True))
        return N_EACH

    expected = [record(person) for person in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(many, (0, 1))) == 2 * N_EACH

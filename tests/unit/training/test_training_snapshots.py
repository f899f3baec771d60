"""Snapshots: bounded, evenly spread, exact."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tfmviz.errors import OutOfRange
from tfmviz.training import Loop, Settings, Snapshots


def test_a_snapshot_is_the_model_as_it_was(tiny: Settings) -> None:
    snapshots = Snapshots(every=4)
    loop = Loop(tiny, snapshots=snapshots)
    for _ in range(4):
        loop.advance()
    then = loop.model.tokens.weight.detach().clone()
    list(loop.steps())
    assert torch.equal(snapshots.at(4)["tokens.weight"], then)
    assert not torch.equal(snapshots.at(12)["tokens.weight"], then)
    assert snapshots.steps == (0, 4, 8, 12)


def test_the_number_is_bounded_and_first_and_latest_stay(tiny: Settings) -> None:
    snapshots = Snapshots(every=1, limit=8)
    loop = Loop(replace(tiny, n_steps=101), snapshots=snapshots)
    for report in loop.steps():
        assert len(snapshots.steps) <= 8
        assert snapshots.steps[0] == 0
        assert report.step - snapshots.steps[-1] < snapshots.every
    gaps = {b - a for a, b in zip(snapshots.steps[:-2], snapshots.steps[1:-1], strict=True)}
    assert gaps == {snapshots.every}
    assert snapshots.steps[-1] == 101


def test_the_memory_is_bounded_whatever_the_model(tiny: Settings) -> None:
    loop = Loop(tiny)
    one = sum(value.nbytes for value in loop.model.state_dict().values())
    snapshots = Snapshots(every=1, limit=100, max_bytes=5 * one)
    list(Loop(tiny, snapshots=snapshots).steps())
    assert snapshots.nbytes <= 5 * one
    assert len(snapshots.steps) >= 3


def test_a_step_without_snapshot_is_an_error_that_lists_those_there_are(tiny: Settings) -> None:
    snapshots = Snapshots(every=5)
    list(Loop(tiny, snapshots=snapshots).steps())
    with pytest.raises(OutOfRange, match=r"step 3.*0, 5, 10, 12"):
        snapshots.at(3)

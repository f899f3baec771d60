"""Trainings that take milliseconds, for tests of the machinery around them."""

from __future__ import annotations

import pytest
import torch

from tfmviz.training import Copy, Settings


@pytest.fixture(autouse=True)
def _one_core() -> None:
    """Tiny steps are slower on several cores, and much slower beside other work."""
    torch.set_num_threads(1)


@pytest.fixture
def tiny() -> Settings:
    """A training of 12 steps of a few milliseconds."""
    return Settings(task=Copy(longest=4), d_model=16, n_layers=1, n_heads=2, n_steps=12, batch_size=4, warmup_steps=3)


@pytest.fixture
def endless(tiny: Settings) -> Settings:
    """A training that no test sees the end of."""
    return Settings(task=tiny.task, d_model=16, n_layers=1, n_heads=2, n_steps=100_000, batch_size=4)

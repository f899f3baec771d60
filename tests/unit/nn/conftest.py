"""What tests of the from-scratch transformer are given; what they import lies in `nn_cases`."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor


@pytest.fixture
def tokens() -> Tensor:
    """Two texts of 9 tokens."""
    return torch.randint(0, 31, (2, 9), generator=torch.Generator().manual_seed(1))

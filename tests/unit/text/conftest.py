"""The tokenizers, made once a session."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from conftest_tokenizers import MAKERS


@pytest.fixture(scope="session")
def tokenizers() -> Callable[[str], Any]:
    """A tokenizer by name."""
    return cache(lambda name: MAKERS[name]())

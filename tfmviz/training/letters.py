"""Random words of small letters."""

from __future__ import annotations

import numpy as np


def letters(size: int, shortest: int, longest: int, rng: np.random.Generator) -> list[str]:
    """``size`` words of ``shortest`` to ``longest`` letters from a to z."""
    lengths = rng.integers(shortest, longest + 1, size)
    codes = rng.integers(ord("a"), ord("z") + 1, (size, longest), dtype=np.uint8)
    return [row[:length].tobytes().decode() for row, length in zip(codes, lengths, strict=True)]

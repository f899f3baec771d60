"""Copy: write the source again, letter by letter. The cross-attention becomes a diagonal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tfmviz.nn import AnyTransformer
from tfmviz.training.letters import letters
from tfmviz.training.pairs import Pair, batch_of, exact_match
from tfmviz.training.task import Batch, Example


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    """Random letters, to be written as they are.

    Attributes:
        shortest: fewest letters.
        longest: most.
    """

    shortest: int = 3
    longest: int = 12

    name: ClassVar[str] = "copy"
    architecture: ClassVar[Literal["encoder-decoder"]] = "encoder-decoder"
    example: ClassVar[Example] = Example(text="parrot", target="parrot")
    max_positions: ClassVar[int] = 512

    def options(self) -> Mapping[str, Any]:
        return asdict(self)

    def sample(self, size: int, rng: np.random.Generator) -> Batch:
        return batch_of(self._pairs(size, rng))

    def measure(self, model: AnyTransformer, size: int, seed: int) -> Mapping[str, float]:
        """Share of words written without a fault."""
        return {"accuracy": exact_match(model, self._pairs(size, np.random.default_rng([seed, 1])))}

    def _pairs(self, size: int, rng: np.random.Generator) -> list[Pair]:
        words = letters(size, self.shortest, self.longest, rng)
        return [Pair(source=word, target=word) for word in words]

"""Weights of a model at steps of its training, within a bounded memory."""

from __future__ import annotations

from torch import Tensor

from tfmviz.errors import OutOfRange
from tfmviz.nn import AnyTransformer

Weights = dict[str, Tensor]


class Snapshots:
    """Snapshots of weights, spread evenly from the first step to the present one.

    When the store is full every second snapshot goes and the distance between those to come doubles, so that a short
    training is seen finely and a long one still in full. The first and the latest always stay.

    Args:
        every: steps between snapshots at first.
        limit: most snapshots kept, at least 3.
        max_bytes: most memory for all of them together; a large model keeps fewer.
    """

    def __init__(self, *, every: int = 10, limit: int = 64, max_bytes: int = 64_000_000) -> None:
        self.every = every
        self.limit = limit
        self.max_bytes = max_bytes
        # Replaced, never changed: a reader in another thread holds a whole picture without a lock.
        self._kept: dict[int, Weights] = {}

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps that can be looked back at, in order."""
        return tuple(self._kept)

    @property
    def nbytes(self) -> int:
        """Memory that all snapshots take."""
        return sum(_nbytes(weights) for weights in self._kept.values())

    def at(self, step: int) -> Weights:
        """The weights as they were after a step.

        Raises:
            OutOfRange: if no snapshot was kept of it.
        """
        try:
            return self._kept[step]
        except KeyError:
            raise OutOfRange(f"No snapshot of step {step}. There are: {', '.join(map(str, self.steps))}.") from None

    def offer(self, step: int, model: AnyTransformer, *, last: bool = False) -> None:
        """Take a snapshot if one is due at this step, or if it is the last."""
        if last or step % self.every == 0:
            self.take(step, model)

    def take(self, step: int, model: AnyTransformer) -> None:
        """Take a snapshot now."""
        weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
        kept = {**self._kept, step: weights}
        room = max(3, min(self.limit, self.max_bytes // max(1, _nbytes(weights))))
        while len(kept) > room:
            self.every *= 2
            kept = {at: w for at, w in kept.items() if at % self.every == 0 or at == step}
        self._kept = kept

    def clear(self) -> None:
        """Forget all."""
        self._kept = {}


def _nbytes(weights: Weights) -> int:
    return sum(value.nbytes for value in weights.values())

"""Keys and values of tokens already read, so that generation computes each of them once."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.nn.recording import StackName

KeyValue = tuple[Float[Tensor, "b kv n d"], Float[Tensor, "b kv n d"]]


@dataclass(slots=True)
class KeyValueCache:
    """One entry for every attention layer. A fresh cache is empty; a forward pass fills it.

    Attributes:
        length: tokens read so far; the position of the next one.
    """

    length: int = 0
    entries: dict[tuple[StackName, int], KeyValue] = field(default_factory=dict)

    def extend(self, stack: StackName, layer: int, key: Tensor, value: Tensor) -> KeyValue:
        """Append the keys and values of new tokens to a layer and return all it holds."""
        if (stack, layer) in self.entries:
            old_key, old_value = self.entries[stack, layer]
            key, value = torch.cat([old_key, key], dim=2), torch.cat([old_value, value], dim=2)
        self.entries[stack, layer] = key, value
        return key, value

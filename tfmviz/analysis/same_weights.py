"""Two passes that should be one: the largest difference of attention, hidden states and logits, layer by layer.

Nothing here rounds or forgives. A difference of exactly 0 means that two passes gave the same bits, which two
implementations do where they hand the same numbers to the same kernels in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from tfmviz.errors import ConfigError

if TYPE_CHECKING:
    from tfmviz.trace import AttentionStack, Trace

# What this package promises of its own models in float32, against the same weights in transformers.
MOST_WEIGHT, MOST_LOGIT = 1e-5, 1e-4


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LargestDifferences:
    """What two passes differ by at most, as absolute numbers.

    Attributes:
        weights: of any attention weight, by layer; NaN for a layer without attention.
        hidden: of any number of the hidden states, after the embedding and after each layer.
        logits: of any logit that both foretell; None where one of them foretells nothing.
    """

    weights: Float[np.ndarray, " layers"]
    hidden: Float[np.ndarray, " layers_and_embedding"]
    logits: float | None

    @property
    def weight(self) -> float:
        """The largest of all layers."""
        return float(np.nanmax(self.weights, initial=0))

    @property
    def is_kept(self) -> bool:
        """Whether the promise holds: ``MOST_WEIGHT`` for weights, ``MOST_LOGIT`` for what the models give out.

        That is their logits, and the last hidden states where nothing is foretold: a change in the last layer of an
        encoder shows in no weight. What is no number keeps no promise.
        """
        given = float(self.hidden[-1]) if self.logits is None else self.logits
        return self.weight <= MOST_WEIGHT and given <= MOST_LOGIT

    @property
    def is_exact(self) -> bool:
        """Whether no bit differs."""
        return self.weight == 0 and not self.hidden.any() and not self.logits


def comparable(a: AttentionStack, b: AttentionStack) -> bool:
    """Whether two stacks read the same tokens in the same number of layers and heads."""
    same_tokens = [token.id for token in a.query_tokens] == [token.id for token in b.query_tokens]
    return same_tokens and [layer.n_heads for layer in a.layers] == [layer.n_heads for layer in b.layers]


def largest_differences(a: Trace, b: Trace) -> LargestDifferences:
    """Compare two passes number by number.

    Args:
        a, b: traced with ``hidden_states=True``, of models with the same layers, heads and width, on the same tokens.

    Raises:
        ConfigError: if they cannot be compared so.
    """
    name = next(iter(a.stacks))
    if name not in b.stacks or not comparable(a[name], b[name]):
        raise ConfigError("Only two passes over the same tokens, in as many layers and heads, differ number by number.")
    if a.hidden_states is None or b.hidden_states is None:
        raise ConfigError("Hidden states were not kept: trace both texts with hidden_states=True.")
    shapes = [[tuple(each.shape) for each in states] for states in (a.hidden_states, b.hidden_states)]
    if shapes[0] != shapes[1]:
        raise ConfigError(
            f"The hidden states have shapes {shapes[0][-1]} and {shapes[1][-1]}: only two models of one width differ "
            "number by number."
        )
    hidden = [float((x.float() - y.float()).abs().max()) for x, y in zip(a.hidden_states, b.hidden_states, strict=True)]
    weights = [_of_layer(a[name], b[name], layer) for layer in range(a[name].n_layers)]
    return LargestDifferences(weights=np.array(weights), hidden=np.array(hidden), logits=_of_logits(a, b))


def _of_layer(a: AttentionStack, b: AttentionStack, layer: int) -> float:
    heads = range(a.layer(layer).n_heads)
    return max(
        (float((a.weights(layer, head) - b.weights(layer, head)).abs().max()) for head in heads), default=float("nan")
    )


def _of_logits(a: Trace, b: Trace) -> float | None:
    first, second = a.predictions, b.predictions
    if first is None or second is None or first.logits.shape != second.logits.shape:
        return None
    return float((first.logits.float() - second.logits.float()).abs().max())

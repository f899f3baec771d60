"""What depth does to a transformer that has not learnt yet: sizes of activations and gradients, layer by layer.

Where the norm stands decides both. In post-norm every sub-layer's sum is normed, so activations keep their size and the
gradient that reaches a layer depends on how far it is from the loss; in pre-norm the stream runs through untouched, so
activations grow with depth and gradients stay alike.

Source: Xiong et al. 2020, "On layer normalization in the transformer architecture".
Shapes: b texts, n tokens, L layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tfmviz.errors import ConfigError
from tfmviz.nn import Recording, Transformer, TransformerConfig

Order = Literal["pre-norm", "post-norm"]
DEPTHS = (2, 4, 6, 12, 24, 48, 96)
WIDTH, HEADS, VOCABULARY = 64, 4, 64
BATCH, LENGTH = 4, 32


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthProfile:
    """One model at its first weights, on one batch.

    Attributes:
        order: where the norm stands.
        n_layers: L.
        activation: root mean square of the numbers in the residual stream, after the embedding and after each block,
            [L + 1].
        gradient: length of the loss's gradient with respect to all weights of a block, [L].
        loss: mean cross-entropy of the next token, in nats.
    """

    order: Order
    n_layers: int
    activation: Float[np.ndarray, " layers_and_one"]
    gradient: Float[np.ndarray, " layers"]
    loss: float

    @property
    def gradient_ratio(self) -> float:
        """The last block's gradient over the first one's."""
        return float(self.gradient[-1] / self.gradient[0])

    @property
    def growth(self) -> float:
        """How many times larger activations leave the last block than they entered the first."""
        return float(self.activation[-1] / self.activation[0])


def config(order: Order, n_layers: int) -> TransformerConfig:
    """A narrow decoder of so many layers; everything but the place of the norm is the same.

    Raises:
        ConfigError: if ``n_layers`` is not within the depths of the page.
    """
    if not DEPTHS[0] <= n_layers <= DEPTHS[-1]:
        raise ConfigError(f"n_layers={n_layers} is out of bounds. Use {DEPTHS[0]} to {DEPTHS[-1]}.")
    return TransformerConfig(
        architecture="decoder",
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        n_heads=HEADS,
        n_layers=n_layers,
        block=order,
        position="sinusoidal",
        embedding_scale=WIDTH**0.5,
    )


def batch(seed: int) -> Int[Tensor, "b n_and_one"]:
    """Random tokens: what matters here does not depend on what they say."""
    return torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=torch.Generator().manual_seed(seed))


def profile(order: Order, n_layers: int, seed: int) -> DepthProfile:
    """Build a model from a seed, run it forward and backward once, and measure every layer.

    Raises:
        ConfigError: if ``n_layers`` is not within the depths of the page.
    """
    model = Transformer(config(order, n_layers), seed=seed)
    tokens = batch(seed)
    recording = Recording()
    logits = model(tokens[:, :-1], recording=recording)
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    activation = [float(x.detach().square().mean().sqrt()) for x in recording.hidden["self"]]
    loss.backward()
    return DepthProfile(
        order=order,
        n_layers=n_layers,
        activation=np.array(activation, np.float32),
        gradient=np.array([_gradient_norm(block) for block in model.stack.blocks], np.float32),
        loss=loss.item(),
    )


def _gradient_norm(module: nn.Module) -> float:
    squares = [parameter.grad.square().sum() for parameter in module.parameters() if parameter.grad is not None]
    return float(torch.stack(squares).sum().sqrt())


def last_gradient_law(measured: dict[int, float], order: Order) -> dict[int, float]:
    """What theory predicts for the last block's gradient, from the value at the smallest depth on.

    Pre-norm: it falls as 1 / √L. Post-norm: it does not depend on the depth (Xiong et al. 2020, theorem 1).

    Args:
        measured: the last block's gradient, by depth.
        order: where the norm stands.
    """
    first = min(measured)
    power = 0.5 if order == "pre-norm" else 0.0
    return {depth: measured[first] * (first / depth) ** power for depth in sorted(measured)}

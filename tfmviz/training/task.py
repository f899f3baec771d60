"""What the loop needs to know of a task: batches to learn from, and numbers that say whether it was learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tfmviz.errors import ConfigError
from tfmviz.nn import AnyTransformer, EncoderDecoder, Transformer
from tfmviz.text.byte_vocabulary import ByteVocabulary

VOCABULARY = ByteVocabulary()
IGNORED = -100
"""The label of a token that nobody could predict, such as the first copy of a random sequence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Texts to learn from, and what should come next in them.

    Attributes:
        tokens: what the decoder reads, [b, n].
        labels: the token that should follow each, [b, n]; `IGNORED` where it does not count.
        source: what the encoder reads, [b, m]; None for a task with a decoder only.
        visible: False where the source is padding, [b, m].
    """

    tokens: Int[Tensor, "b n"]
    labels: Int[Tensor, "b n"]
    source: Int[Tensor, "b m"] | None = None
    visible: Bool[Tensor, "b m"] | None = None

    def to(self, device: str) -> Batch:
        """The same batch on another device."""
        source, visible = self.source, self.visible
        return Batch(
            tokens=self.tokens.to(device),
            labels=self.labels.to(device),
            source=None if source is None else source.to(device),
            visible=None if visible is None else visible.to(device),
        )

    def hidden(self, model: AnyTransformer) -> Float[Tensor, "b n d_model"]:
        """The model's last hidden states at every token the decoder reads."""
        if self.source is None:
            return one_stack(model).hidden(self.tokens)
        memory = two_stacks(model).encode(self.source, visible=self.visible)
        return two_stacks(model).decode(self.tokens, memory, visible=self.visible)


def one_stack(model: AnyTransformer) -> Transformer:
    """The model, if it can read the texts of a task without a source.

    Raises:
        ConfigError: if it is an encoder-decoder.
    """
    if isinstance(model, Transformer):
        return model
    raise ConfigError("This task is for architecture='decoder', and the model is an encoder-decoder.")


def two_stacks(model: AnyTransformer) -> EncoderDecoder:
    """The model, if it can read a source and write a target.

    Raises:
        ConfigError: if it has one stack.
    """
    if isinstance(model, EncoderDecoder):
        return model
    raise ConfigError(
        f"This task is for an encoder-decoder, and the model is of architecture={model.config.architecture!r}."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A text to watch the attention on while it forms.

    Attributes:
        text: what the model reads.
        target: what an encoder-decoder should write; None for a decoder.
    """

    text: str
    target: str | None = None


class Task(Protocol):
    """Something to learn. A task is a frozen dataclass: its fields are its options and go into a checkpoint's card."""

    @property
    def name(self) -> str:
        """The name in the registry."""

    @property
    def architecture(self) -> Literal["decoder", "encoder-decoder"]:
        """The kind of model that the task is for."""

    @property
    def example(self) -> Example:
        """A text that shows the task."""

    @property
    def max_positions(self) -> int:
        """The longest sequence, in tokens, that a model of this task is meant for."""

    def sample(self, size: int, rng: np.random.Generator) -> Batch:
        """Draw ``size`` texts to learn from. The generator decides every draw."""

    def measure(self, model: AnyTransformer, size: int, seed: int) -> Mapping[str, float]:
        """How well a model does on ``size`` texts that training never draws: named numbers, "accuracy" first."""

    def options(self) -> Mapping[str, Any]:
        """The fields, fit for JSON."""

"""What one text leaves behind after one pass through a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.errors import NoAttention, OutOfRange, UnsupportedModel
from tfmviz.text import Token
from tfmviz.trace.inside import LayerInside
from tfmviz.trace.memory import MemoryUse
from tfmviz.trace.stack import AttentionStack


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Predictions:
    """What the model says about some positions.

    Attributes:
        logits: [positions, vocabulary], on the CPU.
        positions: the token each row stands at: a decoder's row foretells the next token, a masked language model's
            row the token itself.
        decode: spells a vocabulary id as a reader would.
    """

    logits: Float[Tensor, "positions vocabulary"]
    positions: tuple[int, ...]
    decode: Callable[[int], str]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Trace:
    """One forward pass: the tokens and where each of them looked.

    Attributes:
        text: what was typed.
        pair: the second sentence, if there was one.
        target: the decoder's text, in an encoder-decoder.
        model: the model's name.
        kind: ``"encoder"``, ``"decoder"`` or ``"encoder-decoder"``.
        tokens: of the text (and the pair); the encoder's side of an encoder-decoder.
        target_tokens: of the target; empty but in an encoder-decoder.
        stacks: ``"self"``, or ``"encoder"``, ``"decoder"``, ``"cross"``.
        memory: bytes kept, and bytes that all weights would take.
        hidden_states: [layers + 1] of [n, d_model] of ``tokens``, on request.
        target_hidden_states: the same of ``target_tokens``.
        predictions: what the model foretells; None for a model without a vocabulary to speak.
        revisit: looks closely at a layer of a stack, in one more pass; holds the model. None where the model is gone.
    """

    text: str
    pair: str | None = None
    target: str | None = None
    model: str
    kind: str
    tokens: tuple[Token, ...]
    target_tokens: tuple[Token, ...] = ()
    stacks: Mapping[str, AttentionStack]
    memory: MemoryUse
    hidden_states: tuple[Float[Tensor, "n d_model"], ...] | None = None
    target_hidden_states: tuple[Float[Tensor, "n d_model"], ...] | None = None
    predictions: Predictions | None = None
    revisit: Callable[[str, int], LayerInside] | None = None

    def __getitem__(self, name: str) -> AttentionStack:
        """The stack of this name.

        Raises:
            OutOfRange: if there is none; the sentence says which there are.
        """
        if name not in self.stacks:
            raise OutOfRange(f"No stack {name!r}. This trace has: {', '.join(self.stacks)}.")
        return self.stacks[name]

    def inside(self, layer: int, stack: str | None = None) -> LayerInside:
        """One layer in full: values, the heads' outputs, output projection and residual stream.

        A trace keeps none of this: the model reads the text once more, as far as the layer.

        Args:
            layer: from 0.
            stack: None for the first: "self", or "encoder" in an encoder-decoder.

        Raises:
            OutOfRange: if there is no such stack or layer.
            NoAttention: if the layer has no attention, or is not known from queries, keys and values.
        """
        name = next(iter(self.stacks)) if stack is None else stack
        self[name].layer(layer)
        if self.revisit is None:
            raise NoAttention("The model of this trace has been let go, so its layers cannot be looked into any more.")
        return self.revisit(name, layer)

    def next_token(self, k: int = 10, *, position: int | None = None) -> list[tuple[str, float]]:
        """The ``k`` likeliest tokens with their probabilities, likeliest first.

        Args:
            k: how many.
            position: which of ``predictions.positions``; None for the last of them: a decoder's next token, an
                encoder's last masked position.

        Raises:
            UnsupportedModel: if the model foretells nothing.
            OutOfRange: if there is no prediction at ``position``.
        """
        if k < 1:
            raise OutOfRange(f"k={k} tokens were asked for. Ask for 1 or more.")
        told = self.predictions
        if told is None:
            raise UnsupportedModel(f"{self.model} has no vocabulary head, so it predicts no tokens.")
        if position is not None and position not in told.positions:
            raise OutOfRange(f"No prediction at position {position}. There are some at: {told.positions}.")
        row = told.logits[-1 if position is None else told.positions.index(position)]
        probabilities, ids = torch.softmax(row.float(), -1).topk(min(k, row.numel()))
        return [(told.decode(int(i)), float(p)) for p, i in zip(probabilities, ids, strict=True)]

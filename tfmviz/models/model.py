"""What every model can do, wherever its weights come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tfmviz.models.catalog import Kind
from tfmviz.text import Token

if TYPE_CHECKING:
    from tfmviz.trace import LayerInside, Trace

Ablation = tuple[tuple[int, int], ...]
# Which tokens are the rows and which the columns of a stack: those of the text (0) or the decoder's (1).
SIDES = {"self": (0, 0), "encoder": (0, 0), "decoder": (1, 1), "cross": (1, 0)}


@dataclass(frozen=True, kw_only=True, slots=True)
class StackOutline:
    """A stack that a trace of some text will have.

    Attributes:
        name: "self", or "encoder", "decoder", "cross".
        query_tokens: the tokens that look.
        key_tokens: the tokens that are looked at.
        n_heads: heads of each layer; 0 without attention.
    """

    name: str
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    n_heads: tuple[int, ...]

    @property
    def n_layers(self) -> int:
        """Layers, with those that have no attention."""
        return len(self.n_heads)


class Model(ABC):
    """A model that can be asked where its heads look.

    One model serves many threads: its passes run one at a time, and no pass sees another's text.

    Attributes:
        name: what it is called on screen.
        kind: "encoder", "decoder" or "encoder-decoder".
        n_layers: layers, with those that have no attention; of the decoder in an encoder-decoder.
        n_heads: query heads of a layer; of the layer that has most, where layers differ.
        n_kv_heads: key heads of a layer.
        d_model: width between the layers.
        max_tokens: the most tokens it takes, special tokens included; None where nothing limits them.
        device: where it computes: "cpu", "cuda:0", "mps".
        n_parameters: its weights, shared ones counted once.
        end_id: the token with which it ends a text; None where it has none.
    """

    name: str
    kind: Kind
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_model: int
    max_tokens: int | None
    device: str
    n_parameters: int
    end_id: int | None

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[Any]:
        """The torch module itself, in inference mode, with nobody else running it meanwhile: for a single pass."""

    @abstractmethod
    def text_of(self, ids: Sequence[int]) -> str:
        """The text that vocabulary numbers stand for, in one piece; special tokens by their names."""

    @abstractmethod
    def tokenize(self, text: str, pair: str | None = None, target: str | None = None) -> tuple[Token, ...]:
        """The tokens that ``trace(text, pair)`` would have, without a pass.

        Args:
            text: what was typed.
            pair: a second sentence, for models that take one.
            target: if given, the decoder's tokens of this text are returned in place of the encoder's.

        Returns:
            All of them, however long the text: nothing is cut, and nothing is refused for its length.
        """

    @abstractmethod
    def outline(self, text: str, pair: str | None = None, target: str | None = None) -> Mapping[str, StackOutline]:
        """What ``trace`` would be about, without a pass: its stacks, their tokens and heads.

        Args:
            text, pair, target: as for :meth:`trace`.

        Raises:
            EmptyText, TextTooLong, ConfigError: as for :meth:`trace`.
        """

    @abstractmethod
    def trace(
        self,
        text: str,
        pair: str | None = None,
        target: str | None = None,
        mask: str | None = None,
        pad_to: int | None = None,
        ablate: Ablation = (),
        hidden_states: bool = False,
        pad_side: Literal["left", "right"] | None = None,
        hide_padding: bool = True,
    ) -> Trace:
        """Run the model on a text and keep where every head looked.

        Args:
            text: what was typed.
            pair: a second sentence; encoders and encoder-decoders only.
            target: the decoder's text; encoder-decoders only. None: the decoder has its start token and nothing else.
            mask: None for the model's own mask, or the name of a rule, which only from-scratch models take.
            pad_to: fill the text with padding up to this many tokens.
            ablate: ``(layer, head)`` pairs whose output is set to zero; of the encoder in an encoder-decoder.
            hidden_states: also keep what leaves each layer.
            pad_side: where the padding goes; None for the tokenizer's own side.
            hide_padding: whether the model is told which tokens are padding; False lets it read them like any other.

        Raises:
            EmptyText: if nothing is left of the text once tokenized.
            TextTooLong: if it has more tokens than the model takes; says where to cut it.
            UnknownMask: if the model cannot run under this mask.
            NotEnoughMemory: if the pass is predicted not to fit.
            OutOfRange: if ``ablate`` names what this model does not have.
            ConfigError: if the arguments do not go together.
        """

    @abstractmethod
    def look_inside(
        self,
        stack: str,
        layer: int,
        *,
        text: str,
        pair: str | None = None,
        target: str | None = None,
        mask: str | None = None,
        pad_to: int | None = None,
        ablate: Ablation = (),
        pad_side: Literal["left", "right"] | None = None,
        hide_padding: bool = True,
    ) -> LayerInside:
        """Run the model as far as one layer and keep that in full: values, heads' outputs, projection, residual stream.

        Args:
            stack: "self", or "encoder", "decoder", "cross".
            layer: from 0.
            text, pair, target, mask, pad_to, ablate, pad_side, hide_padding: as for :meth:`trace`.

        Raises:
            OutOfRange: if there is no such stack or layer.
            NoAttention: if the layer has no attention, or is not known from queries, keys and values.
            EmptyText, TextTooLong, UnknownMask, NotEnoughMemory, ConfigError: as for :meth:`trace`.
        """

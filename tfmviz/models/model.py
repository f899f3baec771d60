"""What every model can do, wherever its weights come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

from tfmviz.errors import NoAttention
from tfmviz.models.catalog import Kind
from tfmviz.text import Token

if TYPE_CHECKING:
    from tfmviz.trace import LayerInside, Trace

Ablation = tuple[tuple[int, int], ...]
# A layer of a stack.
Place = tuple[str, int]


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
        inside: Place | None = None,
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
            inside: ``(stack, layer)``: also look closely at this layer, for ``Trace.inside`` to have it at hand.

        Raises:
            EmptyText: if nothing is left of the text once tokenized.
            TextTooLong: if it has more tokens than the model takes; says where to cut it.
            UnknownMask: if the model cannot run under this mask.
            NotEnoughMemory: if the pass is predicted not to fit.
            OutOfRange: if ``ablate`` or ``inside`` names what this model does not have.
            ConfigError: if the arguments do not go together.
        """

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
        """Run the model on a text and keep one layer in full: values, outputs of heads, projection, residual stream.

        Args:
            stack: "self", or "encoder", "decoder", "cross".
            layer: from 0.
            text, pair, target, mask, pad_to, ablate, pad_side, hide_padding: as for :meth:`trace`.

        Raises:
            OutOfRange: if there is no such stack or layer.
            NoAttention: if the layer has no attention, or is not known from queries, keys and values.
            EmptyText, TextTooLong, UnknownMask, NotEnoughMemory, ConfigError: as for :meth:`trace`.
        """
        made = self.trace(
            text,
            pair,
            target,
            mask=mask,
            pad_to=pad_to,
            ablate=ablate,
            pad_side=pad_side,
            hide_padding=hide_padding,
            inside=(stack, layer),
        )
        if (stack, layer) not in made.looked_into:
            raise NoAttention(
                f"Layer {layer} of {self.name} ({made[stack].status(layer)}) does not hand out its queries, keys and "
                "values one by one, so its steps cannot be shown. Explore shows its weights."
            )
        return made.looked_into[stack, layer]

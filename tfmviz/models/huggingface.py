"""A pretrained model of transformers, asked for its attention."""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import torch
from torch import Tensor

from tfmviz.errors import NoAttention, OutOfRange, UnknownMask
from tfmviz.models.inputs import InputMaker, ModelInputs
from tfmviz.models.limits import max_tokens
from tfmviz.models.loading import Loaded
from tfmviz.models.memory import predicted_bytes, room_for
from tfmviz.models.model import SIDES, Ablation, Model, StackOutline
from tfmviz.models.shapes import first_pass, pass_shape, stack_shapes
from tfmviz.models.speaking import speaking_at
from tfmviz.text import Speller, Token
from tfmviz.trace import (
    AttentionStack,
    Capture,
    LayerInside,
    MemoryUse,
    Predictions,
    Trace,
    capture,
    capture_inside,
)

_FIRST_TEXT = "The cat sat on the mat."


class HuggingFaceModel(Model):
    """Encoder-only, decoder-only or encoder-decoder, as it was trained: its mask is its own.

    A pass of a few tokens is made at once. It shows how many layers and heads there are, and that there is attention.

    Args:
        loaded: module and tokenizer.
        name: what to call it.

    Raises:
        UnsupportedModel: if the pass fails or no layer has attention.
    """

    def __init__(self, loaded: Loaded, *, name: str) -> None:
        self._module, self._tokenizer, self._has_head = loaded.module, loaded.tokenizer, loaded.has_head
        self._lock = threading.Lock()
        self._accepts = frozenset(inspect.signature(self._module.forward).parameters)
        self.name, self.kind = name, loaded.kind
        self.max_tokens = max_tokens(self._module, self._tokenizer)
        self.device = str(self._module.device)
        self.n_parameters = sum(weight.numel() for weight in self._module.parameters())
        self._inputs = InputMaker(
            tokenizer=self._tokenizer,
            kind=self.kind,
            name=name,
            max_tokens=self.max_tokens,
            start_id=_start_id(self._module),
            accepts=self._accepts,
            n_embeddings=self._module.get_input_embeddings().num_embeddings,
        )
        self.end_id = self._inputs.end_id
        self._spell = Speller(self._tokenizer)
        self._shape = pass_shape(self._module, has_head=self._has_head)
        self.d_model = self._shape.d_model
        with torch.inference_mode():
            first = self._inputs.make(_FIRST_TEXT, None, None, None, None, self._module.device)
            stacks = first_pass(self._module, first.tensors, name)
        self._stacks = stack_shapes(self._module, stacks)
        self._heads = {name: tuple(layer.n_heads for layer in layers) for name, layers in stacks.items()}
        main = self._stacks.get("self") or self._stacks["decoder"]
        self.n_layers, self.n_heads, self.n_kv_heads = main.n_layers, main.n_heads, main.n_kv_heads

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[Any]:
        """See :meth:`Model.exclusive`."""
        with self._lock, torch.inference_mode():
            yield self._module

    def text_of(self, ids: Sequence[int]) -> str:
        """See :meth:`Model.text_of`."""
        return self._inputs.text_of(ids)

    def tokenize(self, text: str, pair: str | None = None, target: str | None = None) -> tuple[Token, ...]:
        """See :meth:`Model.tokenize`."""
        if target is not None:
            return self._inputs.encode_target(target).tokens
        return self._inputs.encode(text, pair).tokens

    def outline(self, text: str, pair: str | None = None, target: str | None = None) -> Mapping[str, StackOutline]:
        """See :meth:`Model.outline`."""
        inputs = self._inputs.make(text, pair, target, None, None, "cpu")
        sides = (inputs.tokens, inputs.target_tokens)
        return {
            name: StackOutline(
                name=name, query_tokens=sides[SIDES[name][0]], key_tokens=sides[SIDES[name][1]], n_heads=heads
            )
            for name, heads in self._heads.items()
        }

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
        """See :meth:`Model.trace`."""
        self._check_mask(mask)
        self._check_ablation(ablate)
        inputs = self._inputs.make(text, pair, target, pad_to, pad_side, self._module.device, hide_padding=hide_padding)
        positions = self._predicted_positions(inputs)
        with self._pass(inputs, positions, hidden_states=hidden_states) as (tensors, cut):
            seen = capture(self._module, tensors, ablate=ablate, hidden_states=hidden_states)
            logits = (seen.output[0] if cut else seen.output[0, list(positions)]).float().cpu() if positions else None
        predictions = None
        if logits is not None:
            predictions = Predictions(logits=logits, positions=positions, decode=self._spell)
        given: dict[str, Any] = {
            "pad_to": pad_to,
            "ablate": ablate,
            "pad_side": pad_side,
            "hide_padding": hide_padding,
        }
        revisit = partial(self.look_inside, text=text, pair=pair, target=target, **given)
        return replace(self._trace((text, pair, target), inputs, seen, predictions), revisit=revisit)

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
        """See :meth:`Model.look_inside`."""
        self._check_mask(mask)
        self._check_ablation(ablate)
        self._check_layer(stack, layer)
        inputs = self._inputs.make(text, pair, target, pad_to, pad_side, self._module.device, hide_padding=hide_padding)
        positions = self._predicted_positions(inputs)
        with self._pass(inputs, positions, hidden_states=True) as (tensors, _):
            found = capture_inside(self._module, tensors, (stack, layer), ablate=ablate)
        if found is None:
            status = self.trace(text, pair, target)[stack].status(layer)
            raise NoAttention(
                f"Layer {layer} of {self.name} ({status}) does not hand out its queries, keys and values one by one, "
                "so its steps cannot be shown. Explore shows its weights."
            )
        return found

    def weight(self, endings: tuple[str, ...]) -> Tensor | None:
        """The first weight whose name ends in one of these, float32 on the CPU; None where there is none."""
        found = (weight for name, weight in self._module.named_parameters() if f".{name}".endswith(endings))
        weight = next(found, None)
        return None if weight is None else weight.detach().float().cpu()

    def _check_mask(self, mask: str | None) -> None:
        if mask is not None:
            raise UnknownMask(
                f"{self.name} was trained under its own mask and cannot be run under {mask!r}. Masks can be tried on "
                "the models written from scratch."
            )

    def _check_layer(self, stack: str, layer: int) -> None:
        if stack not in self._stacks:
            raise OutOfRange(f"No stack {stack!r} in {self.name}. It has: {', '.join(self._stacks)}.")
        if not 0 <= layer < (n := self._stacks[stack].n_layers):
            raise OutOfRange(f"Layer {layer} was asked for, and {self.name} has {n}: 0 to {n - 1}.")

    def _check_ablation(self, ablate: Ablation) -> None:
        first = next(iter(self._stacks.values()))
        for layer, head in ablate:
            if not (0 <= layer < first.n_layers and 0 <= head < first.n_heads):
                raise OutOfRange(
                    f"There is no head {head} in layer {layer} of {self.name}: it has layers 0 to {first.n_layers - 1} "
                    f"and heads 0 to {first.n_heads - 1}."
                )

    def _needed_bytes(self, inputs: ModelInputs, n_logits: int, *, hidden_states: bool) -> int:
        lengths = (len(inputs.tokens), len(inputs.target_tokens))
        stacks = {
            name: (shape, lengths[SIDES[name][0]], lengths[SIDES[name][1]]) for name, shape in self._stacks.items()
        }
        return predicted_bytes(
            self._shape,
            stacks,
            n_logits=n_logits if self._speaks_in_part() else max(lengths),
            padded=any(token.is_padding for token in inputs.tokens),
            hidden_states=hidden_states,
        )

    def _predicted_positions(self, inputs: ModelInputs) -> tuple[int, ...]:
        """Where the model is asked to speak: a decoder's last token, an encoder's masked ones, or else its last."""
        if not self._has_head:
            return ()
        if self.kind == "encoder-decoder":
            return (len(inputs.target_tokens) - 1,)
        real = [i for i, token in enumerate(inputs.tokens) if not token.is_padding]
        if self.kind == "decoder":
            return (real[-1],)
        masked = tuple(i for i in real if inputs.tokens[i].id == self._tokenizer.mask_token_id)
        return masked or tuple(i for i in real if not inputs.tokens[i].is_special)[-1:]

    def _speaks_in_part(self) -> bool:
        """Whether logits can be had for some positions only."""
        return "logits_to_keep" in self._accepts or self._module.base_model is not self._module

    @contextlib.contextmanager
    def _pass(
        self, inputs: ModelInputs, positions: tuple[int, ...], *, hidden_states: bool
    ) -> Iterator[tuple[dict[str, Tensor], bool]]:
        """Have the model alone, and the memory that a pass is predicted to take; see :func:`speaking_at`."""
        needed = self._needed_bytes(inputs, len(positions), hidden_states=hidden_states)
        room = room_for(needed, self._module.device, what=f"{len(inputs.tokens):,} tokens in {self.name}")
        takes = "logits_to_keep" in self._accepts
        only = speaking_at(self._module, inputs.tensors, positions, takes_positions=takes)
        with self._lock, room, torch.inference_mode(), only as given:
            yield given

    def _trace(
        self,
        typed: tuple[str, str | None, str | None],
        inputs: ModelInputs,
        seen: Capture,
        predictions: Predictions | None,
    ) -> Trace:
        sides = (inputs.tokens, inputs.target_tokens)
        stacks = {
            name: AttentionStack(
                name=name, query_tokens=sides[SIDES[name][0]], key_tokens=sides[SIDES[name][1]], layers=layers
            )
            for name, layers in seen.stacks.items()
        }
        text, pair, target = typed
        return Trace(
            text=text,
            pair=pair or None,
            target=target,
            model=self.name,
            kind=self.kind,
            tokens=inputs.tokens,
            target_tokens=inputs.target_tokens,
            stacks=MappingProxyType(stacks),
            memory=MemoryUse.of(layer for stack in stacks.values() for layer in stack.layers),
            hidden_states=seen.hidden_states.get("self") or seen.hidden_states.get("encoder"),
            target_hidden_states=seen.hidden_states.get("decoder"),
            predictions=predictions,
        )


def _start_id(module: Any) -> int | None:
    """The token with which the decoder of an encoder-decoder starts."""
    for config in (module.config, getattr(module, "generation_config", None)):
        start = getattr(config, "decoder_start_token_id", None)
        start = getattr(config, "bos_token_id", None) if start is None else start
        if isinstance(start, int):
            return start
    return None

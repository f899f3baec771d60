"""The transformer written here, asked for its attention like any pretrained model, and under any mask."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.errors import NoAttention, OutOfRange
from tfmviz.models.inputs import ModelInputs
from tfmviz.models.memory import room_for
from tfmviz.models.model import SIDES, Ablation, Model, StackOutline
from tfmviz.models.scratch_inside import InsideRecording
from tfmviz.models.scratch_pass import ScratchPass
from tfmviz.models.scratch_record import TraceRecording
from tfmviz.models.scratch_text import ByteText, PretrainedText
from tfmviz.nn import AnyTransformer, StackName, parse, use_form
from tfmviz.text import Token
from tfmviz.trace import AttentionStack, LayerInside, MemoryUse, Predictions, Trace

_FIRST_STACK: dict[str, StackName] = {"encoder": "self", "decoder": "self", "encoder-decoder": "encoder"}


class ScratchModel(Model):
    """A transformer of :mod:`tfmviz.nn` with what it needs to read texts.

    Args:
        module: in ``eval()``, on its device.
        texts: how it reads.
        name: what to call it.

    Attributes:
        module: the transformer itself.
    """

    def __init__(self, module: AnyTransformer, texts: PretrainedText | ByteText, *, name: str) -> None:
        config = module.config
        self.module = module
        self._texts = texts
        self._lock = threading.Lock()
        self._device = module.tokens.weight.device
        self.name, self.kind = name, config.architecture
        self.n_layers = config.n_decoder_layers or config.n_layers
        self.n_heads, self.n_kv_heads, self.d_model = config.n_heads, config.n_kv_heads, config.d_model
        self.max_tokens = texts.max_tokens
        self.device = str(self._device)
        self.n_parameters = sum(weight.numel() for weight in module.parameters())
        self.end_id = texts.end_id

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[AnyTransformer]:
        """See :meth:`Model.exclusive`. Attention is computed in the model's own form."""
        with self._lock, torch.inference_mode():
            use_form(self.module, self.module.config.attention_form)
            yield self.module

    def text_of(self, ids: Sequence[int]) -> str:
        """See :meth:`Model.text_of`."""
        return self._texts.text_of(ids)

    def tokenize(self, text: str, pair: str | None = None, target: str | None = None) -> tuple[Token, ...]:
        """See :meth:`Model.tokenize`."""
        if target is not None:
            return self._texts.encode_target(target).tokens
        return self._texts.encode(text, pair).tokens

    def outline(self, text: str, pair: str | None = None, target: str | None = None) -> Mapping[str, StackOutline]:
        """See :meth:`Model.outline`."""
        run = self._run((text, pair, target), None, (), TraceRecording(hidden_states=False))
        sides = (run.inputs.tokens, run.inputs.target_tokens)
        return {
            name: StackOutline(
                name=name,
                query_tokens=sides[SIDES[name][0]],
                key_tokens=sides[SIDES[name][1]],
                n_heads=(self.n_heads,) * self._n_layers(name),
            )
            for name in run.lengths()
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
        """See :meth:`Model.trace`. In an encoder-decoder ``mask`` takes the place of both stacks' own masks, and
        ``ablate`` names heads of the encoder.
        """
        recording = TraceRecording(hidden_states=hidden_states)
        padding: dict[str, Any] = {"pad_to": pad_to, "pad_side": pad_side, "hide_padding": hide_padding}
        run = self._run((text, pair, target), mask, ablate, recording, **padding)
        positions = self._predicted_positions(run.inputs)
        with self._pass(run, len(positions), hidden_states=hidden_states):
            last = run()
            logits = self.module.logits(last[:, list(positions)])[0].float().cpu() if positions else None
        predictions = None
        if logits is not None:
            predictions = Predictions(logits=logits, positions=positions, decode=self._texts.spell)
        given: dict[str, Any] = {"text": text, "pair": pair, "target": target, "mask": mask, "ablate": ablate}
        revisit = partial(self.look_inside, **given, **padding)
        return replace(self._trace((text, pair, target), run, last, predictions), revisit=revisit)

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
        recording = InsideRecording(self.module, (stack, layer))
        padding: dict[str, Any] = {"pad_to": pad_to, "pad_side": pad_side, "hide_padding": hide_padding}
        run = self._run((text, pair, target), mask, ablate, recording, **padding)
        self._check_layer(stack, layer, run)
        with self._pass(run, 0, hidden_states=True), recording.followed():
            run()
        found = recording.result()
        if found is None:
            raise NoAttention(f"Layer {layer} of the {stack} stack of {self.name} made no attention call.")
        return found

    def _run(
        self,
        typed: tuple[str, str | None, str | None],
        mask: str | None,
        ablate: Ablation,
        recording: TraceRecording,
        *,
        pad_to: int | None = None,
        pad_side: Literal["left", "right"] | None = None,
        hide_padding: bool = True,
    ) -> ScratchPass:
        """A pass that has not been made yet."""
        rule, heads = None if mask is None else parse(mask), self._heads(ablate)
        inputs = self._texts.make(*typed, pad_to, pad_side, self._device, hide_padding=hide_padding)
        return ScratchPass(self.module, inputs, rule, heads, recording)

    @contextlib.contextmanager
    def _pass(self, run: ScratchPass, n_logits: int, *, hidden_states: bool) -> Iterator[None]:
        """Have the model alone, and the memory that a pass is predicted to take."""
        needed = run.needed_bytes(n_logits=n_logits, hidden_states=hidden_states)
        room = room_for(needed, self._device, what=f"{len(run.inputs.tokens):,} tokens in {self.name}")
        with self._lock, room, torch.inference_mode():
            use_form(self.module, run.form)
            yield

    def _check_layer(self, stack: str, layer: int, run: ScratchPass) -> None:
        if stack not in run.lengths():
            raise OutOfRange(f"No stack {stack!r} in {self.name}. It has: {', '.join(run.lengths())}.")
        n_layers = self._n_layers(stack)
        if not 0 <= layer < n_layers:
            raise OutOfRange(f"Layer {layer} was asked for, and {self.name} has {n_layers}: 0 to {n_layers - 1}.")

    def _n_layers(self, stack: str) -> int:
        config = self.module.config
        return config.n_layers if stack in ("self", "encoder") else config.n_decoder_layers

    def _heads(self, ablate: Ablation) -> tuple[tuple[StackName, int, int], ...]:
        n_layers = self.module.config.n_layers
        for layer, head in ablate:
            if not (0 <= layer < n_layers and 0 <= head < self.n_heads):
                raise OutOfRange(
                    f"There is no head {head} in layer {layer} of {self.name}: it has layers 0 to {n_layers - 1} and "
                    f"heads 0 to {self.n_heads - 1}."
                )
        return tuple((_FIRST_STACK[self.kind], layer, head) for layer, head in ablate)

    def _predicted_positions(self, inputs: ModelInputs) -> tuple[int, ...]:
        """A decoder's last token, an encoder's masked ones or else its last; none without a vocabulary to speak."""
        if self.module.config.output == "none":
            return ()
        if self.kind == "encoder-decoder":
            return (len(inputs.target_tokens) - 1,)
        real = [i for i, token in enumerate(inputs.tokens) if not token.is_padding]
        if self.kind == "decoder":
            return (real[-1],)
        masked = tuple(i for i in real if inputs.tokens[i].id == self._texts.mask_id)
        return masked or tuple(i for i in real if not inputs.tokens[i].is_special)[-1:]

    def _trace(
        self,
        typed: tuple[str, str | None, str | None],
        run: ScratchPass,
        last: Float[Tensor, "1 n d_model"],
        predictions: Predictions | None,
    ) -> Trace:
        sides = (run.inputs.tokens, run.inputs.target_tokens)
        stacks = {
            str(name): AttentionStack(
                name=name, query_tokens=sides[SIDES[name][0]], key_tokens=sides[SIDES[name][1]], layers=tuple(layers)
            )
            for name, layers in run.recording.layers.items()
        }
        hidden = run.hidden_states(last)
        text, pair, wanted = typed
        return Trace(
            text=text,
            pair=pair or None,
            target=wanted,
            model=self.name,
            kind=self.kind,
            tokens=run.inputs.tokens,
            target_tokens=run.inputs.target_tokens,
            stacks=MappingProxyType(stacks),
            memory=MemoryUse.of(layer for stack in stacks.values() for layer in stack.layers),
            hidden_states=hidden.get("self") or hidden.get("encoder"),
            target_hidden_states=hidden.get("decoder"),
            predictions=predictions,
        )

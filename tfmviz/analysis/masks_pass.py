"""A from-scratch model run on given tokens under any mask, from its first layer to its last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.errors import UnknownMask
from tfmviz.models import Model, ScratchModel
from tfmviz.models.inputs import ModelInputs
from tfmviz.models.memory import room_for
from tfmviz.models.scratch_pass import ScratchPass
from tfmviz.models.scratch_record import TraceRecording
from tfmviz.nn import Mask
from tfmviz.text import Token
from tfmviz.trace import AttentionStack


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Passed:
    """What one pass left behind.

    Attributes:
        stack: every head.
        hidden: what left the embedding and each layer; the last one after the last norm. [layers + 1] of [n, d_model].
    """

    stack: AttentionStack
    hidden: tuple[Float[Tensor, "n d_model"], ...]


def takes_masks(model: Model) -> bool:
    """Whether `passed` can run the model: from-scratch models of one stack."""
    return isinstance(model, ScratchModel) and model.kind != "encoder-decoder"


def passed(model: Model, tokens: Sequence[Token], mask: Mask | None = None, *, hide_padding: bool = True) -> Passed:
    """Run a from-scratch encoder or decoder.

    Args:
        model: with weights that any mask may be tried on.
        tokens: of ``model.tokenize`` or of a trace, padding included.
        mask: None for the model's own rule.
        hide_padding: whether the model is told which tokens are padding.

    Raises:
        UnknownMask: if the model runs under its own mask only.
        NotEnoughMemory: if the pass is predicted not to fit.
    """
    if not isinstance(model, ScratchModel) or model.kind == "encoder-decoder":
        raise UnknownMask(
            f"{model.name} can only run under its own mask. Other masks can be tried on its layers one at a time, and "
            "on whole models written from scratch, such as scratch-minilm."
        )
    device = model.module.tokens.weight.device
    inputs = ModelInputs(tensors=_tensors(tokens, device, hide_padding=hide_padding), tokens=tuple(tokens))
    rule = None if mask is None else mask.to(device)
    run = ScratchPass(model.module, inputs, rule, (), TraceRecording(hidden_states=True))
    needed = run.needed_bytes(n_logits=0, hidden_states=True)
    with room_for(needed, device, what=f"{len(inputs.tokens):,} tokens in {model.name}"), torch.inference_mode():
        last = run()
    stack = AttentionStack(
        name="self",
        query_tokens=inputs.tokens,
        key_tokens=inputs.tokens,
        layers=tuple(run.recording.layers["self"]),
    )
    return Passed(stack=stack, hidden=tuple(x.cpu() for x in run.hidden_states(last)["self"]))


def _tensors(tokens: Sequence[Token], device: torch.device, *, hide_padding: bool) -> dict[str, Tensor]:
    padding = [token.is_padding for token in tokens]
    return {
        "input_ids": torch.tensor([[token.id for token in tokens]], device=device),
        "attention_mask": torch.tensor([[int(not (pad and hide_padding)) for pad in padding]], device=device),
        "token_type_ids": torch.tensor([[0 if token.is_padding else token.segment for token in tokens]], device=device),
    }

"""Run a Hugging Face model once and keep where every head looked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tfmviz.trace.interception import install, listening
from tfmviz.trace.layer import LayerAttention
from tfmviz.trace.layout import Layout
from tfmviz.trace.recorder import Recorder


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Capture:
    """One pass.

    Attributes:
        stacks: layers by stack: ``"self"``, or ``"encoder"``, ``"decoder"`` and ``"cross"``.
        output: the model's logits, or its last hidden state where it has no head; [1, n, width].
        hidden_states: by ``"self"``, or ``"encoder"`` and ``"decoder"``: [layers + 1] of [n, d_model]; empty unless
            asked for.
    """

    stacks: Mapping[str, tuple[LayerAttention, ...]]
    output: Tensor
    hidden_states: Mapping[str, tuple[Tensor, ...]]


def capture(
    module: PreTrainedModel,
    inputs: Mapping[str, Any],
    *,
    ablate: Sequence[tuple[int, int]] = (),
    hidden_states: bool = False,
    keep_value: bool = False,
) -> Capture:
    """Run ``module`` on ``inputs`` (a batch of one) and keep its attention."""
    install()
    layout = Layout(module)
    recorder = Recorder(layout.paths, keep_value=keep_value)
    with torch.no_grad(), listening(recorder):
        output = module(**inputs, use_cache=False, output_hidden_states=hidden_states)
    stacks = {
        name: tuple((call and call.layer()) or LayerAttention.none("no attention in this layer") for call in calls)
        for name, calls in layout.arrange(recorder.heard).items()
    }
    return Capture(stacks=stacks, output=output[0], hidden_states={})

"""Run a Hugging Face model once and keep where every head looked."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tfmviz.errors import ConfigError
from tfmviz.trace.ablation import Ablation, calls_to_ablate
from tfmviz.trace.acquaintance import Acquaintance, Place, acquaintance
from tfmviz.trace.inside import LayerInside
from tfmviz.trace.layer import LayerAttention
from tfmviz.trace.passes import CACHES, Passes


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
    ablate: Sequence[Ablation] = (),
    hidden_states: bool = False,
    keep_value: bool = False,
) -> Capture:
    """Run a model and keep the attention of every layer.

    The model runs as it is, with its own attention function; its output is bit for bit what it would be without. Each
    layer is checked against its own output, and a layer whose call was not heard or not understood is taken another
    way (see :mod:`tfmviz.trace.fallback`), which costs further passes; with a cache among the inputs there is but one
    pass. What was learned about a model is remembered. Captures of one model run one after another.

    Args:
        module: in ``eval()``.
        inputs: what its ``forward`` takes, a batch of one; a cache may be among them.
        ablate: (layer, head), or (stack, layer, head): heads whose output is set to zero. Without a stack, the first:
            "self", or "encoder" in an encoder-decoder.
        hidden_states: keep them.
        keep_value: keep the values too.

    Raises:
        ConfigError: if the batch holds more than one text, or the model is in training mode.
        OutOfRange: if a head to ablate is not there.
        UnsupportedModel: if a head to ablate cannot be reached.
    """
    _check(module, inputs)
    known, options = acquaintance(module), _options(module, inputs, hidden_states)
    with known.lock, torch.no_grad():
        passes = _passes(known, module, {**inputs, **options}, ablate, keep_value=keep_value)
        passes.run()
    return Capture(
        stacks=passes.stacks(),
        output=_main_output(passes.output),
        hidden_states=_hidden_states(passes.output) if hidden_states else {},
    )


def capture_inside(
    module: PreTrainedModel, inputs: Mapping[str, Any], place: Place, *, ablate: Sequence[Ablation] = ()
) -> LayerInside | None:
    """Run a model as far as one layer and keep that layer in full.

    Nothing after the layer's addition to the residual stream is computed: for an early layer of a deep model that is a
    small part of a pass.

    Args:
        module, inputs, ablate: as for :func:`capture`.
        place: (stack, layer).

    Returns:
        The layer; None where it does not hand out its queries, keys and values.

    Raises:
        ConfigError, OutOfRange, UnsupportedModel: as for :func:`capture`.
    """
    _check(module, inputs)
    known, options = acquaintance(module), _options(module, inputs, hidden_states=False)
    with known.lock, torch.no_grad():
        return _passes(known, module, {**inputs, **options}, ablate, keep_value=True, must_know=True).look_inside(place)


def _passes(
    known: Acquaintance,
    module: PreTrainedModel,
    given: Mapping[str, Any],
    ablate: Sequence[Ablation],
    *,
    keep_value: bool,
    must_know: bool = False,
) -> Passes:
    if (ablate or must_know) and not known.reach:
        Passes(known, module, given, ablate={}, keep_value=False).run()  # where heads are is known after one pass
    return Passes(known, module, given, ablate=calls_to_ablate(known, ablate), keep_value=keep_value)


def _check(module: PreTrainedModel, inputs: Mapping[str, Any]) -> None:
    if module.training:
        raise ConfigError(
            "The model is in training mode, where dropout changes its attention: call model.eval() first."
        )
    for name, value in inputs.items():
        if isinstance(value, Tensor) and value.ndim > 1 and value.shape[0] != 1 and name.endswith(("ids", "mask")):
            raise ConfigError(f"A capture takes one text, and {name} holds {value.shape[0]}.")


def _options(module: PreTrainedModel, inputs: Mapping[str, Any], hidden_states: bool) -> dict[str, Any]:
    """What is asked of the pass beside the inputs: no cache unless one was given, and hidden states if wanted."""
    takes = inspect.signature(module.forward).parameters
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in takes.values())
    options = {} if any(name in inputs for name in (*CACHES, "use_cache")) else {"use_cache": False}
    if hidden_states:
        options["output_hidden_states"] = True
    return {name: value for name, value in options.items() if name in takes or open_ended}


def _main_output(output: Any) -> Tensor:
    for name in ("logits", "last_hidden_state"):
        if isinstance(found := getattr(output, name, None), Tensor):
            return found
    return output[0]


def _hidden_states(output: Any) -> dict[str, tuple[Tensor, ...]]:
    names = {"hidden_states": "self", "encoder_hidden_states": "encoder", "decoder_hidden_states": "decoder"}
    found = {stack: getattr(output, name, None) for name, stack in names.items()}
    return {stack: tuple(state[0] for state in states) for stack, states in found.items() if states is not None}

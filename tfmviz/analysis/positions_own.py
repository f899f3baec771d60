"""How order gets into the model that is loaded, where it does so in the scores: its own rotation, its own biases.

Everything is read from the module that computes, not from what its family usually does: the speeds that a rotary model
turns with, the slopes that an ALiBi model's own function gives, the numbers that T5 learned for each distance.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfmviz.analysis.positions_rotary import Turns
from tfmviz.models import Model, ScratchModel
from tfmviz.nn import AlibiBias, RelativeBias, frequencies, relative_bucket

REACH = 128  # distances shown of a bias, where the model's own reach is not larger
_SPEEDS = "inv_freq"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class OwnRotation:
    """The rotary positions of a loaded model.

    Attributes:
        layers: which layers turn so, in the model's own word; empty where all do.
        turns: the speeds of the pairs, and the length that the model was made for.
        base: of the geometric row of speeds; None where the model does not say.
        scaling: for longer texts, in the model's own word; None for none.
    """

    layers: str
    turns: Turns
    base: float | None
    scaling: str | None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class OwnBias:
    """What a loaded model adds to its scores by distance.

    Attributes:
        kind: "alibi" (a slope a head) or "relative" (a learned number for each bucket of distance).
        stack: "self", or "encoder" or "decoder" of an encoder-decoder.
        distance: key position minus query position, ascending. [m]
        bias: added to the score, by head. [h, m]
        n_buckets: of learned numbers; 0 for ALiBi.
    """

    kind: Literal["alibi", "relative"]
    stack: str
    distance: Int[Tensor, " m"]
    bias: Float[Tensor, "h m"]
    n_buckets: int = 0

    @property
    def slopes(self) -> Float[Tensor, " h"]:
        """What each head takes off from distance 1 to distance 2 back: ALiBi's slope."""
        at = {int(d): i for i, d in enumerate(self.distance)}
        return self.bias[:, at[-1]] - self.bias[:, at[-2]]


def rotations(model: Model) -> tuple[OwnRotation, ...]:
    """The rotations of a rotary model, one for each kind of layer that turns in its own way; empty for all others."""
    with model.exclusive() as module:
        if isinstance(model, ScratchModel):
            return _own_rotation(module.config)
        config = module.config.get_text_config()
        found = {name: speeds for name, speeds in module.named_buffers() if _names_speeds(name)}
        length = int(getattr(config, "max_position_embeddings", None) or 0) or REACH
        return tuple(_rotation(name, speeds, config, length) for name, speeds in _different(found).items())


def _own_rotation(config: Any) -> tuple[OwnRotation, ...]:
    if config.position != "rotary":
        return ()
    scaling = None if config.rotary_scaling == "none" else config.rotary_scaling
    made = Turns(
        scaling=config.rotary_scaling,
        radians=frequencies(config).cpu(),
        trained_length=config.max_positions,
        factor=config.rotary_factor,
    )
    return (OwnRotation(layers="", turns=made, base=config.position_base, scaling=scaling),)


def _names_speeds(name: str) -> bool:
    """Buffers called ``inv_freq`` hold the speeds; those called original are what dynamic scaling goes back to."""
    last = name.rpartition(".")[2]
    return last.endswith(_SPEEDS) and "original" not in last


def _different(found: dict[str, Tensor]) -> dict[str, Tensor]:
    """One of each kind of layer: a model that keeps its speeds in every layer has them many times over."""
    kinds: dict[str, Tensor] = {}
    for name, speeds in found.items():
        kinds.setdefault(name.rpartition(".")[2].removesuffix(_SPEEDS).rstrip("_"), speeds)
    return kinds


def _rotation(layers: str, speeds: Tensor, config: Any, length: int) -> OwnRotation:
    settings = getattr(config, "rope_parameters", None) or {}
    settings = settings.get(layers, settings)  # models with several kinds of layers have settings for each
    base = settings.get("rope_theta", getattr(config, "rope_theta", None))
    scaling = settings.get("rope_type", "default")
    return OwnRotation(
        layers=layers.replace("_", " "),
        turns=Turns(scaling="none", radians=speeds.detach().float().cpu(), trained_length=length, factor=1.0),
        base=None if base is None else float(base),
        scaling=None if scaling == "default" else str(scaling),
    )


def biases(model: Model) -> tuple[OwnBias, ...]:
    """The biases by distance of a loaded model, one a stack; empty for a model without."""
    with model.exclusive() as module:
        if isinstance(model, ScratchModel):
            return tuple(_own_biases(module))
        config = module.config.get_text_config()
        slopes = _alibi_slopes(module, config)
        if slopes is not None:
            distance = torch.arange(-REACH, 1)
            return (OwnBias(kind="alibi", stack="self", distance=distance, bias=slopes[:, None] * distance),)
        return tuple(_tables(module, config))


def _own_biases(module: nn.Module) -> Iterator[OwnBias]:
    for part in module.modules():
        bias = getattr(part, "bias", None)
        if not isinstance(bias, AlibiBias | RelativeBias):
            continue
        learned = isinstance(bias, RelativeBias)
        reach = max(REACH, bias.config.relative_max_distance) if isinstance(bias, RelativeBias) else REACH
        both = bias.both_directions if isinstance(bias, RelativeBias) else part.config.architecture != "decoder"
        distance = torch.arange(-reach, reach + 1 if both else 1)
        device = next(bias.parameters()).device if learned else bias.slopes.device
        here = torch.tensor([reach], device=device)
        yield OwnBias(
            kind="relative" if learned else "alibi",
            stack=str(part.name),
            distance=distance,
            bias=bias.block(here, distance.to(device) + reach)[:, 0].float().cpu(),
            n_buckets=bias.config.relative_buckets if isinstance(bias, RelativeBias) else 0,
        )


def _alibi_slopes(module: Any, config: Any) -> Float[Tensor, " h"] | None:
    """The slopes of BLOOM, Falcon with ALiBi, and MPT, by the function that each of them calls itself.

    They are what the bias gains from one key to the next.
    """
    body = module.base_model
    n_heads = int(getattr(config, "num_attention_heads", 0) or getattr(config, "n_heads", 0))
    if hasattr(body, "build_mpt_alibi_tensor"):
        if not config.attn_config.alibi:
            return None
        made = body.build_mpt_alibi_tensor(n_heads, 2, config.attn_config.alibi_bias_max)
    elif config.model_type == "bloom" or getattr(config, "alibi", False) is True:
        build = getattr(sys.modules[type(body).__module__], "build_alibi_tensor", None)
        if build is None:
            return None
        made = build(torch.ones(1, 2, dtype=torch.long), n_heads, torch.float32)
    else:
        return None
    last_two = made.reshape(n_heads, 2).float().cpu()
    return last_two[:, 1] - last_two[:, 0]


def _tables(module: nn.Module, config: Any) -> Iterator[OwnBias]:
    """The learned numbers of T5 and its kin: of each stack the first table, which all its layers share in T5."""
    seen: set[str] = set()
    for name, part in module.named_modules():
        if not (name.rpartition(".")[2] == "relative_attention_bias" and isinstance(part, nn.Embedding)):
            continue
        stack = next((known for known in ("encoder", "decoder") if known in name.split(".")), "self")
        if stack in seen or "EncDecAttention" in name:
            continue
        seen.add(stack)
        reach = int(getattr(config, "relative_attention_max_distance", REACH))
        both = stack != "decoder"
        distance = torch.arange(-reach, reach + 1 if both else 1)
        bucket = relative_bucket(distance, part.num_embeddings, reach, both_directions=both)
        alone = not getattr(config, "is_encoder_decoder", False)
        yield OwnBias(
            kind="relative",
            stack="self" if alone else stack,
            distance=distance,
            bias=part.weight.detach().float().cpu()[bucket].T,
            n_buckets=part.num_embeddings,
        )

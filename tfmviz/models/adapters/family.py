"""How weights of another library's format become weights of ours, with every tensor accounted for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tfmviz.errors import CheckpointError, UnsupportedModel
from tfmviz.nn import AnyTransformer, TransformerConfig, build
from tfmviz.nn.config import Activation

Settings = Mapping[str, Any]
"""A checkpoint's config.json."""

State = Mapping[str, Tensor]
"""A checkpoint's tensors by name."""

ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "silu": "silu",
    "swish": "silu",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where one tensor of ours comes from.

    Attributes:
        name: the tensor in the checkpoint.
        change: what makes it ours, where it is not stored alike: a transposition, a part of it.
    """

    name: str
    change: Callable[[Tensor], Tensor] | None = None

    def read(self, state: State) -> Tensor:
        """Our tensor in float32."""
        tensor = state[self.name].float()
        if self.change is None:
            return tensor
        try:
            return self.change(tensor).contiguous()
        except (RuntimeError, IndexError):  # dimensions that cannot be turned or shared out
            raise CheckpointError(
                f"{self.name} has the shape {tuple(tensor.shape)}, which holds no such weights. "
                "Weights and config.json belong to different models."
            ) from None


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Models of one format.

    Attributes:
        model_types: what ``model_type`` in config.json may say.
        rename: from names as they occur in the wild to those ``sources`` uses.
        config: the configuration of ours that computes the same; it may look at the tensors to see which head is there.
        sources: for every tensor of ours where it comes from.
        copies: tensors that some checkpoints hold twice: the copy and what it must equal.
        unused: patterns of tensors that take no part in the pass, each with why.
    """

    model_types: tuple[str, ...]
    rename: Callable[[str], str]
    config: Callable[[Settings, State], TransformerConfig]
    sources: Callable[[TransformerConfig], dict[str, Source]]
    copies: Mapping[str, str] = field(default_factory=dict)
    unused: Mapping[str, str] = field(default_factory=dict)

    def load(self, settings: Settings, state: State) -> AnyTransformer:
        """Our model with a checkpoint's weights, in float32 and ready to run.

        Raises:
            UnsupportedModel: if config.json asks for something this family's model cannot compute.
            ConfigError: if its numbers describe no model.
            CheckpointError: if config.json lacks a setting, or if a tensor is there twice, is missing, has no place,
                has another shape, or is not finite.
        """
        state = self._canonical(self._renamed(state))
        config = self._configured(settings, state)
        sources = self.sources(config)
        self._account(sources, state)
        with torch.device("meta"):  # shapes without memory: the weights are put in their place, not copied over others
            model = build(config, seed=None)
        expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
        weights = {name: _checked(name, source, state, expected[name]) for name, source in sources.items()}
        model.load_state_dict(weights, strict=True, assign=True)
        return model.requires_grad_(False).eval()

    def _renamed(self, state: State) -> dict[str, Tensor]:
        """The same tensors by the names of ``sources``; none takes another one's place unseen."""
        found: dict[str, Tensor] = {}
        came_from: dict[str, str] = {}
        for name, tensor in state.items():
            ours = self.rename(name)
            if ours in found:
                raise CheckpointError(
                    f"The checkpoint has {came_from[ours]} and {name}, which are names of one tensor. Save it with one."
                )
            found[ours], came_from[ours] = tensor, name
        return found

    def _configured(self, settings: Settings, state: State) -> TransformerConfig:
        """The configuration, or a sentence about the setting that it cannot be made without."""
        try:
            return self.config(settings, state)
        except KeyError as error:
            raise CheckpointError(
                f"config.json says nothing of {error.args[0]}, without which a {self.model_types[0]} model cannot be "
                "built. Download or save the model again."
            ) from None

    def _canonical(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """The same tensors with each copy taken out, after a look that it is one."""
        for copy, original in self.copies.items():
            if copy not in state:
                continue
            tensor = state.pop(copy)
            if original not in state:
                state[original] = tensor
            elif not torch.equal(tensor, state[original]):
                raise CheckpointError(
                    f"{copy} should be a copy of {original}, and its numbers differ. Save the model with tied weights."
                )
        return state

    def _account(self, sources: Mapping[str, Source], state: State) -> None:
        wanted = {source.name for source in sources.values()}
        if missing := sorted(wanted - set(state)):
            raise CheckpointError(f"The checkpoint lacks {len(missing)} tensors: {_some(missing)}.")
        unknown = sorted(name for name in set(state) - wanted if not any(re.search(p, name) for p in self.unused))
        if unknown:
            raise CheckpointError(
                f"The checkpoint has {len(unknown)} tensors that this {self.model_types[0]} model has no place for: "
                f"{_some(unknown)}."
            )


def _checked(name: str, source: Source, state: State, shape: tuple[int, ...]) -> Tensor:
    tensor = source.read(state)
    if tuple(tensor.shape) != shape:
        raise CheckpointError(
            f"{source.name} gives {name} the shape {tuple(tensor.shape)}, and config.json says {shape}. "
            "Weights and config.json belong to different models."
        )
    if bad := int((~torch.isfinite(tensor)).sum()):
        raise CheckpointError(f"{source.name} holds {bad:,} NaN or infinite values. Download or save it again.")
    return tensor


def _some(names: list[str], most: int = 12) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def without_prefix(*prefixes: str) -> Callable[[str], str]:
    """A renaming that takes off the first prefix that fits."""

    def rename(name: str) -> str:
        for prefix in prefixes:
            if name.startswith(prefix):
                return name[len(prefix) :]
        return name

    return rename


def demand(settings: Settings, name: str, *allowed: object) -> None:
    """See that a setting has a value we can compute; a setting that is not there has its usual value.

    Raises:
        UnsupportedModel: naming the setting, its value and the values that work.
    """
    if name in settings and settings[name] not in allowed:
        raise UnsupportedModel(
            f"{name}={settings[name]!r} in config.json is beyond the from-scratch model, which computes "
            f"{' or '.join(map(repr, allowed))}. Load the model without the scratch adapter."
        )


def activation(name: str) -> Activation:
    """Our name of an activation function.

    Raises:
        UnsupportedModel: if we have no such function.
    """
    if name not in ACTIVATIONS:
        raise UnsupportedModel(f"The activation {name!r} is none of {', '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[name]


def tie(state: State, head: str, table: str, *, tied: bool = True) -> dict[str, Any]:
    """The output field of the config: tied if the checkpoint has no head or one that equals the tokens' table.

    Args:
        state: the checkpoint.
        head, table: names of its head and of its tokens' table.
        tied: False where config.json says that the head is one of its own, so that a head that is missing is told.
    """
    own = not tied if head not in state else not (table in state and torch.equal(state[head], state[table]))
    return {"output": "linear" if own else "tied"}


def linear(ours: str, theirs: str, *, bias: bool) -> dict[str, Source]:
    """Weight and bias of a linear layer or a norm that both sides store alike."""
    kinds = ("weight", "bias") if bias else ("weight",)
    return {f"{ours}.{kind}": Source(f"{theirs}.{kind}") for kind in kinds}

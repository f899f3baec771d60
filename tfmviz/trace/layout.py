"""Where in the model a call came from: which stack, and which layer of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from torch import nn
from transformers import PreTrainedModel

# A call: the path of its module, and how many calls of that module came before it.
CallKey = tuple[str, int]

_CROSS = ("cross", "encoder_attn", "encdec")


class HasKey(Protocol):
    """Something heard or seen at a call."""

    @property
    def key(self) -> CallKey: ...
    @property
    def module(self) -> nn.Module: ...


Seen = TypeVar("Seen", bound=HasKey)


class ModulePaths:
    """Every path of every module. A module that several layers share has several, one for each layer."""

    def __init__(self, model: nn.Module) -> None:
        self._paths: dict[int, list[str]] = {}
        self.lists: dict[str, int] = {}
        for path, module in model.named_modules(remove_duplicate=False):
            self._paths.setdefault(id(module), []).append(path)
            if isinstance(module, nn.ModuleList | nn.Sequential):
                self.lists[path] = len(module)

    def knows(self, module: nn.Module) -> bool:
        """Whether the module belongs to this model."""
        return id(module) in self._paths

    def of(self, module: nn.Module) -> list[str]:
        """All paths of a module."""
        return self._paths[id(module)]

    def key(self, module: nn.Module, calls_before: int) -> CallKey:
        """The name of a call: the k-th call of a shared module belongs to its k-th path."""
        paths = self._paths[id(module)]
        return paths[calls_before % len(paths)], calls_before // len(paths)

    def layer_list(self, path: str) -> str | None:
        """The outermost list of modules that ``path`` lies in."""
        parts = path.split(".")
        for n in range(len(parts)):
            if (prefix := ".".join(parts[:n])) in self.lists:
                return prefix
        return None

    def longest_list(self, prefix: str) -> str | None:
        """The longest outermost list below ``prefix``: a stack's layers, where no call tells."""
        below = [path for path in self.lists if not prefix or path == prefix or path.startswith(prefix + ".")]
        outermost = [path for path in below if self.layer_list(path) is None]
        return max(outermost, key=lambda path: self.lists[path], default=None)


class Layout:
    """The stacks of a model and their layers."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.paths = ModulePaths(model)
        self.is_encoder_decoder = bool(getattr(model.config, "is_encoder_decoder", False))
        self._encoder = self.paths.of(model.get_encoder())[0] if self.is_encoder_decoder else None
        self._decoder = self.paths.of(model.get_decoder())[0] if self.is_encoder_decoder else None

    @property
    def stack_names(self) -> tuple[str, ...]:
        """The stacks this model has when it is given all its inputs."""
        return ("encoder", "decoder", "cross") if self.is_encoder_decoder else ("self",)

    def stack_of(self, seen: HasKey) -> str:
        """Which stack a call belongs to."""
        path = seen.key[0]
        below = path if self._decoder is None else path.removeprefix(self._decoder)
        if self._encoder is not None and path.startswith(self._encoder + "."):
            return "encoder"
        if getattr(seen.module, "is_cross_attention", False) or any(part in below.lower() for part in _CROSS):
            return "cross"
        return "decoder" if self.is_encoder_decoder else "self"

    def arrange(self, seen: Sequence[Seen]) -> dict[str, list[Seen | None]]:
        """Calls by stack and layer; None where a layer made no call.

        A layer is a place in the model's list of layers. Where calls and places do not match one to one (ALBERT's
        layers share one place, Funnel's blocks are lists of lists) layers are the calls in order.
        """
        stacks = {name: [call for call in seen if self.stack_of(call) == name] for name in self.stack_names}
        stacks |= {"cross": calls} if (calls := [c for c in seen if self.stack_of(c) == "cross"]) else {}
        return {name: self._in_places(name, calls) for name, calls in stacks.items()}

    def _in_places(self, name: str, calls: list[Seen]) -> list[Seen | None]:
        if not calls:
            prefix = {"encoder": self._encoder, "decoder": self._decoder, "cross": self._decoder}.get(name) or ""
            layer_list = self.paths.longest_list(prefix)
            return [None] * (self.paths.lists[layer_list] if layer_list is not None else 0)
        lists = {self.paths.layer_list(call.key[0]) for call in calls}
        if len(lists) != 1 or (layer_list := lists.pop()) is None:
            return list(calls)
        places = [int(call.key[0].removeprefix(layer_list).lstrip(".").split(".")[0]) for call in calls]
        if len(set(places)) < len(places):
            return list(calls)
        out: list[Seen | None] = [None] * self.paths.lists[layer_list]
        for place, call in zip(places, calls, strict=True):
            out[place] = call
        return out

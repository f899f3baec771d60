"""Hear a model's attention calls during one pass and keep what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from tfmviz.errors import ConfigError
from tfmviz.trace.call import AttentionCall, CallReader
from tfmviz.trace.interception import AttentionFunction
from tfmviz.trace.layer import LayerAttention
from tfmviz.trace.layout import CallKey, ModulePaths
from tfmviz.trace.selfcheck import TOLERANCE, Sample, Sampler, residuals
from tfmviz.trace.source import QueriesAndKeys


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """One attention call.

    Attributes:
        key: which call of the model this is.
        module: the module that made it.
        source: what it computes.
        sample: what the self-check compares; None where nothing can be compared.
    """

    key: CallKey
    module: nn.Module
    source: QueriesAndKeys
    sample: Sample | None


# Told of every call when it has returned: which it is, and what it gave out, [1, q, h, dv].
Returned = Callable[[CallKey, Tensor], None]

# How a call is heard: at transformers' attention interface, at torch's fused attention, at the softmax of eager
# attention; or not while it runs, but reported afterwards.
Way = Literal["interface", "fused", "softmax", "reported"]


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """One attention call after the self-check.

    Attributes:
        way: how it was heard.
        key: which call of the model this is.
        module: the module that made it.
        layer: what the call says; None if the self-check speaks against it.
    """

    way: Way
    key: CallKey
    module: nn.Module
    layer: LayerAttention | None


class Recorder:
    """A listener (see :mod:`tfmviz.trace.interception`) that calls the model's own function and keeps queries and keys.

    Nothing that the model computes changes, but for the heads to ablate: their part of the function's output is set
    to zero, which is what zeroing their slice before the output projection would do.
    """

    def __init__(
        self,
        paths: ModulePaths,
        *,
        ablate: Mapping[CallKey, tuple[int, ...]] | None = None,
        keep_value: bool = False,
        returned: Returned | None = None,
    ) -> None:
        self._returned = returned
        self._heard: list[Heard] = []
        self._paths = paths
        self._ablate = ablate or {}
        self._reader = CallReader(keep_value=keep_value)
        self._sampler = Sampler()
        self._calls: dict[int, int] = {}
        self._last: tuple[nn.Module, Tensor, Tensor] | None = None

    def __call__(
        self,
        implementation: str | None,
        attend: AttentionFunction,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None = None,
        **options: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """See :class:`tfmviz.trace.interception.Listener`."""
        out, weights = attend(module, query, key, value, attention_mask, **options)
        if not self._paths.knows(module):
            return out, weights  # a module of another model that runs in this context
        again = self._same_as_before(module, query, key)
        if not again:
            self._calls[id(module)] = self._calls.get(id(module), -1) + 1
        key_of_call = self._paths.key(module, self._calls[id(module)])
        if not again:
            causal = _is_causal(implementation, module, query, attention_mask, options)
            call = AttentionCall(query, key, value, attention_mask, causal, options)
            self._heard.append(self._hear(key_of_call, module, call, out))
            if self._returned is not None:
                self._returned(key_of_call, out)
        heads = self._ablate.get(key_of_call)
        if heads is None:
            return out, weights
        if again:
            raise ConfigError("Heads of differential attention cannot be ablated: two calls share one map.")
        out = out.clone()
        out[:, :, list(heads)] = 0
        return out, weights

    def _hear(self, key: CallKey, module: nn.Module, call: AttentionCall, out: Tensor) -> Heard:
        with torch.no_grad():
            source = self._reader.read(call)
            sample = self._sampler.sample(source, call.value[0], out, every_row=bool(call.unknown))
        return Heard(key, module, source, sample)

    def checked(self) -> list[Checked]:
        """The calls heard, each with the verdict of its self-check."""
        found = residuals([call.sample for call in self._heard])
        return [
            Checked("interface", call.key, call.module, accepted(call.source, difference))
            for call, difference in zip(self._heard, found, strict=True)
        ]

    def _same_as_before(self, module: nn.Module, query: Tensor, key: Tensor) -> bool:
        """Differential attention runs one map over two halves of the values, as two calls in a row."""
        last, self._last = self._last, (module, query, key)
        return last is not None and last[0] is module and last[1] is query and last[2] is key


def _is_causal(
    implementation: str | None, module: nn.Module, query: Tensor, mask: Tensor | None, options: Mapping[str, Any]
) -> bool:
    """Whether a missing mask means "causal". Eager attention hides nothing then; the fused one asks the flag."""
    if implementation in (None, "eager") or mask is not None or query.shape[2] == 1:
        return False
    flag = options.get("is_causal")
    return bool(getattr(module, "is_causal", True) if flag is None else flag)


def accepted(source: QueriesAndKeys, residual: float | None) -> LayerAttention | None:
    """The layer, if its self-check was made and passed."""
    tolerance = TOLERANCE.get(source.query.dtype, TOLERANCE[torch.bfloat16])
    passed = residual is not None and residual <= tolerance  # NaN does not pass
    return LayerAttention(source=source, residual=residual) if passed else None

"""Read one attention call: its arguments say the whole formula, so nothing is guessed from the architecture."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from tfmviz.trace import bias as bias_forms
from tfmviz.trace import mask as mask_forms
from tfmviz.trace.bias import Bias
from tfmviz.trace.mask import HIDDEN_BELOW, Intervals, MaskRule
from tfmviz.trace.source import QueriesAndKeys

# Tensors that models pass along and that do not enter the formula.
IRRELEVANT = frozenset(
    {"position_ids", "cache_position", "token_type_ids", "input_ids", "labels", "cu_seq_lens_q", "cu_seq_lens_k"}
)
_READ = frozenset({"position_bias", "s_aux", "sinks"})
# A view that keeps a buffer this much larger than itself alive (a slice of a fused QKV) is copied out of it.
_LOOSE = 1.25
_MASKS_REMEMBERED = 4


@dataclass(frozen=True, slots=True)
class AttentionCall:
    """The tensors of one call, batch axis included: query [1, h, q, d], key [1, kv, k, d], value [1, kv, k, dv]."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    causal: bool
    options: Mapping[str, Any]

    @property
    def unknown(self) -> list[str]:
        """Names of tensor arguments that might enter the formula in a way not known here."""
        known = IRRELEVANT | _READ
        return [name for name, value in self.options.items() if isinstance(value, Tensor) and name not in known]


@dataclass(slots=True)
class CallReader:
    """Turns calls into compact sources. Layers share their masks and biases, so each is compacted once a pass."""

    keep_value: bool = False
    _compacted: OrderedDict[tuple[Any, ...], tuple[Tensor, Any]] = field(default_factory=OrderedDict)
    _causal: dict[tuple[int, int], Intervals] = field(default_factory=dict)

    def read(self, call: AttentionCall) -> QueriesAndKeys:
        """What the call computes, without the batch axis and detached; no copy but of loose views."""
        n_queries, n_keys = call.query.shape[2], call.key.shape[2]
        mask, mask_bias = self._mask(call.mask, call.causal, n_queries, n_keys)
        scale, sink = call.options.get("scaling"), call.options.get("s_aux")
        sink = call.options.get("sinks") if sink is None else sink
        return QueriesAndKeys(
            query=_tight(call.query[0]),
            key=_tight(call.key[0]),
            scale=call.query.shape[-1] ** -0.5 if scale is None else float(scale),
            softcap=call.options.get("softcap"),
            mask=mask,
            bias=_sum(self._bias(call.options.get("position_bias"), n_queries, n_keys), mask_bias),
            sink=None if sink is None else sink.detach().reshape(-1),
            value=_tight(call.value[0]) if self.keep_value else None,
        )

    def _mask(
        self, mask: Tensor | None, causal: bool, n_queries: int, n_keys: int
    ) -> tuple[MaskRule | None, Bias | None]:
        """The mask argument, as which keys are visible and what is added to the visible ones."""
        if mask is None and not causal:
            return None, None
        if mask is None:
            shape = (n_queries, n_keys)
            return self._causal.setdefault(shape, Intervals.causal(*shape)), None

        def split() -> tuple[MaskRule | None, Bias | None]:
            entries = mask.reshape(-1, *mask.shape[-2:])[..., :n_keys]
            visible = entries if entries.dtype.is_floating_point is False else entries > HIDDEN_BELOW
            rule = mask_forms.compact(visible.bool(), n_queries=n_queries, n_keys=n_keys)
            if not entries.dtype.is_floating_point:
                return rule, None
            return rule, bias_forms.compact(entries, n_queries=n_queries, visible=visible)

        return self._once(mask, (n_queries, n_keys), split)

    def _bias(self, bias: Tensor | None, n_queries: int, n_keys: int) -> Bias | None:
        if bias is None:
            return None
        return self._once(
            bias, (n_queries, n_keys), lambda: bias_forms.compact(bias[0, ..., :n_keys], n_queries=n_queries)
        )

    def _once(self, tensor: Tensor, shape: tuple[int, int], make: Any) -> Any:
        """``make()``, or what it gave before for the same numbers in the same place."""
        version = 0 if tensor.is_inference() else tensor._version
        identity = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, version, shape)
        if identity not in self._compacted:
            self._compacted[identity] = (tensor, make())  # the tensor is held so that its place is not given away
            if len(self._compacted) > _MASKS_REMEMBERED:
                self._compacted.popitem(last=False)
        self._compacted.move_to_end(identity)
        return self._compacted[identity][1]


def _tight(tensor: Tensor) -> Tensor:
    """The tensor, in a buffer of its own if it would keep a much larger one alive."""
    tensor = tensor.detach()
    loose = tensor.untyped_storage().nbytes() > _LOOSE * tensor.numel() * tensor.element_size()
    return tensor.clone() if loose else tensor


def _sum(one: Bias | None, other: Bias | None) -> Bias | None:
    if one is None or other is None:
        return other if one is None else one
    return bias_forms.SumOfBiases(parts=(one, other))

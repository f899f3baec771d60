"""Models that do not go through transformers' attention interface, heard one level lower: at torch's own functions.

Three ways, in this order. The fused function has queries, keys and mask as arguments, so the layer stays exact. The
softmax gives the weights themselves, so the layer is "dense". What the model reports as ``attentions`` is taken last,
and only where its rows sum to 1, for some models report raw scores there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedConfig, PreTrainedModel

from tfmviz.trace.call import AttentionCall, CallReader
from tfmviz.trace.layer import LayerAttention
from tfmviz.trace.layout import CallKey, ModulePaths
from tfmviz.trace.mask import HIDDEN_BELOW
from tfmviz.trace.recorder import Checked, Returned, Way, accepted
from tfmviz.trace.selfcheck import Sampler, residuals
from tfmviz.trace.windowed import in_token_order

Shape = tuple[int, int]  # queries, keys
_SOFTMAX = frozenset({torch.softmax, torch.special.softmax, torch.Tensor.softmax, nn.functional.softmax})


class Whereabouts:
    """Which module of a model is running. Only for a pass under the model's lock: it hooks the modules."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._running: list[nn.Module] = []

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow the model while it runs in this thread."""
        thread = threading.get_ident()

        def enter(module: nn.Module, _: Any) -> None:
            if threading.get_ident() == thread:
                self._running.append(module)

        def leave(_module: nn.Module, _inputs: Any, _out: Any) -> None:
            if threading.get_ident() == thread:
                self._running.pop()

        hooks = []
        for module in self._model.modules():
            hooks.append(module.register_forward_pre_hook(enter))
            hooks.append(module.register_forward_hook(leave, always_call=True))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @property
    def module(self) -> nn.Module | None:
        """The innermost module that is running."""
        return self._running[-1] if self._running else None


class FunctionWatch(TorchFunctionMode):
    """Hears calls of some torch functions inside one model's modules."""

    way: Way

    def __init__(
        self, where: Whereabouts, paths: ModulePaths, *, ablate: Mapping[CallKey, tuple[int, ...]] | None
    ) -> None:
        super().__init__()
        self.seen: list[Checked] = []
        self.where = where
        self._paths = paths
        self._ablate = ablate or {}
        self._calls: dict[int, int] = {}

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the function; keep what it says if it is one we listen for."""
        out = func(*args, **(kwargs or {}))
        module = self.where.module
        if module is None or (layer := self.read(func, args, kwargs or {}, out)) is None:
            return out
        self._calls[id(module)] = self._calls.get(id(module), -1) + 1
        key = self._paths.key(module, self._calls[id(module)])
        self.seen.append(Checked(self.way, key, module, layer if layer.has_attention else None))
        self.note(key, out)
        if key in self._ablate:
            out = out.clone()
            out.reshape(-1, *out.shape[-2:])[list(self._ablate[key])] = 0
        return out

    def read(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """The layer that this call is the attention of; None if it is of no interest."""
        raise NotImplementedError

    def note(self, key: CallKey, out: Any) -> None:
        """A call that was read has returned ``out``."""


class FusedWatch(FunctionWatch):
    """Hears ``scaled_dot_product_attention``, whose arguments say the whole formula."""

    way: Way = "fused"

    def __init__(self, *args: Any, keep_value: bool, returned: Returned | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._returned = returned
        self._reader = CallReader(keep_value=keep_value)
        self._sampler = Sampler()

    def read(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> LayerAttention | None:
        """See :class:`FunctionWatch`."""
        if func is not nn.functional.scaled_dot_product_attention or args[0].ndim != 4:
            return None
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        given = dict(zip(names, args, strict=False)) | kwargs
        key, value = given["key"], given["value"]
        with torch.no_grad():
            n_shared = _copies(key[0])
            call = AttentionCall(
                given["query"],
                key[:, ::n_shared],
                value if value.shape[1] < key.shape[1] else value[:, ::n_shared],
                given.get("attn_mask"),
                bool(given.get("is_causal", False)),
                {"scaling": given.get("scale")},
            )
            source = self._reader.read(call)
            sample = self._sampler.sample(source, value[0], out.transpose(1, 2))
        return accepted(source, residuals([sample])[0]) or LayerAttention.none("the self-check failed")

    def note(self, key: CallKey, out: Any) -> None:
        """See :class:`FunctionWatch`."""
        if self._returned is not None:
            self._returned(key, out.transpose(1, 2))


def _copies(key: Tensor) -> int:
    """How many heads in a row hold the same keys: grouped keys that the model has already repeated."""
    n_heads = key.shape[0]
    same = [torch.equal(key[h], key[h - 1]) for h in range(1, n_heads)]
    for n in range(n_heads, 1, -1):
        if n_heads % n == 0 and all(same[h - 1] for h in range(1, n_heads) if h % n):
            return n
    return 1


class SoftmaxWatch(FunctionWatch):
    """Hears the softmax of eager attention: scores go in, weights come out."""

    way: Way = "softmax"

    def __init__(self, *args: Any, n_heads: frozenset[int], shapes: Collection[Shape], **options: Any) -> None:
        super().__init__(*args, **options)
        self._n_heads = n_heads
        self._shapes = shapes

    def read(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> LayerAttention | None:
        """See :class:`FunctionWatch`."""
        if func not in _SOFTMAX or not isinstance(out, Tensor) or out.ndim not in (3, 4):
            return None
        weights = out if out.ndim == 3 else out[0]
        if weights.shape[0] not in self._n_heads or tuple(weights.shape[1:]) not in self._shapes:
            return None  # a router's, a pooler's, or a map that is not between tokens
        scores = (args[0] if args else kwargs["input"]).reshape(weights.shape)
        with torch.no_grad():
            return LayerAttention.from_weights(weights.clone(), mask=scores > HIDDEN_BELOW)


def head_counts(model: PreTrainedModel) -> frozenset[int]:
    """How many heads a layer of this model may have, by its configurations."""
    names = ("num_attention_heads", "encoder_attention_heads", "decoder_attention_heads")
    counts = (getattr(config, name, None) for config in _configs(model) for name in names)
    return frozenset(count for count in counts if isinstance(count, int))


def reported(attentions: tuple[Any, ...] | None, shape: Shape, padding: Tensor | None) -> list[LayerAttention | None]:
    """The layers of what a model reports as its attention; None for what is not the weights of a map of this shape."""
    layers: list[LayerAttention | None] = []
    for given in attentions or ():
        weights = in_token_order(given, *shape, padding=padding) if isinstance(given, Tensor) else None
        layers.append(None if weights is None else LayerAttention.from_weights(weights.clone()))
    return layers


@contextmanager
def implementation(model: PreTrainedModel, name: str | None) -> Iterator[None]:
    """The model with another attention implementation for a while; None leaves it. Only under the model's lock."""
    before = [] if name is None else [(config, config._attn_implementation) for config in _configs(model)]
    try:
        for config, _ in before:
            config._attn_implementation = name
        yield
    finally:
        for config, own in before:
            config._attn_implementation_internal = own


def _configs(model: nn.Module) -> list[PreTrainedConfig]:
    """Every configuration that a module of the model reads."""
    configs = (getattr(module, "config", None) for module in model.modules())
    return list({id(config): config for config in configs if isinstance(config, PreTrainedConfig)}.values())

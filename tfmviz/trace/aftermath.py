"""Follow what one attention call gives out: through its output projection, into the residual stream.

Nothing is looked up by the names that architectures give their modules. During one pass every torch function is heard;
what is computed from the heads' output is followed from function to function. The first linear module on that way is
the output projection, and the first sum with a tensor that was there before the attention ran is the residual
addition. Both are checked against the numbers of the pass, which ends there: what later layers do is not asked.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tfmviz.trace.inside import LayerInside, OutputProjection, ResidualStep
from tfmviz.trace.layer import LayerAttention
from tfmviz.trace.selfcheck import TOLERANCE
from tfmviz.trace.source import QueriesAndKeys
from tfmviz.trace.unrotated import Angles, angles_of, unrotated

_ADDITIONS = frozenset({"add", "add_", "__add__", "__radd__", "__iadd__"})
# Inputs of the modules that ran last before the attention call: the stream is among them.
_EARLIER = 32
# Outputs of the modules that ran last before it: projections of queries and keys, perhaps normed.
_PROJECTED = 12


class _Heard(Exception):
    """The residual addition has been heard."""


class Aftermath(TorchFunctionMode):
    """Hears one pass. :meth:`begin` is called when the attention call of interest has returned.

    Args:
        model: the module whose pass it is.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._model = model
        self._earlier: deque[Tensor] = deque(maxlen=_EARLIER)
        self._projected: deque[Tensor] = deque(maxlen=_PROJECTED)
        self._angles: Angles | None = None
        self._derived: list[Tensor] = []
        self._following, self._busy = False, False
        self._heads: Tensor | None = None
        self._linear: tuple[nn.Module, Tensor, Tensor, Tensor] | None = None
        self._update: Tensor | None = None
        self._sum: tuple[Tensor, Tensor, Tensor] | None = None
        self._alone = True
        self._before_call: tuple[tuple[Tensor, ...], Angles | None] = ((), None)

    def begin(self, out: Float[Tensor, "1 q h dv"]) -> None:
        """The call has returned ``out``; follow what becomes of it."""
        if self._heads is None:
            self._heads = out.detach()[0].clone()
            self._derived.append(out)
            self._before_call = (tuple(self._projected), self._angles)
            self._following = True

    @contextlib.contextmanager
    def followed(self) -> Iterator[None]:
        """Listen while the model runs in this thread, and end the pass once all has been heard.

        Only under the model's lock: it hooks the modules. Whoever waits for the pass to return must be ready for the
        ``with`` to end before it does.
        """
        thread = threading.get_ident()
        hooks = []

        def enter(module: nn.Module, args: Any, kwargs: Mapping[str, Any]) -> None:
            if threading.get_ident() == thread and not self._busy:
                self._enter(args, kwargs)

        def leave(module: nn.Module, args: Any, kwargs: Mapping[str, Any], out: Any) -> None:
            if threading.get_ident() == thread and not self._busy:
                self._leave(module, args, kwargs, out)

        for module in self._model.modules():
            hooks.append(module.register_forward_pre_hook(enter, with_kwargs=True))
            hooks.append(module.register_forward_hook(leave, with_kwargs=True))
        try:
            with contextlib.suppress(_Heard), self:
                yield
        finally:
            for hook in hooks:
                hook.remove()
            self._earlier.clear()
            self._projected.clear()
            self._derived.clear()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the function; note it if it takes part in what is followed."""
        kwargs = kwargs or {}
        if not self._following or not any(self._is_derived(t) for t in _tensors(args, kwargs)):
            return func(*args, **kwargs)
        joins = self._joins(func, args, kwargs)
        out = func(*args, **kwargs)
        if joins is not None:
            other, update, is_stream = joins
            self._update = update if self._update is None else self._update
            if is_stream:
                self._sum = (other, self._update, out.detach().clone())
                raise _Heard
            self._alone = False
        self._derived += [t for t in (out if isinstance(out, tuple | list) else (out,)) if isinstance(t, Tensor)]
        return out

    def _joins(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Tensor, Tensor, bool] | None:
        """(other, ours, whether the other is the stream), as they are before a sum of the two; None for no such sum."""
        if getattr(func, "__name__", "") not in _ADDITIONS or kwargs.get("alpha", 1) != 1 or self._heads is None:
            return None
        operands = _tensors(args, kwargs)
        if len(operands) != 2 or operands[0].shape != operands[1].shape:
            return None
        ours = [self._is_derived(operand) for operand in operands]
        if all(ours) or operands[0].numel() != operands[0].shape[-1] * self._heads.shape[0]:
            return None  # not a vector for each query
        update, other = operands if ours[0] else reversed(operands)
        return other.detach().clone(), update.detach().clone(), _among(other, self._earlier)

    def _enter(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if self._heads is None:
            self._earlier.extend(_tensors(args, kwargs))
            self._angles = angles_of(args, kwargs) or self._angles

    def _leave(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], out: Any) -> None:
        if not isinstance(out, Tensor):
            return
        if self._heads is None:
            self._projected.append(out)
        elif self._following and self._linear is None and (weight := _weight(module)) is not None:
            given = next(iter(_tensors(args, kwargs)), None)
            if given is not None and self._is_derived(given) and given.shape[-1] == self._heads[0].numel():
                self._linear = (module, weight, given.detach().clone(), out.detach().clone())

    def _is_derived(self, tensor: Tensor) -> bool:
        return _among(tensor, self._derived)

    def result(self, layer: LayerAttention) -> LayerInside | None:
        """Everything about the layer; None where its call was not heard.

        Args:
            layer: what the call said, values kept.
        """
        if self._heads is None or not isinstance(layer.source, QueriesAndKeys):
            return None
        heads = _plain(self._heads)  # [q, h, dv]
        projection, missing = self._projection(heads), []
        if projection is None:
            missing.append("The output projection was not found: the heads do not go through one linear map.")
        residual = self._residual(projection)
        if residual is None:
            missing.append("The residual addition was not found in the pass.")
        projected, angles = self._before_call
        plain = None if angles is None else unrotated(layer.source.query, layer.source.key, projected, angles)
        return LayerInside(
            attention=layer,
            heads=heads.transpose(0, 1).contiguous(),
            projection=projection,
            residual=residual,
            unrotated=plain,
            missing=tuple(missing),
        )

    def _projection(self, heads: Float[Tensor, "q h dv"]) -> OutputProjection | None:
        if self._linear is None:
            return None
        module, raw, given, out = self._linear
        bias = getattr(module, "bias", None)
        x, y, flat = _plain(given), _plain(out), heads.flatten(1)
        x, y = x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1])
        offset = None if bias is None else _plain(bias.detach())
        # torch's Linear keeps [out, in], transformers' Conv1D [in, out]: the numbers say which
        for weight in (raw.detach().T, raw.detach()):
            if weight.shape != (x.shape[1], y.shape[1]):
                continue
            weight = _plain(weight).contiguous()
            found = x @ weight if offset is None else x @ weight + offset
            if _largest(found - y) <= TOLERANCE.get(out.dtype, 1e-2) * max(_largest(y), 1e-9):
                path = next((name for name, one in self._model.named_modules() if one is module), "")
                changed = _largest(x - flat) if x.shape == flat.shape else float("inf")
                return OutputProjection(path=path, weight=weight, bias=offset, heads=x, output=y, changed=changed)
        return None

    def _residual(self, projection: OutputProjection | None) -> ResidualStep | None:
        if self._sum is None or projection is None or self._sum[0].numel() != projection.output.numel():
            return None
        before, update, after = (_plain(t).reshape(projection.output.shape) for t in self._sum)
        changed = _largest(update - projection.output)
        return ResidualStep(before=before, update=update, after=after, changed=changed, alone=self._alone)


def _weight(module: nn.Module) -> Tensor | None:
    weight = getattr(module, "weight", None)
    return weight if isinstance(weight, Tensor) and weight.ndim == 2 and not isinstance(module, nn.Embedding) else None


def _tensors(args: Any, kwargs: Mapping[str, Any]) -> list[Tensor]:
    """The tensors among arguments; those in lists too, as ``torch.cat`` takes them."""
    found = []
    for value in (*args, *kwargs.values()):
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, tuple | list):
            found += [one for one in value if isinstance(one, Tensor)]
    return found


def _among(tensor: Tensor, others: Any) -> bool:
    """Whether the tensor lies in the memory of one of the others, all of which are held and so keep it."""
    place = tensor.untyped_storage().data_ptr()
    return any(place == other.untyped_storage().data_ptr() for other in others)


def _plain(tensor: Tensor) -> Tensor:
    return tensor.detach().float().cpu()


def _largest(tensor: Tensor) -> float:
    return float(tensor.abs().max()) if tensor.numel() else 0.0

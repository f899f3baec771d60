"""The one place where this package stands between transformers and its attention functions.

Every model that follows transformers' attention interface fetches its attention function by
``AttentionInterface.get_interface`` on each call. That method is wrapped once for the process. The wrapper hands the
function through untouched unless the running context has a listener; then the listener is called in its stead and
calls it. The listener lives in a ``ContextVar``, so threads that share a model do not hear each other.

The method is not public, so the wrap is tested when it is made. Where it does not work, a public way is left: a
registered implementation of a name of its own, which the capture then sets on the model for one pass
(:data:`REGISTERED_NAME`). That way is the second choice because about fifteen architectures compute something else
under a name they do not know.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, Protocol

from torch import Tensor, nn
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, AttentionInterface

AttentionFunction = Callable[..., tuple[Tensor, Tensor | None]]
Interception = Literal["wrapped", "registered"]
REGISTERED_NAME = "tfmviz_recorded"


class Listener(Protocol):
    """Called in place of an attention function; must call it and return what it returned."""

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
    ) -> tuple[Tensor, Tensor | None]: ...


_listener: ContextVar[Listener | None] = ContextVar("tfmviz_listener", default=None)
_lock = threading.Lock()
_installed: Interception | None = None


def install() -> Interception:
    """Put the interception in place, once for the process, and say which one works."""
    global _installed
    with _lock:
        if _installed is None:
            _installed = "wrapped" if _wrap() else _register()
        return _installed


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let ``listener`` hear the attention calls of this context (this thread or task)."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def _wrap() -> bool:
    """Wrap the method; undo it and return False if calls do not come through."""
    original = getattr(AttentionInterface, "get_interface", None)
    if original is None:
        return False

    @functools.wraps(original)
    def get_interface(self: AttentionInterface, attn_implementation: str | None, default: AttentionFunction) -> Any:
        attend = original(self, attn_implementation, default)
        listener = _listener.get()
        return attend if listener is None else functools.partial(listener, attn_implementation, attend)

    AttentionInterface.get_interface = get_interface
    if _comes_through():
        return True
    AttentionInterface.get_interface = original
    return False


def _comes_through() -> bool:
    """Whether a listener is called, and nothing is changed where nobody listens."""
    heard = []

    def attend(*_: Any) -> tuple[Any, None]:
        return None, None

    def listener(implementation: str | None, function: AttentionFunction, *call: Any) -> Any:
        heard.append((implementation, function, call))
        return function(*call)

    try:
        untouched = ALL_ATTENTION_FUNCTIONS.get_interface("eager", attend) is attend
        with listening(listener):  # type: ignore[arg-type]
            ALL_ATTENTION_FUNCTIONS.get_interface("eager", attend)("module", "query")
    except Exception:  # whatever another version of transformers does here, the answer is: it does not work
        return False
    return untouched and heard == [("eager", attend, ("module", "query"))]


def _register() -> Interception:
    """Offer the fused attention under a name of our own, with the masks that go with it."""

    def recorded(module: nn.Module, *call: Any, **options: Any) -> tuple[Tensor, Tensor | None]:
        attend = ALL_ATTENTION_FUNCTIONS["sdpa"]
        listener = _listener.get()
        if listener is None:
            return attend(module, *call, **options)
        return listener("sdpa", attend, module, *call, **options)

    AttentionInterface.register(REGISTERED_NAME, recorded)
    AttentionMaskInterface.register(REGISTERED_NAME, sdpa_mask)
    return "registered"

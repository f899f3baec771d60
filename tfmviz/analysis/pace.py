"""How far a pass of a model is, layer by layer, and a way to end it in the middle."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torch import nn

if TYPE_CHECKING:
    from tfmviz.models import Model


@contextlib.contextmanager
def paced(model: Model, report: Callable[[float], None], *, n_passes: float = 1.0) -> Iterator[None]:
    """Listen to the passes that this thread makes, and say after each layer how far they are.

    A layer is a member of the module's outermost lists. All of them take about as long as each other, whatever the
    length of the text, which the first ones therefore foretell.

    Args:
        model: whose passes; waits until no other pass of it is under way.
        report: told the share that is done, 0 to 1; whatever it raises ends the pass there.
        n_passes: how many passes are made; less than 1 of one that ends early.
    """
    with model.exclusive() as module:
        layers = layers_of(module)
    thread, n_calls, calls = threading.get_ident(), max(n_passes * len(layers), 1.0), 0

    def leave(*_: Any) -> None:
        nonlocal calls
        if threading.get_ident() == thread:
            calls += 1
            report(min(calls / n_calls, 1.0))

    hooks = [layer.register_forward_hook(leave) for layer in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def layers_of(module: nn.Module) -> list[nn.Module]:
    """The members of a module's lists; of a list within a list only the outer one counts."""
    found: list[nn.Module] = []
    for child in module.children():
        found += list(child) if isinstance(child, nn.ModuleList) else layers_of(child)
    return found


__all__ = ["layers_of", "paced"]

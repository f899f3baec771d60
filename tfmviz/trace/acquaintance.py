"""What earlier captures taught about a model, so that a capture is mostly one pass."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from transformers import PreTrainedModel

from tfmviz.trace.layout import CallKey, Layout
from tfmviz.trace.recorder import Way

# In the order in which they are tried.
WAYS: tuple[Way, ...] = ("interface", "fused", "softmax", "reported")
# The attention implementation that a way needs; None: the model's own.
IMPLEMENTATION: Mapping[Way, str | None] = {
    "interface": None,
    "fused": "sdpa",
    "softmax": "eager",
    "reported": "eager",
}

Place = tuple[str, int]  # a stack and a layer of it


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a layer can be changed while it runs.

    Attributes:
        way: how its call is heard.
        key: which call it is.
        n_heads: its heads.
    """

    way: Way
    key: CallKey
    n_heads: int


@dataclass(slots=True, eq=False)
class Acquaintance:
    """One model.

    Attributes:
        layout: its stacks and layers.
        lock: held during a capture.
        useful: the ways that told something; None before the first capture.
        hopeless: the layers that no way told anything about, with the reason.
        reach: by stack and layer, where the layer can be changed; None where it cannot.
    """

    layout: Layout
    lock: threading.RLock = field(default_factory=threading.RLock)
    useful: tuple[Way, ...] | None = None
    hopeless: Mapping[Place, str] = field(default_factory=dict)
    reach: Mapping[str, tuple[Reach | None, ...]] = field(default_factory=dict)

    def order(self, current: str | None) -> tuple[Way, ...]:
        """The ways, most promising first, beginning with one that leaves the model's implementation as it is.

        Args:
            current: the model's own implementation.
        """
        ways = dict.fromkeys((*(self.useful or ()), *WAYS))
        undisturbed = IMPLEMENTATION[next(iter(ways))] in (None, current)
        return tuple(ways if undisturbed else dict.fromkeys(("interface", *ways)))


_known: WeakKeyDictionary[PreTrainedModel, Acquaintance] = WeakKeyDictionary()
_known_lock = threading.Lock()


def acquaintance(model: PreTrainedModel) -> Acquaintance:
    """What is known of this model, across captures and threads."""
    with _known_lock:
        if model not in _known:
            _known[model] = Acquaintance(layout=Layout(model))
        return _known[model]

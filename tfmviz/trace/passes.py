"""The passes that it takes to know every layer of a model, and what is remembered so that there is mostly one."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from weakref import WeakKeyDictionary

from torch import Tensor
from transformers import PreTrainedModel

from tfmviz.trace.fallback import FusedWatch, SoftmaxWatch, Whereabouts, head_counts, implementation, reported
from tfmviz.trace.interception import REGISTERED_NAME, install, listening
from tfmviz.trace.layer import LayerAttention
from tfmviz.trace.layout import CallKey, Layout, ModulePaths
from tfmviz.trace.merged import split_merged
from tfmviz.trace.recorder import Checked, Recorder

# In the order in which they are tried; see tfmviz.trace.fallback.
Way = Literal["own", "fused", "softmax", "reported"]
_WAYS: tuple[Way, ...] = ("own", "fused", "softmax", "reported")
# The attention implementation that a way needs; None: the model's own.
_IMPLEMENTATION: Mapping[Way, str | None] = {"own": None, "fused": "sdpa", "softmax": "eager", "reported": "eager"}
_REPORTED_AS = {
    "self": "attentions",
    "encoder": "encoder_attentions",
    "decoder": "decoder_attentions",
    "cross": "cross_attentions",
}
_NO_ATTENTION = "no attention in this layer"
_NOT_CONFIRMED = "what this layer computes could not be confirmed"

Place = tuple[str, int]  # a stack and a layer of it


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a layer can be changed while it runs."""

    key: CallKey
    n_heads: int


@dataclass(slots=True, eq=False)
class Acquaintance:
    """What earlier captures taught about a model.

    Attributes:
        layout: its stacks and layers.
        lock: held during a capture.
        useful: the ways that told something; None before the first capture.
        hopeless: the layers that no way told anything about.
        reach: by stack and layer, where the layer can be changed; None where it cannot.
    """

    layout: Layout
    lock: threading.RLock = field(default_factory=threading.RLock)
    useful: tuple[Way, ...] | None = None
    hopeless: frozenset[Place] = frozenset()
    reach: Mapping[str, tuple[Reach | None, ...]] = field(default_factory=dict)

    def order(self, current: str | None) -> tuple[Way, ...]:
        """The ways, most promising first, beginning with one that leaves the model's implementation as it is."""
        useful = self.useful or ()
        ways = dict.fromkeys((*useful, *_WAYS))
        first = next(iter(ways))
        undisturbed = _IMPLEMENTATION[first] in (None, current)
        return tuple(ways if undisturbed else dict.fromkeys(("own", *ways)))


_known: WeakKeyDictionary[PreTrainedModel, Acquaintance] = WeakKeyDictionary()
_known_lock = threading.Lock()


def acquaintance(model: PreTrainedModel) -> Acquaintance:
    """What is known of this model, across captures and threads."""
    with _known_lock:
        if model not in _known:
            _known[model] = Acquaintance(layout=Layout(model))
        return _known[model]


def shapes_of(inputs: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Queries and keys of each stack's map, by the lengths of the inputs."""

    def length(*names: str) -> int:
        return next((inputs[name].shape[1] for name in names if isinstance(inputs.get(name), Tensor)), 0)

    source = length("input_ids", "inputs_embeds", "input_features")
    target = length("decoder_input_ids", "decoder_inputs_embeds")
    return {
        "self": (source, source),
        "encoder": (source, source),
        "decoder": (target, target),
        "cross": (target, source) if target else (source, length("encoder_hidden_states")),
    }


class Passes:
    """One capture: as many passes as are needed, each for the layers that those before it left open.

    Attributes:
        output: what the model returned in the first of them, undisturbed.
        layers: by stack; None where nothing is known yet.
    """

    def __init__(
        self,
        known: Acquaintance,
        model: PreTrainedModel,
        inputs: Mapping[str, Any],
        *,
        ablate: Mapping[CallKey, tuple[int, ...]],
        keep_value: bool,
    ) -> None:
        self.output: Any = None
        self.layers: dict[str, list[LayerAttention | None]] = {}
        self._known = known
        self._model = model
        self._inputs = inputs
        self._ablate = ablate
        self._keep_value = keep_value
        self._shapes = shapes_of(inputs)
        self._seen: dict[CallKey, Checked] = {}
        self._tell([])

    def run(self) -> None:
        """Make the passes, and remember which were worth it."""
        useful: list[Way] = []
        for way in self._known.order(self._model.config._attn_implementation):
            if self.output is not None and self._open() <= self._known.hopeless:
                break
            if way == "fused" and not self._model._supports_sdpa:
                continue
            before = self._n_told()
            output = self._pass(way)
            self.output = output if self.output is None else self.output
            if self._n_told() > before:
                useful.append(way)
        if self._known.useful is None:
            self._known.hopeless = frozenset(self._open())
        self._known.useful = tuple(dict.fromkeys((*(self._known.useful or ()), *useful)))
        self._known.reach = self._reach()

    def stacks(self) -> dict[str, tuple[LayerAttention, ...]]:
        """The layers, those without attention with the reason."""
        heard = self._known.layout.arrange(list(self._seen.values()))
        out = {}
        for name, layers in self.layers.items():
            unconfirmed = {i for i, seen in enumerate(heard[name]) if seen is not None}
            out[name] = tuple(
                layer or LayerAttention.none(_NOT_CONFIRMED if i in unconfirmed else _NO_ATTENTION)
                for i, layer in enumerate(layers)
            )
        return out

    def _pass(self, way: Way) -> Any:
        """Run the model once, listening in one way."""
        with implementation(self._model, _IMPLEMENTATION[way]):
            match way:
                case "own":
                    return self._hear_interface()
                case "fused":
                    return self._watch(FusedWatch(*self._where(), ablate=self._ablate, keep_value=self._keep_value))
                case "softmax":
                    shapes, n_heads = set(self._shapes.values()), head_counts(self._model)
                    return self._watch(
                        SoftmaxWatch(*self._where(), ablate=self._ablate, n_heads=n_heads, shapes=shapes)
                    )
                case "reported":
                    output = self._model(**self._inputs, output_attentions=True)
                    self._tell_reported(output)
                    return output

    def _hear_interface(self) -> Any:
        recorder = Recorder(self._known.layout.paths, ablate=self._ablate, keep_value=self._keep_value)
        name = REGISTERED_NAME if install() == "registered" else None
        with implementation(self._model, name), listening(recorder):
            output = self._model(**self._inputs)
        self._tell(recorder.checked())
        return output

    def _where(self) -> tuple[Whereabouts, ModulePaths]:
        return Whereabouts(self._model), self._known.layout.paths

    def _watch(self, watch: FusedWatch | SoftmaxWatch) -> Any:
        with watch.where.followed(), watch:
            output = self._model(**self._inputs)
        # Queries and keys that were heard and did not explain the output would not explain it one level lower.
        rejected = self._seen if isinstance(watch, FusedWatch) else {}
        self._tell([call for call in watch.seen if call.key not in rejected])
        return output

    def _tell(self, calls: list[Checked]) -> None:
        for call in calls:
            if call.key not in self._seen or self._seen[call.key].layer is None:
                self._seen[call.key] = call
        arranged = self._known.layout.arrange(list(self._seen.values()))
        layers = {name: [None if call is None else call.layer for call in places] for name, places in arranged.items()}
        self.layers = split_merged(layers, self._shapes)

    def _tell_reported(self, output: Any) -> None:
        for name, layers in self.layers.items():
            mask = self._inputs.get("attention_mask" if name in ("self", "encoder") else "decoder_attention_mask")
            padding = mask[0] == 0 if isinstance(mask, Tensor) and mask.ndim == 2 else None
            found = reported(getattr(output, _REPORTED_AS[name], None), self._shapes[name], padding)
            if len(found) == len(layers):
                self.layers[name] = [layer or new for layer, new in zip(layers, found, strict=True)]
            elif found and not any(layers):
                self.layers[name] = found

    def _open(self) -> set[Place]:
        return {(name, i) for name, layers in self.layers.items() for i, layer in enumerate(layers) if layer is None}

    def _n_told(self) -> int:
        return sum(layer is not None for layers in self.layers.values() for layer in layers)

    def _reach(self) -> dict[str, tuple[Reach | None, ...]]:
        arranged = self._known.layout.arrange(list(self._seen.values()))
        return {
            name: tuple(
                Reach(call.key, call.layer.n_heads) if call is not None and call.layer is not None else None
                for call in (arranged[name] if len(arranged[name]) == len(layers) else [None] * len(layers))
            )
            for name, layers in self.layers.items()
        }

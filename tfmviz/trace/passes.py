"""The passes that it takes to know every layer of a model."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from torch import Tensor
from transformers import PreTrainedModel

from tfmviz.trace.acquaintance import IMPLEMENTATION, Acquaintance, Place, Reach
from tfmviz.trace.aftermath import Aftermath
from tfmviz.trace.fallback import (
    FusedWatch,
    Shape,
    SoftmaxWatch,
    Whereabouts,
    head_counts,
    implementation,
    reported,
)
from tfmviz.trace.inside import LayerInside
from tfmviz.trace.interception import REGISTERED_NAME, install, listening
from tfmviz.trace.layer import LayerAttention
from tfmviz.trace.layout import CallKey
from tfmviz.trace.merged import split_merged
from tfmviz.trace.recorder import Checked, Recorder, Way

Ablated = Mapping[Way, Mapping[CallKey, tuple[int, ...]]]

CACHES = ("past_key_values", "cache")
_NO_ATTENTION = "no attention in this layer"
_NOT_CONFIRMED = "what this layer computes could not be confirmed"
_NO_MAP = "what this layer reports is no map from token to token"
_REPORTED_AS = {
    "self": "attentions",
    "encoder": "encoder_attentions",
    "decoder": "decoder_attentions",
    "cross": "cross_attentions",
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
        ablate: Ablated,
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
        self._no_map: set[Place] = set()
        self._tell([])

    def run(self) -> None:
        """Make the passes, and remember which were worth it."""
        generating = any(self._inputs.get(name) is not None for name in CACHES)
        useful: list[Way] = []
        for way in self._known.order(self._model.config._attn_implementation):
            if self.output is not None and (generating or self._open() <= set(self._known.hopeless)):
                break  # a second pass would find the first one's keys in the cache
            if way == "fused" and not self._model._supports_sdpa:
                continue
            before = self._n_told()
            output = self._pass(way)
            self.output = output if self.output is None else self.output
            if self._n_told() > before:
                useful.append(way)
        if not generating:
            self._learn(useful)

    def stacks(self) -> dict[str, tuple[LayerAttention, ...]]:
        """The layers; of those without attention, the reason."""
        return {
            name: tuple(layer or LayerAttention.none(self._reason((name, i))) for i, layer in enumerate(layers))
            for name, layers in self.layers.items()
        }

    def _learn(self, useful: list[Way]) -> None:
        known = self._known
        if known.useful is None:
            known.hopeless = {place: self._reason(place) for place in self._open()}
        known.useful = tuple(dict.fromkeys((*(known.useful or ()), *useful)))
        known.reach = self._reach()

    def look_inside(self, place: Place) -> LayerInside | None:
        """Run the model as far as one layer, in the way in which that layer is known to be heard.

        Returns:
            The layer in full; None where it does not hand out its queries, keys and values.
        """
        stack, layer = place
        reach = self._known.reach.get(stack, ())
        there = reach[layer] if layer < len(reach) else None
        if there is None or there.way not in ("interface", "fused"):
            return None
        after = Aftermath(self._model)
        self._pass(there.way, after=after, wanted=there.key)
        found = self.layers[stack][layer]
        return None if found is None else after.result(found)

    def _pass(self, way: Way, *, after: Aftermath | None = None, wanted: CallKey | None = None) -> Any:
        """Run the model once, listening in one way. The others listen along where they have heads to silence.

        Args:
            way: how.
            after: follows what the call ``wanted`` gives out, and ends the pass when it has heard all of it.
            wanted: which call.

        Returns:
            What the model returned; None if it was ended.
        """
        paths, where, ablate = self._known.layout.paths, Whereabouts(self._model), self._ablate

        def returned(key: CallKey, out: Tensor) -> None:
            if after is not None and key == wanted:
                after.begin(out)

        output = None
        with implementation(self._model, IMPLEMENTATION[way]), ExitStack() as around:
            keeps: dict[str, Any] = {"keep_value": self._keep_value, "returned": returned}
            recorder = Recorder(paths, ablate=ablate.get("interface"), **keeps)
            fused = FusedWatch(where, paths, ablate=ablate.get("fused"), **keeps)
            softmax = SoftmaxWatch(
                where,
                paths,
                ablate=ablate.get("softmax"),
                n_heads=head_counts(self._model),
                shapes=set(self._shapes.values()),
            )
            if way == "interface" or ablate.get("interface"):
                around.enter_context(implementation(self._model, _registered_name() if way == "interface" else None))
                around.enter_context(listening(recorder))
            watches = [watch for watch in (fused, softmax) if way == watch.way or ablate.get(watch.way)]
            if watches:
                around.enter_context(where.followed())
            for watch in watches:
                around.enter_context(watch)
            if after is not None:
                around.enter_context(after.followed())
            output = self._model(**self._inputs, **({"output_attentions": True} if way == "reported" else {}))
        match way:
            case "interface":
                self._tell(recorder.checked())
            case "fused":
                # what was heard above and did not explain the output would not explain it here
                self._tell([call for call in fused.seen if call.key not in self._seen])
            case "softmax":
                self._tell(softmax.seen)
            case "reported":
                self._tell_reported(output)
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
            given = getattr(output, _REPORTED_AS[name], None) or ()
            found = reported(given, self._shapes[name], self._padding(name))
            if len(found) == len(layers):
                self._no_map |= {(name, i) for i, one in enumerate(given) if one is not None and found[i] is None}
                self.layers[name] = [layer or new for layer, new in zip(layers, found, strict=True)]
            elif found and not any(layers):
                self.layers[name] = found

    def _padding(self, stack: str) -> Tensor | None:
        mask = self._inputs.get("attention_mask" if stack in ("self", "encoder") else "decoder_attention_mask")
        return mask[0] == 0 if isinstance(mask, Tensor) and mask.ndim == 2 else None

    def _open(self) -> set[Place]:
        return {(name, i) for name, layers in self.layers.items() for i, layer in enumerate(layers) if layer is None}

    def _n_told(self) -> int:
        return sum(layer is not None for layers in self.layers.values() for layer in layers)

    def _reason(self, place: Place) -> str:
        """Why nothing is known of a layer."""
        if place in self._known.hopeless:
            return self._known.hopeless[place]
        stack, layer = place
        heard = self._known.layout.arrange(list(self._seen.values())).get(stack, [])
        if layer < len(heard) and heard[layer] is not None:
            return _NOT_CONFIRMED
        return _NO_MAP if place in self._no_map else _NO_ATTENTION

    def _reach(self) -> dict[str, tuple[Reach | None, ...]]:
        arranged = self._known.layout.arrange(list(self._seen.values()))
        return {
            name: tuple(
                Reach(call.way, call.key, call.layer.n_heads) if call is not None and call.layer is not None else None
                for call in (arranged[name] if len(arranged[name]) == len(layers) else [None] * len(layers))
            )
            for name, layers in self.layers.items()
        }


def shapes_of(inputs: Mapping[str, Any]) -> dict[str, Shape]:
    """Queries and keys of each stack's map, by the lengths of the inputs; 0 where they do not say."""

    def length(*names: str) -> int:
        return next((inputs[name].shape[1] for name in names if isinstance(inputs.get(name), Tensor)), 0)

    cache = next((inputs[name] for name in CACHES if hasattr(inputs.get(name), "get_seq_length")), None)
    past = 0 if cache is None else int(cache.get_seq_length())
    source = length("input_ids", "inputs_embeds", "input_features")
    target = length("decoder_input_ids", "decoder_inputs_embeds")
    return {
        "self": (source, source + past),
        "encoder": (source, source),
        "decoder": (target, target + past),
        "cross": (target, source) if target else (source, length("encoder_hidden_states")),
    }


def _registered_name() -> str | None:
    return REGISTERED_NAME if install() == "registered" else None

"""Which calls hold the heads that somebody wants silenced."""

from __future__ import annotations

from collections.abc import Sequence

from tfmviz.errors import OutOfRange, UnsupportedModel
from tfmviz.trace.acquaintance import Acquaintance
from tfmviz.trace.layout import CallKey
from tfmviz.trace.passes import Ablated
from tfmviz.trace.recorder import Way

# (layer, head) of the first stack, or (stack, layer, head)
Ablation = tuple[int, int] | tuple[str, int, int]


def calls_to_ablate(known: Acquaintance, heads: Sequence[Ablation]) -> Ablated:
    """Heads by the call that computes them, and the calls by how they are heard.

    Raises:
        OutOfRange: if there is no such stack, layer or head.
        UnsupportedModel: if the layer was not heard while it ran, so nothing can be changed there.
    """
    calls: dict[Way, dict[CallKey, tuple[int, ...]]] = {}
    for wanted in heads:
        stack, layer, head = wanted if len(wanted) == 3 else (known.layout.stack_names[0], *wanted)
        places = known.reach.get(stack)
        if places is None:
            raise OutOfRange(f"No stack {stack!r} to ablate in; this model has: {', '.join(known.reach)}.")
        if not 0 <= layer < len(places):
            raise OutOfRange(f"Layer {layer} was to be ablated, and there are {len(places)}: 0 to {len(places) - 1}.")
        place = places[layer]
        if place is None:
            raise UnsupportedModel(f"Layer {layer} cannot be ablated: its attention cannot be reached while it runs.")
        if not 0 <= head < place.n_heads:
            raise OutOfRange(f"Head {head} was to be ablated, and layer {layer} has {place.n_heads}.")
        silenced = calls.setdefault(place.way, {})
        silenced[place.key] = (*silenced.get(place.key, ()), head)
    return calls

"""Who may look at whom: the mask a model really applied, and what its heads would do under another.

Two ways to try a mask. `under` keeps the queries and keys of a pass and masks their scores anew: one layer seen alone,
for any model whose queries and keys were kept. `passed` runs a from-scratch model under the mask from its first layer
on. At layer 0 the two agree, because nothing before it could change.

`leakage` and `padding` measure what a mask is for. Shapes: n tokens, q queries, k keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float

from tfmviz.analysis.masks_leakage import Leakage, leakage, swaps
from tfmviz.analysis.masks_padding import PaddingEffect, padding
from tfmviz.analysis.masks_pass import Passed, passed
from tfmviz.analysis.masks_rules import PATTERNS, Pattern, Runs, Sizes, documents, rule
from tfmviz.errors import ConfigError
from tfmviz.nn import Mask
from tfmviz.trace import AttentionStack, LayerAttention
from tfmviz.trace.mask import Intervals, MaskRule
from tfmviz.trace.source import QueriesAndKeys

__all__ = [
    "PATTERNS",
    "AppliedMask",
    "Leakage",
    "PaddingEffect",
    "Passed",
    "Pattern",
    "Runs",
    "Sizes",
    "applied",
    "difference",
    "documents",
    "leakage",
    "padding",
    "passed",
    "rule",
    "swaps",
    "under",
]
_ROWS_AT_A_TIME = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class AppliedMask:
    """One mask that a model applied in a pass.

    Attributes:
        layers: the layers that applied it.
        name: what it allows, in words.
        share: allowed cells, as a share of all.
    """

    layers: tuple[int, ...]
    name: str
    share: float


def applied(stack: AttentionStack) -> tuple[AppliedMask, ...]:
    """The masks that the layers of a pass really applied, read from what they let through and not from a config.

    Args:
        stack: of a trace.

    Returns:
        One for each different mask, by its first layer; layers without attention are left out. A sliding window wider
        than the text allows the same cells as a causal mask, and is named so.
    """
    groups: dict[bytes | int, tuple[Runs, list[int]]] = {}
    for index, layer in enumerate(stack.layers):
        if not layer.has_attention:
            continue
        key = _key(layer.known.mask) if layer.status == "exact" else index
        if key not in groups:
            groups[key] = (_runs(layer), [])
        groups[key][1].append(index)
    found: dict[tuple[bytes, bytes, bytes], tuple[Runs, list[int]]] = {}
    for runs, layers in groups.values():
        cells = (runs.first.numpy().tobytes(), runs.past.numpy().tobytes(), runs.count.numpy().tobytes())
        found.setdefault(cells, (runs, []))[1].extend(layers)
    return tuple(
        AppliedMask(
            layers=tuple(sorted(layers)),
            name=runs.name,
            share=float(runs.count.sum()) / max(len(runs.count) * runs.n_keys, 1),
        )
        for runs, layers in sorted(found.values(), key=lambda one: min(one[1]))
    )


def _key(mask: MaskRule | None) -> bytes | int:
    """Layers with equal masks share a key; some that differ in kind and not in cells do not, which costs time only."""
    if isinstance(mask, Intervals):
        keys = b"" if mask.keys is None else mask.keys.numpy().tobytes()
        return mask.start.numpy().tobytes() + mask.end.numpy().tobytes() + keys
    return b"" if mask is None else id(mask)


def _runs(layer: LayerAttention) -> Runs:
    rows = torch.arange(layer.n_queries)
    return Runs.joined([Runs.of(layer.visible(0, rows=part)) for part in rows.split(_ROWS_AT_A_TIME)])


def under(stack: AttentionStack, mask: Mask) -> AttentionStack:
    """The same queries and keys under another mask: what every layer, taken alone, would make of it.

    Args:
        stack: of a trace; its layers ran under the model's own mask.
        mask: in place of it.

    Returns:
        A stack that computes its weights when asked. Layers whose queries and keys are not known have none.

    Raises:
        ConfigError: if queries and keys are different tokens, as in cross-attention.
    """
    if stack.query_tokens != stack.key_tokens:
        raise ConfigError(
            f"The {stack.name} stack looks from {len(stack.query_tokens)} tokens at {len(stack.key_tokens)} others: "
            "these masks are for a text that looks at itself. Choose another stack."
        )
    return replace(stack, layers=tuple(_masked(layer, mask) for layer in stack.layers))


def _masked(layer: LayerAttention, mask: Mask) -> LayerAttention:
    match layer.source:
        case QueriesAndKeys() as source:
            return LayerAttention(source=replace(source, mask=mask))
        case _ if layer.has_attention:
            return LayerAttention.none("its weights are the model's own, and its queries and keys are not known")
        case _:
            return layer


def difference(weights: Float[np.ndarray, "q k"], own: Float[np.ndarray, "q k"]) -> float:
    """Mean over queries of the attention that is somewhere else: half the sum of absolute differences, 0 to 1.

    Args:
        weights: of one head under some mask.
        own: of the same head under the model's own.
    """
    return float(np.abs(weights - own).sum(-1).mean() / 2)

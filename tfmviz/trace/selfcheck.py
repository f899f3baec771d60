"""Does the formula give what the layer gave? Each call is checked against its own output.

While the call runs, weights @ value is computed for three rows and laid beside the same rows of what the attention
function returned. The comparison itself waits for the end of the pass, where all layers are compared in one go: a
short text would feel thirty small comparisons, and a GPU thirty waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.trace.mask import View
from tfmviz.trace.source import QueriesAndKeys

# Largest relative difference of weights @ value to the layer's output. Right formulas stay below half of these; wrong
# ones were seen at 1e-2 and above.
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4, torch.float16: 2e-3, torch.bfloat16: 1e-2}
_ROWS_AT_A_TIME = 64


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The same rows twice.

    Attributes:
        computed: weights @ value, [h, r, dv].
        given: what the attention function returned, [h, r, dv].
    """

    computed: Float[Tensor, "h r dv"]
    given: Float[Tensor, "h r dv"]


@dataclass(slots=True)
class Sampler:
    """Takes samples during one pass. Layers that share a mask share the view of the sampled rows."""

    _views: dict[tuple[int, int, int], tuple[object, Tensor, View]] = field(default_factory=dict)

    def sample(self, source: QueriesAndKeys, value: Tensor, out: Tensor, *, every_row: bool = False) -> Sample | None:
        """Both sides of the comparison for one call.

        Args:
            source: the formula.
            value: what the weights are applied to, [kv, k, dv].
            out: what the function returned, [1, q, h, dv].
            every_row: all rows; else three of them. Rows that may look at nothing never count, for there models give
                zeros, means or anything.

        Returns:
            None if ``out`` is of another shape, or no row may look at anything.
        """
        if out.shape != (1, source.n_queries, source.n_heads, value.shape[-1]):
            return None
        if every_row:
            parts = [(rows, source.view(rows)) for rows in torch.arange(source.n_queries).split(_ROWS_AT_A_TIME)]
        else:
            parts = [self._some_rows(source)]
        computed = torch.cat([_mix(source, value, rows, seen) for rows, seen in parts], 1)
        given = out[0] if every_row else out[0].index_select(0, parts[0][0].to(out.device))
        live = _live(parts)
        if live is not None:
            computed, given = computed[:, live], given[live.to(given.device)]
        return Sample(computed, given.transpose(0, 1)) if given.shape[0] else None

    def _some_rows(self, source: QueriesAndKeys) -> tuple[Tensor, View]:
        """Three rows spread out, the last among them; a causal map's first row would tell nothing."""
        n = source.n_queries
        same = (id(source.mask), n, source.n_keys)
        if same not in self._views:
            rows = torch.tensor(sorted({n // 3, n * 2 // 3, n - 1}))
            self._views[same] = (source.mask, rows, source.view(rows))  # the mask is held, so its id stays its own
        return self._views[same][1:]


def _mix(source: QueriesAndKeys, value: Tensor, rows: Tensor, seen: View) -> Float[Tensor, "h r dv"]:
    block = source.block(slice(None), rows, seen)
    seen_value = value[:, seen.first : seen.last].float()
    grouped = block.weights.reshape(value.shape[0], -1, block.weights.shape[-1])  # [kv, h/kv * r, c]
    return (grouped @ seen_value).view(source.n_heads, rows.numel(), -1)


def _live(parts: Sequence[tuple[Tensor, View]]) -> Tensor | None:
    """Which of the rows see anything for some head; None where all do."""
    if all(seen.live is None for _, seen in parts):
        return None
    every = [torch.ones(rows.numel(), dtype=torch.bool) if seen.live is None else seen.live for rows, seen in parts]
    return torch.cat([live.any(0) if live.ndim == 2 else live for live in every])


def residuals(samples: Sequence[Sample | None]) -> list[float | None]:
    """Largest difference of each sample, relative to the largest number given; None where there is no sample."""
    out: list[float | None] = [None] * len(samples)
    alike: dict[tuple[torch.Size, torch.device], list[int]] = {}
    for i, sample in enumerate(samples):
        if sample is not None:
            alike.setdefault((sample.computed.shape, sample.computed.device), []).append(i)
    for group in alike.values():
        chosen = [sample for i in group if (sample := samples[i]) is not None]
        given = torch.stack([sample.given for sample in chosen]).float()
        difference = torch.stack([sample.computed for sample in chosen]).sub_(given)
        largest = given.abs().amax((1, 2, 3)).clamp_(min=1e-9)
        for i, value in zip(group, (difference.abs_().amax((1, 2, 3)) / largest).tolist(), strict=True):
            out[i] = value
    return out

"""Does the formula give what the layer gave? Each call is checked against its own output, while both are at hand."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.trace.source import QueriesAndKeys

# Largest relative difference of weights @ value to the layer's output. Right formulas stay below a tenth to a half
# of these; wrong ones were seen at 1e-2 and above.
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4, torch.float16: 2e-3, torch.bfloat16: 1e-2}


def residual(source: QueriesAndKeys, value: Float[Tensor, "kv k dv"], out: Tensor, *, every_row: bool) -> Tensor | None:
    """Largest relative difference between weights @ value and what the attention function returned.

    Args:
        source: the formula.
        value: what the weights are applied to.
        out: what the function returned, [1, q, h, dv].
        every_row: check all rows; else three of them.

    Returns:
        A scalar on the model's device, so that a pass on a GPU need not wait for it; None if ``out`` is of another
        shape. Rows that may look at nothing do not count: there models give zeros, means or anything.
    """
    if out.shape != (1, source.n_queries, source.n_heads, value.shape[-1]):
        return None
    if not every_row:
        return _of_rows(source, value, out[0], some_rows(source.n_queries))
    parts = torch.arange(source.n_queries).split(128)
    return torch.stack([_of_rows(source, value, out[0], rows) for rows in parts]).max()


def some_rows(n_queries: int) -> Tensor:
    """Three rows spread out, the last among them; a causal map's first row would tell nothing."""
    return torch.tensor(sorted({n_queries // 3, n_queries * 2 // 3, n_queries - 1}))


def _of_rows(source: QueriesAndKeys, value: Tensor, out: Float[Tensor, "q h dv"], rows: Tensor) -> Tensor:
    block = source.block(slice(None), rows)
    n_keys = block.weights.shape[2]
    seen = value[:, block.first_key : block.first_key + n_keys].float()
    mixed = block.weights.reshape(seen.shape[0], -1, n_keys) @ seen  # [kv, h/kv * r, dv]
    mixed = mixed.view(source.n_heads, rows.numel(), -1)
    given = out.index_select(0, rows.to(out.device)).transpose(0, 1).float()
    live = block.weights.amax(-1, keepdim=True) > 0
    return ((mixed - given) * live).abs().max() / (given * live).abs().max().clamp(min=1e-9)

"""Which keys a query may look at, kept in memory that grows with n and not with n².

Every mask that the models here use lets a query see one run of keys: all of them, those before it, a window, a chunk,
a document of a packed batch, minus padding. So a mask is kept as a first and a last key for each query
(:class:`Intervals`), and only a mask that was compared entry by entry and is not of that shape stays a tensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Bool, Int
from torch import Tensor

# Added to a score, -1e4 already gives a weight of exactly 0 in every float type. Models write -10000, the least finite
# number of some type, or minus infinity; all of them mean "hidden".
HIDDEN_BELOW = -1e4
_ROWS_AT_A_TIME = 256


class MaskRule(Protocol):
    """Anything that says which keys are visible. From-scratch models bring their own."""

    def block(self, rows: Tensor, cols: Tensor) -> Tensor:
        """True where the query may look at the key; bool [rows, cols], or [heads, rows, cols]."""


def kept_by(mask: MaskRule | None) -> tuple[Tensor, ...]:
    """What a mask keeps in memory; a rule of another module is taken to keep nothing worth counting."""
    return mask.tensors() if isinstance(mask, Intervals | MaskTensor) else ()


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What some rows see, ready to be applied to their scores.

    Attributes:
        first: no row sees a key before this one.
        last: nor this one or any after it.
        hidden: the parts of ``first..last`` where something is hidden: (begin, end, bool [.., r, end - begin], True =
            hidden). Outside them every row sees every key.
        live: bool [.., r], which rows see anything; None where all do.
    """

    first: int
    last: int
    hidden: tuple[tuple[int, int, Tensor], ...]
    live: Tensor | None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Intervals:
    """Query i sees the keys ``start[i] <= j < end[i]``, less those that ``keys`` hides from everybody.

    Attributes:
        start: int64 [q].
        end: int64 [q]; ``end[i] == start[i]`` where query i may look at nothing.
        keys: bool [k], False for keys hidden in the middle of a run; None where there are none.
        n_keys: k.
    """

    start: Int[Tensor, " q"]
    end: Int[Tensor, " q"]
    keys: Bool[Tensor, " k"] | None
    n_keys: int

    @classmethod
    def causal(cls, n_queries: int, n_keys: int) -> Intervals:
        """Query i sees keys 0..i: the upper-left alignment of ``scaled_dot_product_attention(is_causal=True)``."""
        end = torch.arange(1, n_queries + 1).clamp(max=n_keys)
        return cls(start=torch.zeros_like(end), end=end, keys=None, n_keys=n_keys)

    def block(self, rows: Tensor, cols: Tensor) -> Bool[Tensor, "rows cols"]:
        """True where the query may look at the key."""
        visible = (cols >= self.start[rows, None]) & (cols < self.end[rows, None])
        return visible if self.keys is None else visible & self.keys[cols]

    def span(self, rows: Tensor) -> tuple[int, int, int, int]:
        """(first, last, inner first, inner last): keys that some of ``rows`` see, and that all of them see."""
        start, end = self.start[rows], self.end[rows]
        live = start < end
        if not bool(live.any()):
            return 0, min(1, self.n_keys), 0, 0
        first, last = int(start[live].min()), int(end[live].max())
        if self.keys is not None or not bool(live.all()):
            return first, last, first, first
        return first, last, int(start.max()), int(end.min())

    def tensors(self) -> tuple[Tensor, ...]:
        """What this keeps in memory."""
        return (self.start, self.end) if self.keys is None else (self.start, self.end, self.keys)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MaskTensor:
    """A mask that is not one run of keys a query.

    Attributes:
        visible: bool [1 or h, q, k].
    """

    visible: Bool[Tensor, "h q k"]

    def block(self, rows: Tensor, cols: Tensor) -> Bool[Tensor, "h rows cols"]:
        """True where the query may look at the key."""
        at = self.visible.device
        return self.visible[:, rows.to(at)][:, :, cols.to(at)]

    def tensors(self) -> tuple[Tensor, ...]:
        """What this keeps in memory."""
        return (self.visible,)


def view(mask: MaskRule | None, rows: Tensor, *, n_keys: int, multiple: int = 1) -> View:
    """What ``rows`` see under ``mask``.

    Args:
        mask: None for everything.
        rows: int64 positions on the CPU.
        n_keys: k.
        multiple: the first and last key fall on multiples of this, or on the end.
    """
    if mask is None:
        return View(0, n_keys, (), None)
    first, last, inner_first, inner_last = mask.span(rows) if isinstance(mask, Intervals) else (0, n_keys, 0, 0)
    first, last = first // multiple * multiple, min(-(-last // multiple) * multiple, n_keys)
    whole = inner_first >= inner_last
    edges = ((first, last),) if whole else ((first, inner_first), (inner_last, last))
    hidden = tuple((a, b, ~mask.block(rows, torch.arange(a, b))) for a, b in edges if a < b)
    # where there are inner keys, every row sees them
    live = ~hidden[0][2].all(-1) if whole else None
    return View(first, last, hidden, None if live is None or bool(live.all()) else live)


def for_heads(block: Tensor, heads: slice) -> Tensor:
    """The part of a mask block that belongs to ``heads``, if it differs by head at all."""
    return block[heads] if block.ndim == 3 and block.shape[0] > 1 else block


def compact(mask: Tensor, *, n_queries: int, n_keys: int) -> MaskRule | None:
    """The smallest exact form of a mask.

    Args:
        mask: bool, True = visible, shape [q, k] or [h, q, k]; a query axis of 1 stands for all queries.
        n_queries: q.
        n_keys: k.

    Returns:
        None where everything is visible, :class:`Intervals` where every query sees one run of keys (checked entry by
        entry), else the mask itself.
    """
    mask = mask.detach().reshape(-1, *mask.shape[-2:])[..., :n_keys]
    if mask.shape[0] > 1 and (mask.stride(0) == 0 or all(torch.equal(mask[0], other) for other in mask[1:])):
        mask = mask[:1]  # the same for all heads
    if mask.shape[0] > 1:
        return MaskTensor(visible=mask.expand(-1, n_queries, -1).clone())
    single = mask[0]
    keys = single.any(0).cpu()
    start, end, matches = [], [], True
    cols = torch.arange(n_keys)
    for part in single.split(_ROWS_AT_A_TIME):
        part = part.cpu()
        found = _runs(part)
        start.append(found[0])
        end.append(found[1])
        matches = matches and torch.equal(part, (cols >= found[0][:, None]) & (cols < found[1][:, None]) & keys)
    if not matches:
        return MaskTensor(visible=mask.expand(-1, n_queries, -1).clone())
    starts, ends = torch.cat(start).expand(n_queries).contiguous(), torch.cat(end).expand(n_queries).contiguous()
    if int(starts.max()) == 0 and int(ends.min()) == n_keys and bool(keys.all()):
        return None
    holes = any(not bool(keys[s:e].all()) for s, e in {(int(s), int(e)) for s, e in zip(starts, ends, strict=True)})
    return Intervals(start=starts, end=ends, keys=keys if holes else None, n_keys=n_keys)


def _runs(visible: Bool[Tensor, "q k"]) -> tuple[Int[Tensor, " q"], Int[Tensor, " q"]]:
    """First visible key of each row, and one past the last; 0 and 0 for rows that see nothing."""
    as_bytes = visible.to(torch.uint8)  # argmax knows no bool; of equal values it takes the first
    start = as_bytes.argmax(-1)
    end = visible.shape[-1] - as_bytes.flip(-1).argmax(-1)
    live = visible.any(-1)
    return start * live, end * live

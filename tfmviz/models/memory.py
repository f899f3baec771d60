"""How much memory is free, and how much a pass will take: asked before the pass, so that it can be refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from tfmviz.errors import NotEnoughMemory

if TYPE_CHECKING:
    import torch

# Measured with glibc's allocator on SmolLM2 and MiniLM, 64 to 2,048 tokens: the process grew by 0.5 to 1.5 times what
# the tensors alone take at their highest point, and by a few megabytes on the shortest texts.
SCATTER = 1.5
FLOOR = 8_000_000

_CGROUP = Path("/sys/fs/cgroup")
_LIMITS = (("memory.max", "memory.current", "memory.stat"),)
_LIMITS_V1 = (("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),)


def available_bytes(device: torch.device) -> int:
    """Bytes that a pass on this device may still take.

    On the CPU: what the system counts as available, or less where a container has a limit of its own. On CUDA: free
    on the card, and what torch has reserved there but not handed out. On MPS: what the driver recommends, less what is
    used.
    """
    import torch

    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    free = psutil.virtual_memory().available
    limit = _container_left()
    return free if limit is None else min(free, limit)


@contextlib.contextmanager
def room_for(needed: int, device: torch.device, *, what: str) -> Iterator[None]:
    """Refuse what will not fit before it starts; say the same where it runs out of memory after all.

    Raises:
        NotEnoughMemory: with ``needed`` and what is free; its sentence begins with ``what``.
    """
    import torch

    if needed > (free := available_bytes(device)):
        raise NotEnoughMemory(needed, free, what=what)
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        # on the CPU torch says it with a plain RuntimeError
        if type(error) is RuntimeError and "allocate memory" not in str(error):
            raise
        if device.type == "cuda":
            torch.cuda.empty_cache()
        raise NotEnoughMemory(needed, available_bytes(device), what=what) from error


def _container_left() -> int | None:
    """Bytes left under this container's limit; None without one. File pages that can be dropped count as left."""
    for limit_file, used_file, stat_file in _LIMITS + _LIMITS_V1:
        try:
            limit = (_CGROUP / limit_file).read_text().strip()
            used = int((_CGROUP / used_file).read_text())
            stat = dict(line.split() for line in (_CGROUP / stat_file).read_text().splitlines())
        except (OSError, ValueError):
            continue
        if limit.isdigit():
            return max(0, int(limit) - used + int(stat.get("inactive_file", stat.get("total_inactive_file", 0))))
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class StackShape:
    """One attention stack, as far as memory goes.

    Attributes:
        n_layers: its layers, with those that have no attention.
        n_attending: layers with attention.
        n_heads: query heads.
        n_kv_heads: key heads.
        d_head: width of a query.
        dense: its weights come as n² matrices, not as queries and keys.
        eager: the model itself makes an n² matrix a layer, because it has no fused attention.
    """

    n_layers: int
    n_attending: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    dense: bool = False
    eager: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PassShape:
    """What a model's memory use follows from.

    Attributes:
        d_model: width between the layers.
        d_ff: width inside the feed-forward part.
        n_vocabulary: rows of the language head; 0 without one.
        itemsize: bytes of a number.
    """

    d_model: int
    d_ff: int
    n_vocabulary: int
    itemsize: int


def predicted_bytes(
    shape: PassShape,
    stacks: dict[str, tuple[StackShape, int, int]],
    *,
    n_logits: int,
    padded: bool = False,
    hidden_states: bool = False,
) -> int:
    """What a trace takes at its highest point, over the model itself.

    For each stack of L layers with h heads (kv for keys) of width d, on q queries and k keys, with b bytes a number:

        kept     L b d (h q + kv k)            queries and keys;   or 4 L h q k where only weights are to be had
        working  b q (8 d_model + 3 d_ff)      the widest moment of one layer: residual, projections, gate and product
                 + 3 * 4 h q k                 where the layer makes its matrix: scores, softmax and a copy
                 + 5 q k                       where there is padding: the mask as booleans and as floats

    and (b + 4) n_vocabulary for each position whose logits are asked for. Stacks are kept together and work one after
    the other, so kept adds up and working is the largest. ``hidden_states`` adds b q d_model a layer. All of it counts
    ``SCATTER`` times: what stays lies scattered among what is freed, and the gaps are too small for the next layer.

    Args:
        shape: the model.
        stacks: by name: its shape, its queries q and its keys k.
        n_logits: positions at which the head speaks.
        padded: whether there is padding.
        hidden_states: whether they are kept.
    """
    kept, working = 0, 0
    for stack, q, k in stacks.values():
        width = shape.itemsize * stack.d_head
        exact = width * (stack.n_heads * q + stack.n_kv_heads * k)
        kept += stack.n_attending * (4 * stack.n_heads * q * k if stack.dense else exact)
        kept += stack.n_layers * shape.itemsize * q * shape.d_model if hidden_states else 0
        layer = shape.itemsize * q * (8 * shape.d_model + 3 * shape.d_ff)
        layer += 3 * 4 * stack.n_heads * q * k if stack.dense or stack.eager else 0
        working = max(working, layer + (5 * q * k if padded else 0))
    return FLOOR + int(SCATTER * (kept + working + (shape.itemsize + 4) * shape.n_vocabulary * n_logits))

"""How much memory this machine, or its accelerator, has in all."""

from __future__ import annotations

import psutil

from tfmviz.models.device import resolve_device


def machine_bytes(device: str = "auto") -> int:
    """Bytes of memory of a device, taken or free.

    Args:
        device: "auto", "cpu", "cuda", "cuda:1" or "mps".

    Raises:
        UnknownDevice: if this machine has no such device.
    """
    import torch

    where = resolve_device(device)
    if where.type == "cuda":
        return int(torch.cuda.get_device_properties(where).total_memory)
    if where.type == "mps":
        return int(torch.mps.recommended_max_memory())
    return int(psutil.virtual_memory().total)

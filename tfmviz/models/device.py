"""Where the numbers are computed, and in which float format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tfmviz.errors import ConfigError, UnknownDevice

if TYPE_CHECKING:
    import torch

_NAME = re.compile(r"auto|cpu|mps|cuda(:\d{1,3})?")


def devices() -> tuple[str, ...]:
    """The devices of this machine, the best first: every CUDA card, MPS, the CPU."""
    import torch

    cards = tuple(f"cuda:{card}" for card in range(torch.cuda.device_count())) if torch.cuda.is_available() else ()
    return (*cards, *(("mps",) if torch.backends.mps.is_available() else ()), "cpu")


def resolve_device(name: str | torch.device) -> torch.device:
    """The device meant by a name.

    Args:
        name: "auto" (the best there is), "cpu", "mps", "cuda" (its first card) or "cuda:1"; or torch's own.

    Raises:
        UnknownDevice: if it is not one of these or this machine does not have it; the message lists what there is.
    """
    import torch

    here, name = devices(), str(name)
    if not _NAME.fullmatch(name):
        raise UnknownDevice(f"{name[:40]!r} names no device. This machine has: {', '.join(here)}; or say auto.")
    wanted = here[0] if name == "auto" else "cuda:0" if name == "cuda" else name
    if wanted not in here:
        raise UnknownDevice(f"This machine has no device {name!r}. It has: {', '.join(here)}.")
    return torch.device(wanted)


def resolve_dtype(dtype: torch.dtype | str | None) -> torch.dtype:
    """The float format of the weights and of the pass.

    None means float32, on every device: attention is then equal to Hugging Face's within 1e-5, and the checkpoints
    that people look at are small. Half formats halve the memory and move weights by up to 4e-2.

    Raises:
        ConfigError: if it is not float32, bfloat16 or float16.
    """
    import torch

    formats = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    name = "float32" if dtype is None else str(dtype).removeprefix("torch.")
    if name not in formats:
        raise ConfigError(f"dtype={dtype!r} is not a format to run in. Use one of: {', '.join(formats)}.")
    return formats[name]

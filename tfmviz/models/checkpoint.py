"""What a folder of weights must be before anything in it is opened: safetensors, whole, with a config."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfmviz.errors import CheckpointError

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".msgpack")
MAX_HEADER = 100_000_000  # bytes; the format's own limit
_BYTES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}

AS_SAFETENSORS = (
    "Save it again from a machine that you trust it on: "
    "AutoModel.from_pretrained(folder).save_pretrained(folder, safe_serialization=True)."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A folder whose config and weights have been looked at and found whole.

    Attributes:
        folder: where it lies.
        config: ``config.json``.
        weights: the safetensors files.
        names: every tensor's name.
        n_values: numbers in all tensors together.
    """

    folder: Path
    config: dict[str, Any]
    weights: tuple[Path, ...]
    names: frozenset[str]
    n_values: int


def inspect(folder: Path) -> Checkpoint:
    """Look at a folder of weights without loading it.

    Raises:
        CheckpointError: if the config is missing or damaged, a weight file is missing, cut short or damaged, or the
            weights come only in a format that can run code when it is opened (pickle).
    """
    config = read_json(folder / "config.json", needed=f"{folder.name} is not a model's folder: it has no config.json.")
    if (folder / "adapter_config.json").exists():
        raise CheckpointError(f"{folder.name} holds an adapter to another model. Merge it into its model first.")
    weights = _weight_files(folder)
    names: set[str] = set()
    n_values = 0
    for path in weights:
        header = read_header(path)
        names.update(header)
        n_values += sum(_count(entry) for entry in header.values())
    return Checkpoint(folder=folder, config=config, weights=weights, names=frozenset(names), n_values=n_values)


def read_json(path: Path, *, needed: str) -> dict[str, Any]:
    """A JSON object from a file.

    Raises:
        CheckpointError: with the words of ``needed`` if there is no such file; if it is not a JSON object.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(needed) from error
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path.name} is damaged: {error}. Download or save the model again.") from error
    if not isinstance(found, dict):
        raise CheckpointError(f"{path.name} holds {type(found).__name__} where an object is expected.")
    return found


def _weight_files(folder: Path) -> tuple[Path, ...]:
    if (folder / INDEX).exists():
        shards = read_json(folder / INDEX, needed=INDEX).get("weight_map")
        if not isinstance(shards, dict) or not shards:
            raise CheckpointError(f"{INDEX} lists no weights. Download the model again.")
        names = sorted({str(name) for name in shards.values()})
        if outside := [name for name in names if Path(name).name != name or not name.endswith(".safetensors")]:
            raise CheckpointError(f"{INDEX} points at {outside[0]!r}, which is no safetensors file of this folder.")
        return tuple(_existing(folder / name) for name in names)
    if (folder / SINGLE).is_file():
        return (folder / SINGLE,)
    pickles = sorted(path.name for path in folder.iterdir() if path.suffix.lower() in PICKLES)
    if pickles:
        raise CheckpointError(
            f"{folder.name} has its weights only as {pickles[0]}, a format that can run code when it is opened, "
            f"so it is never loaded. {AS_SAFETENSORS}"
        )
    raise CheckpointError(f"{folder.name} has no {SINGLE}.")


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise CheckpointError(f"{path.name}, a part of the weights, is missing. Download the model again.")
    return path


def read_header(path: Path) -> dict[str, dict[str, Any]]:
    """Each tensor's type, shape and place in a safetensors file.

    Raises:
        CheckpointError: if the file is cut short, longer than it says, or not a safetensors file.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            text = file.read(length) if 2 <= length <= min(MAX_HEADER, size - 8) else b""
    except OSError as error:
        raise CheckpointError(f"{path.name} cannot be read: {error.strerror}. Is it yours to read?") from error
    if not text:
        raise CheckpointError(f"{path.name} is damaged or no safetensors file ({size:,} bytes). Download it again.")
    try:
        header = json.loads(text)
        header.pop("__metadata__", None)
        end = max((_place(entry)[1] for entry in header.values()), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise CheckpointError(f"{path.name} is damaged: its header lists no tensors. Download it again.") from error
    if 8 + length + end != size:
        raise CheckpointError(f"{path.name} is damaged: {size:,} bytes of {8 + length + end:,}. Download it again.")
    return dict(header)


def _place(entry: dict[str, Any]) -> tuple[int, int]:
    """First byte of a tensor and one past its last; raises ValueError, KeyError or TypeError for anything else."""
    start, end = entry["data_offsets"]
    if not isinstance(start, int) or not isinstance(end, int):
        raise TypeError(f"{start!r} to {end!r} are no bytes")
    return start, end


def _count(entry: dict[str, Any]) -> int:
    start, end = _place(entry)
    return (end - start) // _BYTES.get(str(entry.get("dtype")), 1)

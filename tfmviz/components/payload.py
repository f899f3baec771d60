"""Numbers for the browser: a length, a JSON header, then raw arrays. Sent as bytes, nothing is re-encoded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

_ALIGN = 8
_DTYPES = frozenset({"uint8", "uint16", "uint32", "int32", "float32"})


def pack(header: Mapping[str, Any], **arrays: np.ndarray) -> bytes:
    """Pack a header and arrays into one message.

    Layout: uint32 little-endian length of the header, the header as UTF-8 JSON padded with blanks so that the arrays
    start on a multiple of eight, then each array in C order, likewise padded. The header gains ``arrays`` (name,
    dtype, shape and offset from the first array) and ``version``, a hash of everything else: a browser that already
    shows this version has nothing to do.

    Raises:
        ValueError: an array's dtype is not one that the browser reads directly.
    """
    table: dict[str, dict[str, Any]] = {}
    blobs: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        if array.dtype.name not in _DTYPES:
            raise ValueError(f"{name} is {array.dtype.name}; one of {sorted(_DTYPES)} can be sent")
        blob = np.ascontiguousarray(array).tobytes()
        table[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset}
        blobs.append(blob + bytes(-len(blob) % _ALIGN))
        offset += len(blobs[-1])
    described = {**header, "arrays": table}
    body = b"".join(blobs)
    version = blake2b(_json(described) + body, digest_size=6).hexdigest()
    head = _json({**described, "version": version})
    head += b" " * (-(len(head) + 4) % _ALIGN)
    return len(head).to_bytes(4, "little") + head + body


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a message back into its header and arrays; what the browser does, for tests and exports."""
    length = int.from_bytes(message[:4], "little")
    header = json.loads(message[4 : 4 + length])
    base = 4 + length
    arrays = {}
    for name, spec in header["arrays"].items():
        count = int(np.prod(spec["shape"], dtype=np.int64))
        flat = np.frombuffer(message, dtype=spec["dtype"], count=count, offset=base + spec["offset"])
        arrays[name] = flat.reshape(spec["shape"])
    return header, arrays


def _json(value: Mapping[str, Any]) -> bytes:
    # NaN is no JSON: the browser would fail to parse it, so it is an error here instead of a blank picture there.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")

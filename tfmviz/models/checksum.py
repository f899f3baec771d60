"""sha256 of weight files, worked out once a file and remembered while its size and time stay the same."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

from tfmviz.errors import CheckpointError
from tfmviz.models.cache import cache_dir, write_atomically
from tfmviz.models.progress import Meter, Report

BLOCK = 4 << 20


def sha256_of(path: Path, report: Report | None = None) -> str:
    """sha256 of a file in hexadecimal. A file that has not changed since the last time is not read again."""
    path = path.resolve()
    stat = path.stat()
    mark = [stat.st_size, stat.st_mtime_ns]
    known = _remembered().get(str(path))
    if known and known[:2] == mark:
        return str(known[2])
    digest = hashlib.sha256()
    with Meter(report, "checking", stat.st_size) as meter, path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
            meter.add(len(block))
    _remember(str(path), [*mark, digest.hexdigest()])
    return digest.hexdigest()


def check_sha256(path: Path, expected: str, report: Report | None = None) -> None:
    """Compare a file with the sha256 that it should have.

    Raises:
        CheckpointError: if they differ, with both.
    """
    found = sha256_of(path, report)
    if found != expected:
        raise CheckpointError(
            f"The weights {path.name} are damaged or are not what they claim to be: sha256 {found}, "
            f"expected {expected}. Delete the file and install or download it again."
        )


def _record() -> Path:
    return cache_dir() / "checksums.json"


def _remembered() -> dict[str, list[int | str]]:
    try:
        known = json.loads(_record().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remember(path: str, row: list[int | str]) -> None:
    # Two processes at once may lose one row, which is then worked out again; a folder that cannot be written
    # costs the time of a new sum at each start.
    with contextlib.suppress(OSError):
        write_atomically(_record(), json.dumps(_remembered() | {path: row}))

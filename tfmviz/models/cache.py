"""The folder where what is worked out once is kept, and the rule for when the network may be used."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_OFFLINE = ("TFMVIZ_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def cache_dir() -> Path:
    """Folder for converted weights and remembered checksums: ``$TFMVIZ_CACHE``, else ``~/.cache/tfmviz``."""
    named = os.environ.get("TFMVIZ_CACHE")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "tfmviz"


def downloads_allowed(asked: bool | None = None) -> bool:
    """Whether the Hub may be asked. The environment can forbid it; an argument cannot overrule that."""
    if any(os.environ.get(name, "").strip().lower() in ("1", "true", "yes", "on") for name in _OFFLINE):
        return False
    return asked is not False


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new one, never a part of either.

    Raises:
        OSError: if the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

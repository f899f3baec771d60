"""Tables, and the file RESULTS.md that keeps the last run of each benchmark."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

RESULTS = Path(__file__).parent / "RESULTS.md"
_TITLE = (
    "# Results\n\nWritten by the scripts in this folder. Timings on a shared machine are noisy:"
    " read the ratios, which were all taken inside one run.\n"
)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A markdown table; the first column is left-aligned, the others right-aligned."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *rows])


def machine(*packages: str) -> str:
    """One sentence: processor, cores, memory, how busy it was, and the versions that the figures depend on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = psutil.virtual_memory().total / 2**30
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return (
        f"{cores} cores of an {_processor()}, {memory:.0f} GB of memory, no GPU, {platform.system()}; "
        f"Python {platform.python_version()}, {versions}; load average {os.getloadavg()[0]:.1f} at the end; "
        f"{datetime.now(UTC):%d %B %Y}."
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(\w+ \w+)", cpuinfo.read_text()) if cpuinfo.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def write(section: str, body: str) -> None:
    """Replace one section of RESULTS.md (or add it), leave the others as they are."""
    old = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else _TITLE
    begin, end = f"<!-- {section} -->", f"<!-- end of {section} -->"
    block = f"{begin}\n{body.strip()}\n{end}\n"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end) + "\n?", re.DOTALL)
    new = pattern.sub(lambda _: block, old) if begin in old else f"{old}\n{block}"
    RESULTS.write_text(new, encoding="utf-8")

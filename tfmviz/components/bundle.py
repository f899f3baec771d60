"""One component's browser code as one text, from the small modules it is written in."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "assets" / "components"

# Streamlit loads a component's script from a blob, where a relative import has nothing to be relative to.
_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./(?P<name>[\w-]+\.js)";?[ \t]*\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default\b)", re.MULTILINE)


@cache
def script(entry: str) -> str:
    """Join a module of ``assets/components`` with the modules it imports, each once, imported ones first.

    Only ``import { a, b } from "./file.js"`` is understood, and top-level names must differ between modules, since
    they end in one scope.
    """
    seen: set[str] = set()
    parts: list[str] = []

    def add(name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        text = (ASSETS / name).read_text(encoding="utf-8")
        for match in _IMPORT.finditer(text):
            add(match["name"])
        parts.append(_EXPORT.sub("", _IMPORT.sub("", text)))

    add(entry)
    return "\n".join(parts)


@cache
def styles(*names: str) -> str:
    """Join style sheets of ``assets/components``."""
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)

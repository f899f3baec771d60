"""One component's browser code as one text, from the small modules it is written in."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "assets" / "components"

# Streamlit loads a component's script from a blob, where a relative import has nothing to be relative to.
_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./(?P<name>[\w-]+\.js)";?[ \t]*\n', re.MULTILINE)
# The script travels with every new picture: what only its readers need stays here.
_FOR_READERS = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*.*?\*/)[ \t]*\n|^[ \t]+|^\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?!default\b)", re.MULTILINE)


@cache
def script(entry: str) -> str:
    """Join a module of ``assets/components`` with the modules it imports, each once, imported ones first.

    Only ``import { a, b } from "./file.js"`` is understood, and top-level names must differ between modules, since
    they end in one scope. Comments on lines of their own and indentation are left out.
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
    return _FOR_READERS.sub("", "\n".join(parts))


@cache
def styles(*names: str) -> str:
    """Join style sheets of ``assets/components``."""
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)

"""The texts in the pages' expanders: what KaTeX is given is a formula and not the rest of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

TEXTS = sorted((Path(__file__).resolve().parents[3] / "assets" / "texts").glob("*.md"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_formula_is_closed_where_its_reader_looks_for_the_end(path: Path) -> None:
    """A line that opens with two dollars closes with two; a formula of several lines has its dollars on lines alone."""
    fences = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() == "$$":
            fences += 1
        elif "$$" in line:
            assert fences % 2 == 0, line
            assert line.startswith("$$"), line
            assert line.rstrip().endswith("$$"), line
            assert line.count("$$") == 2, line
    assert fences % 2 == 0

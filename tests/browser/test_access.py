"""The page can be used by people who do not see it, or do not use a mouse: axe finds no serious violation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

APP = Path(__file__).resolve().parents[2] / "app.py"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_serious(
    serve: Callable[[Path], str], visit: Callable[..., Page], dark: bool, width: int
) -> None:
    page = visit(serve(APP) + "/?pair=And+the+dog+slept.", dark=dark, width=width)
    page.wait_for_selector(".st-key-atlas [data-ready]", timeout=120_000)
    page.wait_for_selector(".st-key-head_map .heatmaplayer image")
    page.wait_for_timeout(800)
    found = Axe().run(page).response["violations"]
    serious = [
        (rule["id"], [node["html"][:160] for node in rule["nodes"]][:3])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
    assert serious == []

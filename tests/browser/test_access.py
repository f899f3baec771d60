"""The page can be used by people who do not see it, or do not use a mouse: axe finds no serious violation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tfmviz.charts.palette import palette, rgb

APP = Path(__file__).resolve().parents[2] / "app.py"


def drawn(page: Page) -> Page:
    page.wait_for_selector(".st-key-atlas [data-ready]", timeout=120_000)
    page.wait_for_selector(".st-key-head_map .heatmaplayer image")
    page.wait_for_selector('[data-test-script-state="notRunning"]')
    return page


@pytest.fixture(scope="module", params=[1400, 390])
def opened(serve: Callable[[Path], str], visit_once: Callable[..., Page], request: pytest.FixtureRequest) -> Page:
    return drawn(visit_once(serve(APP) + "/?pair=And+the+dog+slept.", width=request.param))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(opened: Page, dark: bool) -> None:
    if dark:  # while the page is open: the charts follow
        opened.emulate_media(color_scheme="dark")
    ground, ink = (f"rgb{rgb(colour)}" for colour in (palette(dark).background, palette(dark).ink))
    expect(opened.locator(".stApp")).to_have_css("background-color", ground)
    expect(opened.locator(".st-key-head_map .gtitle").first).to_have_css("fill", ink)
    found = Axe().run(opened).response["violations"]
    serious = [
        (rule["id"], [node["html"][:160] for node in rule["nodes"]][:3])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
    assert serious == []

"""The Positions page in a real Chromium: what is drawn, what a choice changes, and that a link reopens it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

APP = Path(__file__).resolve().parents[2] / "app.py"
TEXT = "The cat sat on the mat. The dog on the cat."
SLOW = 120_000

Open = Callable[..., Page]


@pytest.fixture
def positions(serve: Callable[[Path], str], visit: Open) -> Open:
    """Open the page through the menu, as a visitor does."""

    def open_page(**options: object) -> Page:
        page = visit(f"{serve(APP)}/?{urlencode({'text': TEXT, 'model': 'minilm'})}", **options)
        page.wait_for_selector(".st-key-atlas [data-ready]", timeout=SLOW)
        page.wait_for_selector(".st-key-head_map .heatmaplayer image", timeout=SLOW)
        if options.get("width", 1400) == 390:
            page.get_by_test_id("stExpandSidebarButton").click()
        page.get_by_test_id("stSidebarNav").get_by_role("link", name="Positions").click()
        page.wait_for_selector(".st-key-dots .scatterlayer path.js-line", timeout=SLOW)
        return page

    return open_page


def test_the_curves_are_the_papers_and_a_link_reopens_the_view(positions: Open) -> None:
    page = positions()
    drawn = np.array(
        page.wait_for_function(  # between two pictures there is none for a moment
            """() => document.querySelector(".st-key-dots .js-plotly-plot")?.calcdata?.[0].map((p) => p.y)"""
        ).json_value()
    )
    speeds = 10_000.0 ** (-np.arange(32) / 32)
    expected = np.cos(np.arange(128)[:, None] * speeds).mean(1)
    assert np.abs(drawn - expected).max() < 1e-4
    page.locator(".st-key-position_view").get_by_text("order", exact=True).click()
    expect(page.get_by_text("Without positions, shuffling the text")).to_be_visible(timeout=SLOW)
    page.wait_for_selector(".st-key-scheme_relative .heatmaplayer image")
    again = page.context.new_page()  # of the same context, but not watched for the addresses Streamlit tries first
    again.goto(page.url)
    again.wait_for_selector(".st-key-scheme_relative .heatmaplayer image", timeout=SLOW)
    assert "position_view=order" in again.url


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (390, True)])
def test_axe_finds_nothing_serious(positions: Open, dark: bool, width: int) -> None:
    page = positions(dark=dark, width=width)
    page.wait_for_timeout(800)
    found = Axe().run(page).response["violations"]
    serious = [
        (rule["id"], [node["html"][:160] for node in rule["nodes"]][:3])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
    assert serious == []

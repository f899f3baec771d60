"""The Masks page in a real Chromium: what is drawn, what a click changes, and that a link reopens it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tfmviz.models import Model

APP = Path(__file__).resolve().parents[2] / "app.py"
TEXT = "The cat sat on the mat. The dog on the cat."
SLOW = 120_000

Open = Callable[..., Page]


@pytest.fixture
def masks(serve: Callable[[Path], str], visit: Open) -> Open:
    """Open the page through the menu, as a visitor does, with this text and model."""

    def open_page(model: str = "minilm", **options: object) -> Page:
        page = visit(f"{serve(APP)}/?{urlencode({'text': TEXT, 'model': model})}", **options)
        page.wait_for_selector(".st-key-atlas [data-ready]", timeout=SLOW)
        page.wait_for_selector(".st-key-head_map .heatmaplayer image", timeout=SLOW)
        if options.get("width", 1400) == 390:
            page.get_by_test_id("stExpandSidebarButton").click()
        page.get_by_test_id("stSidebarNav").get_by_role("link", name="Masks").click()
        page.wait_for_selector(".st-key-mask_document .heatmaplayer image", timeout=SLOW)
        page.wait_for_selector(".st-key-mask_map .heatmaplayer image", timeout=SLOW)
        return page

    return open_page


def drawn(page: Page, key: str) -> np.ndarray:
    """The numbers of a map as the browser has them; open cells are NaN."""
    rows = page.wait_for_function(  # between two pictures there is none for a moment
        """(key) => document.querySelector(`.st-key-${key} .js-plotly-plot`)?.calcdata?.[0][0].z
                  .map((row) => [...row].map((value) => Number.isFinite(value) ? value : -9))""",
        arg=key,
    )
    z = np.array(rows.json_value(), dtype=np.float32)
    return np.where(z == -9, np.nan, z)


def test_the_panels_hold_the_weights(masks: Open, minilm: Model) -> None:
    page = masks()
    n = len(minilm.tokenize(TEXT))
    own = minilm.trace(TEXT, pad_to=n + 3)["self"].weights(0, 2).numpy()
    assert np.nanmax(np.abs(drawn(page, "mask_own") - own)) < 1e-5
    causal = drawn(page, "mask_causal")
    assert np.isnan(causal[np.triu_indices(n + 3, 1)]).all()
    assert np.abs(np.nansum(causal, axis=1) - 1).max() < 1e-5


def test_allowed_shows_every_allowed_cell_and_no_other(masks: Open) -> None:
    page = masks()
    page.locator(".st-key-show").get_by_text("allowed", exact=True).click()
    page.wait_for_function(
        """() => { const trace = document.querySelector(".st-key-mask_sliding .js-plotly-plot")?.calcdata?.[0][0].trace;
                   return trace?.zmin === 0 && !trace.showscale; }"""
    )
    cells = ~np.isnan(drawn(page, "mask_sliding"))
    n = len(cells)
    assert np.array_equal(cells, np.tri(n, dtype=bool) & ~np.tri(n, k=-4, dtype=bool))


def test_a_closer_look_is_kept_in_the_address(masks: Open) -> None:
    page = masks()
    page.locator(".st-key-mask").get_by_text("prefix", exact=True).click()
    page.wait_for_function(
        """() => document.querySelector(".st-key-mask_map .gtitle")?.textContent.includes("prefix mask")"""
    )
    assert "mask=prefix" in page.url


def test_a_link_reopens_the_view(masks: Open) -> None:
    page = masks("scratch-minilm")
    page.locator(".st-key-mask_view").get_by_text("leakage", exact=True).click()
    expect(page.get_by_text("Under the causal mask none of the")).to_be_visible(timeout=SLOW)
    again = page.context.new_page()  # of the same context, but not watched for the addresses Streamlit tries first
    again.goto(page.url)
    expect(again.get_by_text("Under the causal mask none of the")).to_be_visible(timeout=SLOW)
    assert "mask_view=leakage" in again.url
    again.wait_for_selector(".st-key-movement_causal .heatmaplayer image")
    moved = drawn(again, "movement_causal")
    at = int(np.flatnonzero(~np.isnan(moved[0]))[0])
    assert np.isnan(moved[:, :at]).all()
    assert not np.isnan(moved[1:, at:]).any()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_serious(masks: Open, dark: bool, width: int) -> None:
    page = masks(dark=dark, width=width)
    page.wait_for_timeout(800)
    found = Axe().run(page).response["violations"]
    serious = [
        (rule["id"], [node["html"][:160] for node in rule["nodes"]][:3])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
    assert serious == []

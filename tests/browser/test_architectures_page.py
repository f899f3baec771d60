"""The Architectures page in a real Chromium: five atlases and one ring."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser
APP = Path(__file__).resolve().parents[2] / "app.py"
SLOW = 240_000
SMALL = "&".join(f"{kind}={quote('small, untrained')}" for kind in ("encoder", "decoder", "encoder_decoder"))
NOTHING = "Hover names a head, a click chooses it"

Open = Callable[..., Page]


@pytest.fixture
def architectures(serve: Callable[[Path], str], visit: Open) -> Open:
    def open_page(address: str = SMALL, **options: Any) -> Page:
        return visit(serve(APP) + "/architectures?" + address, **options)

    return open_page


def three(page: Page) -> Page:
    """Wait for all pictures of the first view."""
    page.wait_for_function(
        """() => document.querySelectorAll("[class*=st-key-atlas_] [data-ready]").length === 5 &&
                 document.querySelectorAll("[class*=st-key-diagram_] .js-plotly-plot").length === 3 &&
                 document.querySelector(".st-key-head_map .heatmaplayer image")""",
        timeout=SLOW,
    )
    return page


def status(page: Page, stack: str) -> Locator:
    return page.locator(f".st-key-atlas_{stack} .status")


def test_a_click_in_another_stack_takes_the_ring_there(architectures: Open) -> None:
    page = three(architectures(SMALL + "&text=The+cat+sat.&stack=cross"))
    expect(status(page, "cross")).to_have_text(re.compile("^L0 H0"))
    for stack in ("encoder_only", "decoder_only", "encoder", "decoder"):
        expect(status(page, stack)).to_have_text(NOTHING)
    page.locator(".st-key-atlas_decoder_only [role=application]").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function(
        """() => document.querySelectorAll(".st-key-head_map").length === 1 &&
                 document.querySelector(".st-key-head_map .gtitle")?.textContent === "decoder-only L1 H2" """,
        timeout=SLOW,
    )
    expect(status(page, "cross")).to_have_text(NOTHING)
    page.wait_for_function("() => location.search.includes('stack=decoder-only') && location.search.includes('head=2')")

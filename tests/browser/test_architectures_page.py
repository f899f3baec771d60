"""The Architectures page in a real Chromium: three kinds on one text, one ring, and trainings that run to their end."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser
APP = Path(__file__).resolve().parents[2] / "app.py"
SLOW = 240_000
SMALL = "&".join(f"{kind}={quote('small, untrained')}" for kind in ("encoder", "decoder", "encoder_decoder"))
STILL = '[data-test-script-state="notRunning"]'
NOTHING = "Hover names a head, a click chooses it"

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def page(serve: Callable[[Path], str], visit_once: Open) -> Page:
    """The three kinds on a phone, the ring in the third stack of the encoder-decoder; tests go on from one another."""
    url = serve(APP) + "/architectures?" + SMALL + "&text=The+cat+sat.&stack=cross"
    page = visit_once(url, width=390, height=844, touch=True)
    page.wait_for_function(
        """() => document.querySelectorAll("[class*=st-key-atlas_] [data-ready]").length === 5 &&
                 document.querySelectorAll("[class*=st-key-diagram_] .js-plotly-plot").length === 3 &&
                 document.querySelector(".st-key-head_map .heatmaplayer image")""",
        timeout=SLOW,
    )
    return page


def status(page: Page, stack: str) -> Locator:
    return page.locator(f".st-key-atlas_{stack} .status")


def serious(page: Page) -> list[tuple[str, list[str]]]:
    """What axe holds against a page, those of weight."""
    return [
        (rule["id"], [node["html"][:160] for node in rule["nodes"]][:3])
        for rule in Axe().run(page).response["violations"]
        if rule["impact"] in ("serious", "critical")
    ]


def test_a_click_in_another_stack_takes_the_ring_there(page: Page) -> None:
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


def test_axe_finds_nothing_serious_and_a_phone_has_room(page: Page) -> None:
    assert page.get_by_test_id("stMain").evaluate("(node) => node.scrollWidth") <= 390
    page.wait_for_selector(STILL)
    assert serious(page) == []
    page.locator(".st-key-view").get_by_role("radio", name="depth").click()
    expect(page.locator(".st-key-by_depth .js-plotly-plot")).to_be_visible(timeout=SLOW)
    page.wait_for_selector(STILL, timeout=SLOW)
    assert serious(page) == []

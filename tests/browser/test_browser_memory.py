"""The Memory page in a real Chromium: points appear as they are measured, a measurement is stopped, a link reopens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

APP = Path(__file__).resolve().parents[2] / "app.py"
SLOW = 120_000

Open = Callable[..., Page]
# Tables that are wider than the screen, and cells of numbers that take two lines.
TABLES = """() => {
    const lines = (cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map((box) => Math.round(box.bottom))).size;
    };
    const all = (what) => [...document.querySelectorAll(`[data-testid="stMarkdownContainer"] ${what}`)];
    return {
        "cut off": all("table").filter((table) => table.getBoundingClientRect().right > innerWidth).length,
        "numbers without their unit": all('td[style*="right"]').filter((cell) => lines(cell) > 1).length,
    };
}"""


@pytest.fixture
def memory(serve: Callable[[Path], str], visit: Open) -> Open:
    """Open the page at its address with these choices in it."""

    def open_page(query: dict[str, str], **options: object) -> Page:
        page = visit(f"{serve(APP)}/memory?{urlencode(query)}", **options)
        page.wait_for_selector(".js-plotly-plot .main-svg", timeout=SLOW)
        return page

    return open_page


def dots(page: Page) -> int:
    """Measured points in the memory chart; -1 in the moment in which it is drawn anew."""
    return page.evaluate(
        """() => {
            const plot = document.querySelector('.st-key-memory_chart .js-plotly-plot');
            if (!plot || !plot.data) return -1;
            return plot.data.filter(t => t.name === 'measured').reduce((sum, t) => sum + t.x.length, 0);
        }"""
    )


def wait_for_dots(page: Page, least: int) -> int:
    """Wait until at least so many points have appeared."""
    for _ in range(600):
        if (seen := dots(page)) >= least:
            return seen
        page.wait_for_timeout(200)
    raise AssertionError(f"{dots(page)} points, not {least}")


def test_points_appear_one_after_another_until_the_end(memory: Open) -> None:
    page = memory({"attn_heads": "2", "attn_kv": "2", "attn_width": "32", "attn_seconds": "15"})
    assert wait_for_dots(page, 0) == 0
    page.get_by_role("button", name="Measure", exact=True).click()
    first = wait_for_dots(page, 1)
    expect(page.get_by_text("s left")).to_be_visible()
    assert wait_for_dots(page, first + 1) > first
    expect(page.get_by_text("Measured as far as memory and time went")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("would need")).not_to_have_count(0)
    assert wait_for_dots(page, first + 1) > first


def test_a_measurement_is_stopped_and_keeps_its_points(memory: Open) -> None:
    page = memory({"attn_seconds": "180"})
    page.get_by_role("button", name="Measure", exact=True).click()
    wait_for_dots(page, 2)
    page.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text("Stopped: what was measured stays")).to_be_visible(timeout=SLOW)
    expect(page.get_by_role("button", name="Measure again")).to_be_visible()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0, timeout=SLOW)  # the chart is drawn last
    page.wait_for_timeout(1_000)
    left = wait_for_dots(page, 2)
    page.wait_for_timeout(3_000)
    assert wait_for_dots(page, 2) == left


def test_choices_are_in_the_address_and_a_link_reopens_them(memory: Open) -> None:
    page = memory({"memory_view": "bytes", "sizes_of": "typed in", "bytes_tokens": "32k", "bytes_format": "bfloat16"})
    expect(page.get_by_text("Fits in, at 32,768 tokens")).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="MQA").or_(page.get_by_role("radio", name="MQA")).first.click()
    page.wait_for_function("() => location.search.includes('sharing=MQA')")
    link = page.url
    page.goto(link)
    expect(page.get_by_text("Fits in, at 32,768 tokens")).to_be_visible(timeout=SLOW)
    expect(page.locator(".st-key-bytes_chart").get_by_text("bfloat16").first).to_be_visible(timeout=SLOW)


@pytest.mark.parametrize(("view", "dark"), [("measure", True), ("bytes", False)])
def test_nothing_stands_out_of_a_phone_and_nothing_is_inaccessible(memory: Open, view: str, dark: bool) -> None:
    page = memory({"memory_view": view, "model": "minilm"}, width=390, height=844, dark=dark)
    expect(page.get_by_text("What you see")).to_be_visible(timeout=SLOW)
    page.wait_for_timeout(1_000)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert page.evaluate(TABLES) == {"cut off": 0, "numbers without their unit": 0}
    found = Axe().run(page).response["violations"]
    serious = [
        (rule["id"], [node["html"][:160] for node in rule["nodes"]][:3])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
    assert serious == []

"""The cache view in a real Chromium: a short generation runs to its end, and its two curves are on the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
APP = Path(__file__).resolve().parents[2] / "app.py"
SLOW = 120_000
TEXT = "abc abc abc abc"

Open = Callable[..., Page]

# The points of each line as the browser has drawn them, by name and panel.
POINTS = """() => {
  const plot = document.querySelector(".st-key-cache_chart .js-plotly-plot");
  if (!plot?.calcdata) return {};
  return Object.fromEntries(plot.calcdata.map((points, i) => {
    const line = plot._fullData[i];
    const real = points.filter((point) => Number.isFinite(point.y));
    return [`${line.name} ${line.yaxis}`, real.map((point) => [point.x, point.y])];
  }));
}"""


@pytest.fixture
def memory(serve: Callable[[Path], str], visit: Open) -> Open:
    """Open a view of the page by its address and wait for its picture."""

    def open_page(chart: str, address: dict[str, str], **options: Any) -> Page:
        page = visit(
            f"{serve(APP)}/memory?{urlencode({'text': TEXT, 'model': 'scratch-induction', **address})}", **options
        )
        page.wait_for_selector(f".st-key-{chart} .js-plotly-plot .main-svg", timeout=SLOW)
        return page

    return open_page


def test_a_short_generation_runs_to_its_end_and_shows_two_curves(memory: Open) -> None:
    page = memory("cache_chart", {"memory_view": "cache", "new_tokens": "8"})
    page.locator(".st-key-cache_start button").click()
    expect(page.get_by_test_id("stProgress")).to_contain_text("Measured here just now: 8 of 8 tokens", timeout=SLOW)
    page.wait_for_function(f"""() => ({POINTS})()["with cache y"]?.length === 8""", timeout=SLOW)
    drawn = page.evaluate(POINTS)
    n_prompt = 1 + len(TEXT)
    for name in ("with cache y", "without y", "with cache y2"):
        assert [x for x, _ in drawn[name]] == [n_prompt + i for i in range(8)]
        assert all(y > 0 for _, y in drawn[name])
    formula = dict(map(tuple, drawn["formula y2"]))
    assert [y for _, y in drawn["with cache y2"]] == pytest.approx([formula[n_prompt + i] for i in range(8)], rel=1e-5)
    expect(page.get_by_text("Written, the same with and without the cache")).to_be_visible()
    expect(page.get_by_text("Both wrote the same 8 tokens")).to_be_visible()
    again = page.context.new_page()  # of the same context, but not watched for the addresses Streamlit tries first
    again.goto(page.url)
    expect(again.get_by_test_id("stProgress")).to_contain_text("Ready to write 8 tokens", timeout=SLOW)


@pytest.mark.parametrize(("width", "dark"), [(390, True)])
def test_axe_finds_nothing_serious(memory: Open, dark: bool, width: int) -> None:
    views = {"cache": "cache_chart", "padding": "batches_fixed"}
    for view, chart in views.items():
        page = memory(chart, {"memory_view": view}, dark=dark, width=width)
        page.wait_for_timeout(800)
        found = Axe().run(page).response["violations"]
        serious = [
            (rule["id"], [node["html"][:160] for node in rule["nodes"]][:3])
            for rule in found
            if rule["impact"] in ("serious", "critical")
        ]
        assert serious == []

"""The Training page in a real Chromium: a training grows, stops, goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
APP = Path(__file__).resolve().parents[2] / "app.py"
SLOW = 240_000  # a busy machine trains a step a second
LONG = "task=copy&width=16&n_layers=1&n_heads=2&warmup=5&steps=5000"

Open = Callable[..., Page]


@pytest.fixture
def training(serve: Callable[[Path], str], visit: Open) -> Open:
    """Open the page with this address, as a link from elsewhere in the app does, and wait for its picture."""

    def open_page(address: str = "", **options: Any) -> Page:
        page = visit(serve(APP) + "/training?" + address, **options)
        wait_for_map(page)
        return page

    return open_page


def wait_for_map(page: Page) -> None:
    page.wait_for_function(
        """() => document.querySelector(".st-key-atlas [data-ready]") &&
                 document.querySelectorAll(".st-key-head_map").length === 1 &&
                 document.querySelector(".st-key-head_map .heatmaplayer image")""",
        timeout=SLOW,
    )


def press(page: Page, key: str) -> None:
    page.locator(f".st-key-{key} button").click()


def curve(page: Page, trace: int = 0) -> list[float]:
    """The points of a line as the browser has them: the loss, or the accuracy."""
    return page.evaluate(
        """(trace) => [...document.querySelector(".st-key-curves .js-plotly-plot").calcdata[trace]]
                      .map((point) => point.y).filter((y) => Number.isFinite(y))""",
        trace,
    )


def wait_for_points(page: Page, more_than: int) -> None:
    page.wait_for_function(
        """(n) => {
            const plot = document.querySelector(".st-key-curves .js-plotly-plot");
            return plot?.calcdata && plot.calcdata[0].filter((point) => Number.isFinite(point.y)).length > n;
        }""",
        arg=more_than,
        timeout=SLOW,
    )


def test_a_training_grows_stops_goes_on_and_can_be_thrown_away(training: Open) -> None:
    page = training(LONG)
    assert curve(page) == []
    press(page, "start")
    wait_for_points(page, 2)
    first = len(curve(page))
    wait_for_points(page, first)
    expect(page.get_by_test_id("stProgress")).to_contain_text("Training: step")
    press(page, "stop")
    expect(page.get_by_test_id("stProgress")).to_contain_text("Paused at step", timeout=SLOW)
    page.wait_for_timeout(1500)
    stopped = curve(page)
    page.wait_for_timeout(2500)
    assert curve(page) == stopped
    press(page, "resume")
    wait_for_points(page, len(stopped))
    assert curve(page)[: len(stopped)] == pytest.approx(stopped)
    press(page, "stop")
    expect(page.get_by_test_id("stProgress")).to_contain_text("Paused at step", timeout=SLOW)
    press(page, "reset")
    expect(page.get_by_test_id("stProgress")).to_contain_text("Ready", timeout=SLOW)
    page.wait_for_function(
        """() => !document.querySelector(".st-key-curves .js-plotly-plot").calcdata[0]
                   .some((point) => Number.isFinite(point.y))"""
    )

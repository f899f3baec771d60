"""The Training page in a real Chromium: watched, stopped, taken to Explore, and nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import quick_training
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tfmviz.models.scratch_load import byte_model
from tfmviz.training import TASKS, Loop

pytestmark = pytest.mark.browser
APP = Path(__file__).resolve().parents[2] / "app.py"
SLOW = 240_000  # a busy machine trains a step a second
QUICK = urlencode(quick_training.ADDRESS)
LONG = "task=copy&width=16&n_layers=1&n_heads=2&warmup=5&steps=5000"

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def training(serve: Callable[[Path], str], visit_once: Open) -> Open:
    """Open the page with this address, as a link from elsewhere in the app does, and wait for its picture."""

    def open_page(address: str = "", **options: Any) -> Page:
        page = visit_once(serve(APP) + "/training?" + address, **options)
        wait_for_map(page)
        return page

    return open_page


@pytest.fixture(scope="module")
def large(training: Open) -> Page:
    """A page on whose training nothing has been done, or all was thrown away."""
    return training(LONG)


@pytest.fixture(scope="module")
def phone(training: Open) -> Page:
    """A dark phone with a training of a second, which is watched on a word."""
    return training(QUICK + "&watch=carrot&watch_target=carr", dark=True, width=390, height=844, touch=True)


def finish(page: Page) -> None:
    """See that the training of a second is over."""
    if "Finished" not in bar(page):
        press(page, "start")
    expect(page.get_by_test_id("stProgress")).to_contain_text("Finished: step 20 of 20", timeout=SLOW)


def wait_for_map(page: Page) -> None:
    page.wait_for_function(
        """() => document.querySelector(".st-key-atlas [data-ready]") &&
                 document.querySelectorAll(".st-key-head_map").length === 1 &&
                 document.querySelector(".st-key-head_map .heatmaplayer image")""",
        timeout=SLOW,
    )


def press(page: Page, key: str) -> None:
    page.locator(f".st-key-{key} button").click()


def bar(page: Page) -> str:
    return page.get_by_test_id("stProgress").inner_text()


def curve(page: Page, trace: int = 0) -> list[float]:
    """The points of a line as the browser has them: the loss, or the accuracy."""
    points = page.wait_for_function(  # between two pictures there is none for a moment
        """(trace) => document.querySelector(".st-key-curves .js-plotly-plot")?.calcdata?.[trace]
                      .map((point) => point.y).filter((y) => Number.isFinite(y))""",
        arg=trace,
    )
    return points.json_value()


def wait_for_points(page: Page, more_than: int) -> None:
    page.wait_for_function(
        """(n) => {
            const plot = document.querySelector(".st-key-curves .js-plotly-plot");
            return plot?.calcdata && plot.calcdata[0].filter((point) => Number.isFinite(point.y)).length > n;
        }""",
        arg=more_than,
        timeout=SLOW,
    )


def drawn_weights(page: Page) -> np.ndarray:
    rows = page.wait_for_function(  # between two pictures there is none for a moment
        """() => document.querySelector(".st-key-head_map .js-plotly-plot")?.calcdata?.[0][0].z
                  .map((row) => [...row].map((value) => Number.isFinite(value) ? value : -1))"""
    )
    return np.array(rows.json_value(), dtype=np.float32)


def serious(page: Page) -> list[tuple[str, list[str]]]:
    """What axe holds against a page, those of weight."""
    return [
        (rule["id"], [node["html"][:160] for node in rule["nodes"]][:3])
        for rule in Axe().run(page).response["violations"]
        if rule["impact"] in ("serious", "critical")
    ]


def test_a_training_grows_stops_goes_on_and_can_be_thrown_away(large: Page) -> None:
    page = large
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
    page.wait_for_timeout(1500)
    assert curve(page) == stopped
    press(page, "resume")
    wait_for_points(page, len(stopped))
    assert curve(page)[: len(stopped)] == pytest.approx(stopped)
    press(page, "stop")
    expect(page.get_by_test_id("stProgress")).to_contain_text("Paused at step", timeout=SLOW)
    press(page, "reset")
    expect(page.get_by_test_id("stProgress")).to_contain_text("Ready", timeout=SLOW)
    page.wait_for_function(
        """() => document.querySelector(".st-key-curves .js-plotly-plot")?.calcdata?.[0]
                   .every((point) => !Number.isFinite(point.y))"""
    )


def test_a_task_brings_its_own_text(large: Page) -> None:
    page = large
    page.locator(".st-key-task").get_by_role("radio", name="sort").click()
    example = TASKS["sort"].example
    expect(page.get_by_label("Text to read")).to_have_value(example.text, timeout=SLOW)
    expect(page.get_by_label("Text to write")).to_have_value(example.target or "", timeout=SLOW)
    assert page.evaluate("() => location.search.includes('task=sort')")


def test_axe_finds_nothing_serious_and_a_phone_has_room(phone: Page) -> None:
    page = phone
    assert page.get_by_test_id("stMain").evaluate("(node) => node.scrollWidth") <= 390
    assert serious(page) == []
    finish(page)
    expect(page.get_by_text("Your models.")).to_be_visible(timeout=SLOW)
    page.wait_for_selector('[data-test-script-state="notRunning"]')
    assert serious(page) == []


def test_the_finished_model_opens_in_explore_on_the_text_that_was_watched(phone: Page) -> None:
    page = phone
    finish(page)
    page.get_by_role("link", name="in Explore").click()
    page.wait_for_function("() => location.pathname === '/' && document.title.startsWith('Explore')", timeout=SLOW)
    wait_for_map(page)
    expect(page.locator(".st-key-model input")).to_have_value("trained:copy", timeout=SLOW)
    expect(page.get_by_label("Text", exact=True)).to_have_value("carrot", timeout=SLOW)
    expect(page.get_by_label("Text for the decoder")).to_have_value("carr", timeout=SLOW)
    loop = Loop(quick_training.settings())
    list(loop.steps())
    expected = byte_model(loop.model, name="again").trace("carrot", target="carr")["cross"].weights(0, 0).numpy()
    page.wait_for_function(
        """(n) => document.querySelector(".st-key-head_map .js-plotly-plot")?.calcdata?.[0][0].z.length === n""",
        arg=len(expected),
        timeout=SLOW,
    )
    assert np.abs(drawn_weights(page) - expected).max() < 1e-4

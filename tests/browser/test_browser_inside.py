"""The Inside page in a real Chromium: keys, links, numbers as the browser has them, and access."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tfmviz.analysis.inside import stages
from tfmviz.models import Model

APP = Path(__file__).resolve().parents[2] / "app.py"
TEXT = "The cat sat on the mat."
SLOW = 180_000  # the first page of a fresh server imports torch and loads a model

Open = Callable[..., Page]


@pytest.fixture
def inside(serve: Callable[[Path], str], visit: Open) -> Open:
    """Open the page with this address and wait for its picture."""

    def open_page(address: str = "", **options: object) -> Page:
        page = visit(serve(APP) + f"/inside?text={quote(TEXT)}{address}", **options)
        page.wait_for_selector(".st-key-step_map .heatmaplayer image", timeout=SLOW)
        return page

    return open_page


def thumb(page: Page) -> str | None:
    return page.locator(".st-key-step input[type=range]").get_attribute("aria-valuetext")


def wait_for_step(page: Page, step: str, title: str) -> None:
    page.wait_for_function("(step) => location.search.includes('step=' + step)", arg=step)
    expect(page.get_by_text(title)).to_be_visible()


def drawn(page: Page) -> np.ndarray:
    """The numbers in the map as the browser has them; masked cells are NaN."""
    rows = page.wait_for_function(  # between two pictures there is none for a moment
        """() => document.querySelector(".st-key-step_map .js-plotly-plot")?.calcdata?.[0][0].z
                  .map((row) => [...row].map((value) => Number.isFinite(value) ? value : null))"""
    ).json_value()
    return np.array([[np.nan if value is None else value for value in row] for row in rows], dtype=np.float32)


def test_arrow_keys_walk_through_the_steps_to_the_weights(inside: Open, smollm2: Model) -> None:
    page = inside("&model=smollm2&layer=2&head=5&step=scaled")
    page.locator("body").press("ArrowRight")
    wait_for_step(page, "masked", "Masked scores")
    page.locator("body").press("ArrowRight")
    wait_for_step(page, "weights", "each row sums to 1")
    page.wait_for_function(
        """() => { const plots = document.querySelectorAll(".st-key-step_map .js-plotly-plot");
                   return plots.length === 1 && plots[0].calcdata?.[0][0].z[0][0] === 1; }"""
    )
    expected = stages(smollm2.trace(TEXT), 2, 5)
    shown = drawn(page)
    assert np.array_equal(np.isnan(shown), ~expected.visible.numpy())
    assert np.nanmax(np.abs(shown - expected.weights.numpy())) < 1e-5
    expect(page.locator(".st-key-step input[type=range]")).to_have_attribute("aria-valuetext", "weights")
    page.locator("body").press("ArrowLeft")
    wait_for_step(page, "masked", "Masked scores")


def test_an_arrow_on_the_slider_moves_one_step_and_in_the_text_none(inside: Open) -> None:
    page = inside("&step=scaled")
    page.locator(".st-key-step input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    wait_for_step(page, "masked", "Masked scores")
    page.get_by_label("Text", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(1500)
    assert thumb(page) == "masked"


def test_a_link_reopens_the_view(inside: Open, visit: Open) -> None:
    page = inside("&layer=1&head=7&step=output&query=3+sat&against=2+cat&closer=cosine&temperature=2")
    expect(page.get_by_text("Cosine of the same pairs")).to_be_visible()
    other = visit(page.url)
    other.wait_for_selector(".st-key-closer_map .heatmaplayer image", timeout=SLOW)
    for key, value in {"layer": "1", "head": "7", "query": "3 sat", "against": "2 cat"}.items():
        assert other.locator(f".st-key-{key} input").input_value() == value
    assert thumb(other) == "output"
    assert np.array_equal(drawn(other), drawn(page))


def test_numbers_alone_name_tokens_and_the_link_says_which(inside: Open) -> None:
    page = inside("&query=3&against=2&closer=cosine")
    expected = {"query": "3 sat", "against": "2 cat"}
    for key, value in expected.items():
        expect(page.locator(f".st-key-{key} input")).to_have_value(value)
    kept = parse_qs(urlsplit(page.url).query)
    assert {key: kept.get(key) for key in expected} == {key: [value] for key, value in expected.items()}


def test_the_check_line_is_green(inside: Open) -> None:
    page = inside()
    line = page.locator(".st-key-check")
    expect(line).to_contain_text("the sum over heads equals the block's output within")
    expect(line).not_to_contain_text("not exactly")


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (390, True)])
def test_nothing_is_wider_than_the_screen_and_axe_finds_nothing_serious(inside: Open, width: int, dark: bool) -> None:
    page = inside("&model=smollm2&step=weights", width=width, dark=dark)
    page.wait_for_selector(".st-key-row_keys .barlayer path", state="attached")
    page.wait_for_timeout(800)
    assert page.locator("[data-testid=stMain]").evaluate("(node) => node.scrollWidth") <= width
    serious = [
        (rule["id"], [node["html"][:160] for node in rule["nodes"]][:3])
        for rule in Axe().run(page).response["violations"]
        if rule["impact"] in ("serious", "critical")
    ]
    assert serious == []

"""The Compare page in a real Chromium: maps, linked hover, a click that opens a pair, links, phones, access."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tfmviz.analysis.alignment import align, unit_weights
from tfmviz.models import Model

APP = Path(__file__).resolve().parents[2] / "app.py"
TEXT = "The animal didn't cross the street because it was too tired."
SLOW = 120_000
FRAME_MS = 16.7
MAPS = ("map_a", "map_b", "map_difference")

Open = Callable[..., Page]


def opened(
    open_page: Open, address: str, *, model: str = "minilm", model_b: str = "scratch-minilm", **query: Any
) -> Page:
    """The page with its four maps, the linked hover listening."""
    options = {name: query.pop(name) for name in ("width", "dark") if name in query}
    page = open_page(
        f"{address}/compare?{urlencode({'text': TEXT, 'model': model, 'model_b': model_b, **query})}", **options
    )
    for key in (*MAPS, "distances"):
        page.wait_for_selector(f".st-key-{key} .heatmaplayer image", timeout=SLOW)
    expect(page.locator(".st-key-unit_hover").get_by_text("Point at a cell")).to_be_visible(timeout=SLOW)
    return page


@pytest.fixture
def compare(serve: Callable[[Path], str], visit: Open) -> Open:
    """Open the page on this text."""
    return partial(opened, visit, serve(APP))


@pytest.fixture(scope="module")
def shared(serve: Callable[[Path], str], visit_once: Open) -> Page:
    """MiniLM's L1 H3 beside SmolLM2's L7 H2, for tests that only point at things."""
    return opened(visit_once, serve(APP), model_b="smollm2", layer="1", head="3", layer_b="7", head_b="2")


@pytest.fixture
def pair(shared: Page) -> Page:
    """The shared page with nothing lit."""
    shared.keyboard.press("Escape")
    shared.mouse.move(2, 2)
    until(shared, lambda: lit(shared, "map_a", "cell") is None and lit(shared, "map_a", "row") is None)
    return shared


def drawn(page: Page, key: str) -> np.ndarray:
    """The numbers of a map as the browser has them."""
    rows = page.wait_for_function(  # between two pictures there is none for a moment
        "(key) => document.querySelector(`.st-key-${key} .js-plotly-plot`)?.calcdata?.[0][0].z.map((r) => [...r])",
        arg=key,
    )
    return np.array(rows.json_value(), dtype=np.float32)


def cell_of(page: Page, key: str, row: int, col: int) -> tuple[float, float]:
    """Where a cell is on the screen, scrolled into view."""
    page.locator(f".st-key-{key} .js-plotly-plot").scroll_into_view_if_needed()
    x, y = page.evaluate(
        """([key, row, col]) => {
          const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
          const { xaxis, yaxis } = plot._fullLayout, box = plot.getBoundingClientRect();
          return [box.left + xaxis._offset + xaxis.d2p(col), box.top + yaxis._offset + yaxis.d2p(row)];
        }""",
        [key, row, col],
    )
    return x, y


def lit(page: Page, key: str, which: str) -> tuple[int, int] | None:
    """Row and column that a mark on a map lies over; None while it is not shown."""
    found = page.evaluate(
        """([key, which]) => {
          const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
          const mark = plot.querySelector(`[data-lit=${which}]`);
          if (!mark || mark.style.display === "none") return null;
          const { xaxis, yaxis } = plot._fullLayout, [box, on] = [plot, mark].map((n) => n.getBoundingClientRect());
          const x = on.left + on.width / 2 - box.left - xaxis._offset, y = on.top + on.height / 2 - box.top;
          return [Math.round(yaxis.p2d(y - yaxis._offset)), Math.round(xaxis.p2d(x))];
        }""",
        [key, which],
    )
    return None if found is None else (found[0], found[1])


def until(page: Page, is_so: Callable[[], bool]) -> None:
    """Wait until something is so; the assertion is the caller's."""
    for _ in range(200):
        if is_so():
            return
        page.wait_for_timeout(50)


def titled(page: Page, key: str, title: str) -> None:
    """Wait for a map of this title. For a moment the one before may still lie under it."""
    expect(page.locator(f".st-key-{key} .gtitle", has_text=title).first).to_be_visible(timeout=SLOW)


def query_of(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_both_maps_hold_the_weights_of_the_traces(pair: Page, minilm: Model, smollm2: Model) -> None:
    page = pair
    a, b = minilm.trace(TEXT), smollm2.trace(TEXT)
    units = align(TEXT, a.tokens, b.tokens)
    expected = [
        unit_weights(trace["self"], units.unit_of[at], *head)
        for at, (trace, head) in enumerate(((a, (1, 3)), (b, (7, 2))))
    ]
    n = len(units.units)
    for key, rows in zip(MAPS, (*expected, expected[1] - expected[0]), strict=True):
        assert np.abs(drawn(page, key)[:, :n] - rows[:, :n]).max() < 1e-5
    assert drawn(page, "distances").shape == (72, 270)


def test_a_pair_that_is_pointed_at_lights_in_every_map_and_goes_with_the_pointer(pair: Page) -> None:
    page = pair
    page.mouse.move(*cell_of(page, "map_a", 3, 5))
    until(page, lambda: lit(page, "map_b", "cell") == (3, 5))
    assert [lit(page, key, "cell") for key in MAPS] == [(3, 5)] * 3
    told = page.locator(".st-key-unit_hover p").inner_text()
    numbers = [f"{abs(z) if abs(z) < 5e-5 else z:.4f}" for z in (drawn(page, key)[3, 5] for key in MAPS)]
    assert told.endswith("A {}, B {}, B − A {}.".format(*numbers).replace("-", "−"))
    assert page.evaluate("() => document.querySelector('.st-key-row_distances [data-lit=row]').style.display") == ""
    page.mouse.move(2, 2)
    until(page, lambda: lit(page, "map_b", "cell") is None)
    assert [lit(page, key, "cell") for key in MAPS] == [None] * 3


def test_a_name_beside_the_map_lights_its_row_everywhere(pair: Page) -> None:
    page = pair
    x, y = cell_of(page, "map_b", 2, 0)
    page.mouse.move(x - 40, y)
    until(page, lambda: lit(page, "map_a", "row") is not None)
    assert [(lit(page, key, "row") or (-1, -1))[0] for key in MAPS] == [2] * 3
    assert lit(page, "map_a", "cell") is None


def test_a_click_keeps_the_pair_and_escape_lets_it_go(pair: Page) -> None:
    page = pair
    page.mouse.click(*cell_of(page, "map_difference", 1, 2))
    page.mouse.move(2, 2)
    page.wait_for_timeout(200)
    assert lit(page, "map_a", "cell") == (1, 2)
    page.keyboard.press("Escape")
    until(page, lambda: lit(page, "map_a", "cell") is None)
    assert lit(page, "map_a", "cell") is None


def test_the_linked_hover_takes_less_than_a_frame(pair: Page) -> None:
    page = pair
    page.evaluate(
        """() => {
          window.taken = [];
          new PerformanceObserver((list) => window.taken.push(...list.getEntriesByName("tfmviz:unit_hover")
            .map((entry) => entry.duration))).observe({ entryTypes: ["measure"] });
        }"""
    )
    for step in range(24):
        page.mouse.move(*cell_of(page, "map_a", step % 9, (step * 5) % 11))
        page.wait_for_timeout(40)
    taken = sorted(page.evaluate("() => window.taken"))
    assert len(taken) > 12
    assert taken[len(taken) // 2] < FRAME_MS


def test_a_click_on_a_distance_opens_the_pair(compare: Open) -> None:
    page = compare(model_b="smollm2")
    page.mouse.click(*cell_of(page, "distances", 30, 100))
    titled(page, "map_a", "A L2 H6")
    titled(page, "map_b", "B L11 H1")
    query = query_of(page)
    assert [query[name] for name in ("layer", "head", "layer_b", "head_b")] == ["2", "6", "11", "1"]


def test_a_click_on_a_clustered_distance_opens_the_pair_that_stands_there(compare: Open) -> None:
    page = compare(clustered="true")
    here = page.evaluate(
        "() => [...document.querySelector('.st-key-distances .js-plotly-plot')._fullData[0].customdata[8][20]]"
    )
    page.mouse.click(*cell_of(page, "distances", 8, 20))
    titled(page, "map_b", f"B L{here[2]} H{here[3]}")
    titled(page, "map_a", f"A L{here[0]} H{here[1]}")


def test_swap_and_copy(compare: Open) -> None:
    page = compare(layer="1", head="4", layer_b="2", head_b="7")
    page.locator(".st-key-swap button").click()
    titled(page, "map_a", "A L2 H7")
    assert (query_of(page)["model"], query_of(page)["model_b"]) == ("scratch-minilm", "minilm")
    page.locator(".st-key-copy button").click()
    titled(page, "map_b", "B L2 H7")
    assert query_of(page)["model_b"] == "scratch-minilm"


def test_a_link_reopens_the_view(compare: Open) -> None:
    page = compare(layer="4", silenced_b="L0 H1", units="words", compare_view="heads")
    page.locator(".st-key-compare_view").get_by_text("number by number", exact=True).click()
    page.wait_for_selector(".st-key-same_weights .js-plotly-plot", timeout=SLOW)
    again = page.context.new_page()  # of the same context, but not watched for the addresses Streamlit tries first
    again.goto(page.url)
    again.wait_for_selector(".st-key-same_weights .js-plotly-plot", timeout=SLOW)
    titled(again, "map_a", "A L4 H2")
    expect(again.get_by_text("The two do not compute the same")).to_be_visible()
    assert query_of(again) == query_of(page)


def test_many_texts_run_with_a_bar_and_can_be_stopped(compare: Open) -> None:
    page = compare(compare_view="heads")
    page.locator(".st-key-compare_view").get_by_text("many texts", exact=True).click()
    lines = "\n".join(f"Sentence number {i} about rivers, stones and a boat." for i in range(150))
    page.locator(".st-key-lines textarea").fill(lines)
    page.locator(".st-key-lines textarea").press("Control+Enter")
    page.get_by_role("button", name="Measure 150 texts").click(timeout=SLOW)
    expect(page.get_by_text("Text ", exact=False).filter(has_text="of 150").first).to_be_visible(timeout=SLOW)
    page.locator(".st-key-stop_texts button").click(timeout=SLOW)
    expect(page.get_by_text("Stopped after", exact=False).first).to_be_visible(timeout=SLOW)
    page.wait_for_selector(".st-key-text_spread .js-plotly-plot", timeout=SLOW)


def test_a_phone_does_not_scroll_sideways(compare: Open) -> None:
    page = compare(width=390)
    for view in ("heads", "outputs", "number by number", "many texts"):
        page.locator(".st-key-compare_view").get_by_text(view, exact=True).click()
        page.wait_for_timeout(2500)
        assert page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollWidth") <= 390, view


@pytest.mark.parametrize("views", [("outputs", "number by number"), ("heads", "many texts")], ids=["light", "dark"])
def test_axe_finds_nothing_serious(compare: Open, views: tuple[str, str]) -> None:
    page = compare(dark="many texts" in views)
    for view in views:
        page.locator(".st-key-compare_view").get_by_text(view, exact=True).click()
        page.wait_for_timeout(2500)
        found = Axe().run(page).response["violations"]
        serious = [
            (rule["id"], [node["html"][:160] for node in rule["nodes"]][:3])
            for rule in found
            if rule["impact"] in ("serious", "critical")
        ]
        assert serious == [], view

"""The Compare page in a real Chromium: maps, linked hover, a click that opens a pair, links, phones, access."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tfmviz.analysis.alignment import align, unit_weights
from tfmviz.analysis.difference import Difference, difference
from tfmviz.models import Model

APP = Path(__file__).resolve().parents[2] / "app.py"
TEXT = "The animal didn't cross the street because it was too tired."
SLOW = 120_000
FRAME_MS = 16.7
MAPS = ("a", "b", "signed")

Open = Callable[..., Page]


def until(page: Page, is_so: Callable[[], bool]) -> None:
    """Wait until something is so; the assertion is the caller's."""
    for _ in range(100):
        if is_so():
            return
        page.wait_for_timeout(50)


def opened(
    open_page: Open, address: str, *, model: str = "minilm", model_b: str = "scratch-minilm", **query: Any
) -> Page:
    """The page with its four maps."""
    options = {name: query.pop(name) for name in ("width", "dark") if name in query}
    page = open_page(
        f"{address}/compare?{urlencode({'text': TEXT, 'model': model, 'model_b': model_b} | query)}", **options
    )
    for key in ("head_pair", "distances"):
        page.wait_for_selector(f".st-key-{key} [data-version]", timeout=SLOW)
    expect(told(page)).to_contain_text("Point at a cell", timeout=SLOW)
    return page


def told(page: Page) -> Locator:
    """The line under the maps."""
    return page.locator(".st-key-head_pair .told")


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
    """The shared page with nothing lit and whole maps."""
    shared.keyboard.press("Escape")
    shared.mouse.move(2, 2)
    reset = shared.locator(".st-key-head_pair .pair-foot").get_by_role("button", name="Reset")
    if reset.is_enabled():
        reset.click()
    expect(told(shared)).to_contain_text("Point at a cell")
    return shared


def field(page: Page, which: str) -> Locator:
    """Where a map is drawn: of A, of B, of B − A, or the distances of all heads."""
    if which == "distances":
        return page.locator(".st-key-distances .field")
    return page.locator(".st-key-head_pair .field").nth(MAPS.index(which))


def cell_of(page: Page, which: str, row: float, col: float, shape: tuple[int, int]) -> tuple[float, float]:
    """Where a cell of a whole map is on the screen, scrolled into view; -1 lies on the names of the rows."""
    drawn = field(page, which)
    drawn.scroll_into_view_if_needed()
    box = drawn.bounding_box()
    left, top, width, height = (float(part) for part in (drawn.get_attribute("data-plot") or "").split())
    assert box
    across = width * (col + 0.5) / shape[1] if col >= 0 else -12
    return box["x"] + left + across, box["y"] + top + height * (row + 0.5) / shape[0]


def around(page: Page, which: str, row: int, col: int, shape: tuple[int, int]) -> str:
    """The pixels of a cell and of its frame."""
    left, top, width, height = (float(part) for part in (field(page, which).get_attribute("data-plot") or "").split())
    wide, high = width / shape[1], height / shape[0]
    return str(
        field(page, which)
        .locator("canvas")
        .evaluate(
            """(canvas, [x, y, w, h]) => canvas.getContext("2d").getImageData(x, y, w, h).data.join()""",
            [left + col * wide - 2, top + row * high - 2, wide + 4, high + 4],
        )
    )


def pixels(page: Page, which: str) -> str:
    """All of a map's picture."""
    return str(field(page, which).locator("canvas").evaluate("(canvas) => canvas.toDataURL()"))


def titled(page: Page, which: str, title: str) -> None:
    """Wait for a map of this title."""
    expect(field(page, which)).to_have_attribute("aria-label", re.compile(f"^Attention of {title} ·"), timeout=SLOW)


def open_list(page: Page, key: str) -> None:
    """Open a select box; what Streamlit still draws at that moment closes it again."""
    for _ in range(20):
        page.locator(f".st-key-{key}").get_by_role("combobox").click()
        page.wait_for_timeout(500)
        if page.get_by_role("listbox").is_visible():
            return


@pytest.fixture(scope="module")
def both(minilm: Model, smollm2: Model) -> Difference:
    """The shared page's two heads, from their traces."""
    a, b = minilm.trace(TEXT), smollm2.trace(TEXT)
    units = align(TEXT, a.tokens, b.tokens)
    heads = zip((a, b), ((1, 3), (7, 2)), strict=True)
    return difference(
        *(unit_weights(trace["self"], units.unit_of[at], *head) for at, (trace, head) in enumerate(heads))
    )


@pytest.fixture(scope="module")
def shape(both: Difference) -> tuple[int, int]:
    """Rows and columns of the maps: the column for no token at all is not there."""
    rows, columns = both.a.shape
    return rows, columns - 1


def query_of(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def digits(weight: float, *, masked: bool = False) -> str:
    if masked:
        return "masked"
    return f"{abs(weight) if abs(weight) < 5e-5 else weight:.4f}".replace("-", "−")


@pytest.mark.parametrize("which", MAPS)
def test_a_pair_that_is_pointed_at_lights_in_every_map_and_has_its_three_numbers(
    pair: Page, both: Difference, shape: tuple[int, int], which: str
) -> None:
    page = pair
    for row, col in ((3, 5), (7, 0), (11, 11)):
        page.mouse.move(2, 2)
        expect(told(page)).to_contain_text("Point at a cell")
        before = [around(page, one, row, col, shape) for one in MAPS]
        page.mouse.move(*cell_of(page, which, row, col, shape))
        ahead = col > row  # where SmolLM2 may not look
        numbers = [digits(float(w[row, col]), masked=ahead and w is both.b) for w in (both.a, both.b, both.signed)]
        expect(told(page)).to_have_text(re.compile("A {}, B {}, B − A {}; its rows are".format(*numbers)))
        card = page.locator(".st-key-head_pair .tooltip:not([hidden])")
        expect(card.locator("strong")).to_have_text(numbers)
        until(page, lambda then=before, at=(row, col): all_changed(page, then, *at, shape))
        assert all_changed(page, before, row, col, shape)
        expect(page.locator(".pair-unit.lit")).to_have_attribute("data-row", str(row))


def all_changed(page: Page, before: list[str], row: int, col: int, shape: tuple[int, int]) -> bool:
    return all(around(page, one, row, col, shape) != old for one, old in zip(MAPS, before, strict=True))


def test_a_name_beside_the_map_lights_its_row_everywhere(pair: Page, both: Difference, shape: tuple[int, int]) -> None:
    page = pair
    page.mouse.move(*cell_of(page, "b", 2, -1, shape))
    expect(told(page)).to_contain_text(f"its rows are {both.distance[2]:.4f} apart")
    expect(page.locator(".pair-unit.lit")).to_have_attribute("data-row", "2")
    page.locator(".pair-unit").nth(4).hover()
    expect(told(page)).to_contain_text(f"its rows are {both.distance[4]:.4f} apart")


def test_the_bars_under_the_text_are_as_long_as_the_distances(pair: Page, both: Difference) -> None:
    bars = pair.locator(".pair-unit i")
    lengths = bars.evaluate_all("(bars) => bars.map((bar) => bar.getBoundingClientRect().height)")
    assert np.array(lengths) == pytest.approx(np.maximum(16 * both.distance, 1), abs=0.1)


def test_a_click_keeps_the_pair_and_escape_lets_it_go(pair: Page, shape: tuple[int, int]) -> None:
    page = pair
    page.mouse.click(*cell_of(page, "signed", 1, 2, shape))
    kept = told(page).inner_text()
    assert kept.startswith("Query")
    page.mouse.move(2, 2)
    page.mouse.move(*cell_of(page, "a", 5, 5, shape))
    assert told(page).inner_text() == kept
    page.keyboard.press("Escape")
    page.mouse.move(2, 2)
    expect(told(page)).to_contain_text("Point at a cell")


def test_the_maps_zoom_together_and_light_each_other_still(
    pair: Page, both: Difference, shape: tuple[int, int]
) -> None:
    page = pair
    whole = [around(page, which, 0, 0, shape) for which in MAPS]
    page.mouse.click(*cell_of(page, "a", 6, 6, shape))  # who clicks means the map and not the page
    page.keyboard.press("Escape")
    for _ in range(4):
        page.mouse.wheel(0, -100)
    page.mouse.move(2, 2)  # in one step: the map hears of nothing in between
    expect(told(page)).to_contain_text("Point at a cell")
    expect(page.locator(".st-key-head_pair .pair-foot").get_by_role("button", name="Reset")).to_be_enabled()
    until(page, lambda: all_changed(page, whole, 0, 0, shape))
    assert all_changed(page, whole, 0, 0, shape)
    before = [pixels(page, which) for which in MAPS]
    page.mouse.move(*cell_of(page, "b", 6, 6, shape))
    expect(told(page)).to_contain_text(f"B {digits(float(both.b[6, 6]))},")
    until(page, lambda: all(pixels(page, one) != old for one, old in zip(MAPS, before, strict=True)))
    assert all(pixels(page, one) != old for one, old in zip(MAPS, before, strict=True))
    expect(page.locator(".pair-unit.lit")).to_have_attribute("data-row", "6")


def test_the_wheel_scrolls_the_page_past_maps_that_nobody_clicked_on(compare: Open) -> None:
    page = compare(model_b="smollm2")
    main = page.locator("[data-testid=stMain]")
    for which in ("a", "distances"):
        field(page, which).scroll_into_view_if_needed()
        page.mouse.move(*cell_of(page, which, 2, 2, (13, 14)))
        before = main.evaluate("(main) => main.scrollTop")
        page.mouse.wheel(0, -300)
        until(page, lambda then=before: main.evaluate("(main) => main.scrollTop") < then)
        assert main.evaluate("(main) => main.scrollTop") < before


def test_escape_closes_an_open_list_and_keeps_the_pair(compare: Open) -> None:
    page = compare()
    page.locator(".pair-unit").nth(5).click()
    kept = told(page).inner_text()
    open_list(page, "layer")
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    assert told(page).inner_text() == kept


def test_keys_in_the_matrix_leave_the_pointer_its_card(compare: Open) -> None:
    page = compare()
    field(page, "distances").focus()
    page.keyboard.press("ArrowDown")
    page.mouse.click(*cell_of(page, "distances", 30, 40, (72, 72)))
    titled(page, "a", "A L2 H6")
    page.mouse.move(*cell_of(page, "distances", 10, 50, (72, 72)))
    card = page.locator(".st-key-distances .tooltip")
    expect(card.locator("strong").nth(0)).to_have_text("L0 H10")
    expect(card.locator("strong").nth(1)).to_have_text("L4 H2")


def test_a_long_text_says_where_the_weight_goes_that_lies_outside(compare: Open) -> None:
    page = compare(
        text=" ".join(["alpha beta gamma delta river bank stone cloud green light table chair"] * 10), unit="20"
    )
    field(page, "a").focus()
    for key in ("ArrowDown", "End", "ArrowLeft"):
        page.keyboard.press(key)
    expect(told(page)).to_have_text(re.compile(r"key .elsewhere.: A 0\.\d{4}, B 0\.\d{4}"))


def test_a_kept_pair_goes_with_another_head_but_not_with_another_text(compare: Open) -> None:
    page = compare(layer="1", head="3")
    page.locator(".pair-unit").nth(5).click()
    expect(told(page)).to_contain_text("cross")
    open_list(page, "head_b")
    page.get_by_role("option", name="7", exact=True).click()
    titled(page, "b", "B L0 H7")
    expect(told(page)).to_contain_text("cross")
    page.locator(".st-key-text textarea").fill(TEXT.replace("animal", "dog"))  # as many units
    page.locator(".st-key-text textarea").press("Control+Enter")
    expect(page.locator(".pair-unit").nth(1)).to_have_text("dog", timeout=SLOW)
    expect(told(page)).to_contain_text("Point at a cell")


def test_the_difference_has_the_pages_own_ground_where_it_is_0(compare: Open) -> None:
    page = compare(model_b="minilm", dark=True)
    pixel = field(page, "signed").locator("canvas")
    left, top, width, height = (float(p) for p in (field(page, "signed").get_attribute("data-plot") or "").split())
    ground = "(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data.slice(0, 3)]"
    assert pixel.evaluate(ground, [left + width / 2, top + height / 2]) == pixel.evaluate(ground, [2, 2])


def test_a_text_from_right_to_left_runs_so(compare: Open) -> None:
    page = compare(text="שלום עולם, מה שלומך היום")
    expect(page.locator(".pair-text")).to_have_attribute("dir", "rtl")
    boxes = [page.locator(".pair-unit").nth(at).bounding_box() for at in (0, 1)]
    assert boxes[0]
    assert boxes[1]
    assert boxes[0]["x"] > boxes[1]["x"]


def test_the_keys_go_from_cell_to_cell(pair: Page, both: Difference) -> None:
    page = pair
    field(page, "b").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(told(page)).to_contain_text(f"B {digits(float(both.b[1, 1]))},")
    page.keyboard.press("Escape")


def test_the_linked_hover_takes_less_than_a_frame(pair: Page, shape: tuple[int, int]) -> None:
    page = pair
    page.evaluate(
        """() => {
          window.taken = [];
          new PerformanceObserver((list) => window.taken.push(...list.getEntriesByName("tfmviz:pair_hover")
            .map((entry) => entry.duration))).observe({ entryTypes: ["measure"] });
        }"""
    )
    for step in range(24):
        page.mouse.move(*cell_of(page, "a", step % 9, (step * 5) % 11, shape))
        page.wait_for_timeout(40)
    taken = sorted(page.evaluate("() => window.taken"))
    assert len(taken) > 12
    assert taken[len(taken) // 2] < FRAME_MS


def test_a_click_on_a_distance_opens_the_pair(compare: Open) -> None:
    page = compare(model_b="smollm2")
    page.mouse.click(*cell_of(page, "distances", 30, 100, (72, 270)))
    titled(page, "a", "A L2 H6")
    titled(page, "b", "B L11 H1")
    query = query_of(page)
    assert [query[name] for name in ("layer", "head", "layer_b", "head_b")] == ["2", "6", "11", "1"]


def test_a_key_on_a_clustered_distance_opens_the_pair_that_stands_there(compare: Open) -> None:
    page = compare(clustered="true")
    field(page, "distances").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    said = re.compile(r"^A (L\d+ H\d+), B (L\d+ H\d+): distance [01]\.\d{4}\.")
    expect(field(page, "distances")).to_have_attribute("aria-label", re.compile("72 of A down, 72 of B across"))
    expect(page.locator(".st-key-distances .unseen")).to_have_text(said)
    here = said.match(page.locator(".st-key-distances .unseen").inner_text())
    assert here
    page.keyboard.press("Enter")
    titled(page, "b", f"B {here[2]}")
    titled(page, "a", f"A {here[1]}")


def test_swap_and_copy(compare: Open) -> None:
    page = compare(layer="1", head="4", layer_b="2", head_b="7")
    page.locator(".st-key-swap button").click()
    titled(page, "a", "A L2 H7")
    assert (query_of(page)["model"], query_of(page)["model_b"]) == ("scratch-minilm", "minilm")
    page.locator(".st-key-copy button").click()
    titled(page, "b", "B L2 H7")
    assert query_of(page)["model_b"] == "scratch-minilm"


def test_a_link_reopens_the_view(compare: Open) -> None:
    page = compare(layer="4", silenced_b="L0 H1", units="words", compare_view="heads")
    page.locator(".st-key-compare_view").get_by_text("number by number", exact=True).click()
    page.wait_for_selector(".st-key-same_weights .js-plotly-plot", timeout=SLOW)
    again = page.context.new_page()  # of the same context, but not watched for the addresses Streamlit tries first
    again.goto(page.url)
    again.wait_for_selector(".st-key-same_weights .js-plotly-plot", timeout=SLOW)
    titled(again, "a", "A L4 H2")
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

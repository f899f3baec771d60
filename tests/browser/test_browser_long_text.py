"""A text of 1,500 tokens in a real browser: blocks, exact cells where one zooms in, minimap, go to token."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Error, Locator, Page, Route, expect

from tfmviz.models import load_model

pytestmark = pytest.mark.browser
APP = Path(__file__).resolve().parents[2] / "app.py"
SLOW = 120_000
N = 1500
# A character is a token of this model, and one more begins every text.
TEXT = ("The keeper of the river knew every stone of it, and so did I. " * 24)[: N - 40] + "needle in the hay"
TEXT += "." * (N - 1 - len(TEXT))
NEEDLE = 1 + TEXT.index("needle")
BLOCK = 3

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def weights() -> np.ndarray:
    stack = load_model("scratch-untrained", device="cpu").trace(TEXT)["self"]
    return np.stack([stack.weights(1, head).numpy() for head in range(2)])


def opened(open_page: Open, address: str, more: str = "", **options: Any) -> Page:
    """The page with the map of the whole text and its lines."""
    page = open_page(f"{address}/?model=scratch-untrained&layer=1&head=0&text={quote(TEXT)}{more}", **options)
    expect(view(page).locator("[data-ready]")).to_have_attribute("data-ready", f"1x1x{N}", timeout=SLOW)
    expect(page.locator(".st-key-head_lines [data-ready]")).to_be_attached(timeout=SLOW)
    return page


@pytest.fixture
def open_long(serve: Callable[[Path], str], visit: Open) -> Open:
    return partial(opened, visit, serve(APP))


@pytest.fixture(scope="module")
def shared(serve: Callable[[Path], str], visit_once: Open) -> Page:
    """The text with lines from weight 0, for tests that only look closer at it."""
    return opened(visit_once, serve(APP), "&threshold=0.0")


@pytest.fixture
def page(shared: Page) -> Page:
    """The shared page with the whole map and nothing lit."""
    view(shared).get_by_role("application").focus()
    for key in ("0", "Escape"):
        shared.keyboard.press(key)
    shared.mouse.move(2, 2)
    expect(state(shared)).to_contain_text("Maxima of")
    expect(card(shared)).to_be_hidden()
    return shared


@pytest.fixture(scope="module")
def filing(serve: Callable[[Path], str], visit_once: Open) -> Page:
    """A page for tests that bring a file."""
    page = visit_once(f"{serve(APP)}/?model=scratch-untrained&text=abc")
    expect(page.locator(".st-key-atlas [data-ready]")).to_be_attached(timeout=SLOW)
    return page


def view(page: Page) -> Locator:
    return page.locator(".st-key-head_map")


def card(page: Page) -> Locator:
    return view(page).locator(".tooltip")


def live(page: Page) -> Locator:
    return view(page).locator("[aria-live]")


def state(page: Page) -> Locator:
    return view(page).locator(".map-state")


def point(page: Page, across: float, down: float) -> tuple[float, float]:
    box = view(page).locator(".stage canvas").bounding_box()
    assert box
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


def zoom_in(page: Page, across: float = 0.35, down: float = 0.7) -> None:
    page.mouse.move(*point(page, across, down))
    for _ in range(8):
        page.mouse.wheel(0, -100)
    expect(state(page)).to_have_text("Exact weights.")


def places(page: Page) -> list[list[int]]:
    """First and last row, and first and last column, that the card speaks of."""
    texts = card(page).locator(".cell-line > span.number").all_text_contents()
    return [[int(number) for number in text.split("–")] for text in texts]


# The first in this file, since a cell that was fetched once is told exactly from afar too.
def test_the_whole_text_shows_maxima_of_blocks_and_hover_says_which(page: Page, weights: np.ndarray) -> None:
    expect(state(page)).to_contain_text(f"Maxima of {BLOCK} × {BLOCK} blocks")
    seen = set()
    for across, down in ((0.3, 0.6), (0.25, 0.75), (0.5, 0.8)):
        page.mouse.move(*point(page, across, down))
        expect(card(page)).to_contain_text("largest weight of the block")
        (top, bottom), (left, right) = places(page)
        assert (bottom - top, right - left) == (BLOCK - 1, BLOCK - 1)
        largest = weights[0, top : bottom + 1, left : right + 1].max()
        expect(card(page).locator("strong")).to_have_text(f"{largest:.4f}")
        seen.add((top, left))
    assert len(seen) == 3


def test_zoomed_in_the_card_has_the_trace_s_numbers_and_only_the_visible_cells_were_fetched(
    page: Page, weights: np.ndarray
) -> None:
    asked: list[tuple[int, ...]] = []
    page.on(
        "request",
        lambda request: asked.extend(
            tuple(map(int, found)) for found in re.findall(r"/(\d+)-(\d+)/(\d+)-(\d+)$", request.url)
        ),
    )
    zoom_in(page, 0.5, 0.8)  # where no other test looks: what is there already is not fetched again
    seen = set()
    for across, down in ((0.35, 0.7), (0.3, 0.6), (0.5, 0.75)):
        page.mouse.move(*point(page, across, down))
        expect(card(page)).to_contain_text("weight")
        (row,), (col,) = places(page)
        expect(card(page).locator("strong")).to_have_text(f"{weights[0, row, col]:.4f}")
        seen.add((row, col))
    assert len(seen) == 3
    assert asked
    assert sum((b - a) * (d - c) for a, b, c, d in asked) < N * N / 4


def test_a_masked_cell_is_no_small_weight_far_and_near(page: Page) -> None:
    page.mouse.move(*point(page, 0.8, 0.45))
    expect(card(page)).to_contain_text("masked: may not look there")
    zoom_in(page, 0.8, 0.45)
    page.mouse.move(*point(page, 0.8, 0.5))
    expect(card(page)).to_contain_text("masked: may not look there")
    (row,), (col,) = places(page)
    assert col > row


def test_a_token_is_found_by_its_number_and_by_its_text(page: Page, weights: np.ndarray) -> None:
    field = view(page).get_by_label("Go to token")
    field.fill("1,203")
    field.press("Enter")
    expect(state(page)).to_have_text("Exact weights.")
    expect(live(page)).to_contain_text("(1203), key")
    expect(live(page)).to_contain_text(f"(1203): {weights[0, 1203, 1203]:.4f}")
    field.fill("Needle")
    field.press("Enter")
    expect(live(page)).to_contain_text(f"({NEEDLE}): {weights[0, NEEDLE, NEEDLE]:.4f}")
    expect(view(page).locator(".goto-told")).to_contain_text("1 of 1: token 1")
    field.fill("river")
    for time in (1, 2):
        field.press("Enter")
        expect(view(page).locator(".goto-told")).to_contain_text(f"{time} of {TEXT.count('river')}")
    second = 1 + TEXT.index("river", TEXT.index("river") + 1)
    expect(live(page)).to_contain_text(f"({second}): ")
    field.fill("9999")
    field.press("Enter")
    expect(view(page).locator(".goto-told")).to_contain_text("There is no token")
    field.fill("crocodile")
    field.press("Enter")
    expect(view(page).locator(".goto-told")).to_have_text("Not in this text.")
    field.fill(" ")
    field.press("Enter")
    expect(view(page).locator(".goto-told")).to_have_text("")


def test_the_minimap_shows_what_is_seen_and_is_dragged_elsewhere(page: Page, weights: np.ndarray) -> None:
    zoom_in(page)
    minimap, frame = view(page).locator(".minimap"), view(page).locator(".minimap-frame")
    box, before = minimap.bounding_box(), frame.bounding_box()
    assert box
    assert before
    assert before["width"] < box["width"] / 2
    page.mouse.move(before["x"] + before["width"] / 2, before["y"] + before["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.95 * box["height"], steps=4)
    page.mouse.up()
    after = frame.bounding_box()
    assert after
    assert after["y"] > before["y"]
    expect(state(page)).to_have_text("Exact weights.")
    page.mouse.move(*point(page, 0.45, 0.75))
    expect(card(page)).to_be_visible()
    (row,), (col,) = places(page)
    assert row > 0.8 * N
    assert col < 0.3 * N
    expect(card(page).locator("strong")).to_have_text(f"{weights[0, row, col]:.4f}")


def test_keys_move_by_blocks_from_afar_and_by_cells_when_near(page: Page, weights: np.ndarray) -> None:
    page.reload()  # without the cells that other tests have fetched
    expect(view(page).locator("[data-ready]")).to_have_attribute("data-ready", f"1x1x{N}", timeout=SLOW)
    view(page).get_by_role("application").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(live(page)).to_contain_text("(6–8), key")
    expect(live(page)).to_contain_text(f"(0–2): maximum {weights[0, 6:9, :3].max():.4f}")
    for _ in range(6):
        page.keyboard.press("+")
    expect(state(page)).to_have_text("Exact weights.")
    page.keyboard.press("ArrowDown")
    expect(live(page)).to_contain_text("(7), key")
    expect(live(page)).to_contain_text(f"(0): {weights[0, 7, 0]:.4f}")
    page.keyboard.press("0")
    expect(state(page)).to_contain_text("Maxima of")
    page.keyboard.press("Escape")
    expect(live(page)).to_have_text("")


def test_another_head_comes_ahead_of_the_page_and_cells_of_the_last_one_are_dropped(
    open_long: Open, weights: np.ndarray
) -> None:
    page = open_long()
    late: list[Route] = []
    page.route(re.compile(r"/1/0/\d+-\d+/\d+-\d+$"), lambda route: late.append(route))  # the old head's cells stay away
    page.mouse.move(*point(page, 0.35, 0.7))
    for _ in range(8):
        page.mouse.wheel(0, -100)
    expect(state(page)).to_contain_text("on their way")
    page.evaluate("() => { WebSocket.prototype.send = () => {}; }")  # Streamlit hears of nothing more
    page.locator(".st-key-atlas [role=application]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(view(page).get_by_role("application")).to_have_attribute("aria-label", re.compile("^Attention of L1 H1"))
    expect(state(page)).to_have_text("Exact weights.")
    assert late
    for route in late:
        with contextlib.suppress(Error):  # the page has given it up already
            route.continue_()
    page.wait_for_timeout(500)
    page.mouse.move(*point(page, 0.36, 0.7))
    expect(card(page)).to_be_visible()
    (row,), (col,) = places(page)
    expect(card(page).locator("strong")).to_have_text(f"{weights[1, row, col]:.4f}")


def test_cells_that_cannot_be_had_leave_the_blocks_and_say_so(open_long: Open, weights: np.ndarray) -> None:
    page = open_long()
    page.route(re.compile(r"/\d+-\d+/\d+-\d+$"), lambda route: route.fulfill(status=200, body="nonsense"))
    page.mouse.move(*point(page, 0.35, 0.7))
    for _ in range(8):
        page.mouse.wheel(0, -100)
    expect(state(page)).to_contain_text("could not be had")
    page.mouse.move(*point(page, 0.36, 0.7))
    expect(card(page)).to_contain_text("largest weight of the block")


def test_lines_of_a_long_text_say_how_many_are_not_drawn(page: Page) -> None:
    expect(page.locator(".st-key-head_lines .note")).to_contain_text(
        re.compile(r"The 1.500 links of largest weight drawn; [\d\u2009]+ more reach 0 and are not drawn")
    )


def bring(page: Page, file: Path) -> None:
    """Pick a file; the box for it is open afterwards."""
    if not page.locator("input[type=file]").count():
        page.get_by_role("button", name="Text file").click()
    page.locator("input[type=file]").set_input_files(file)


def test_a_file_that_is_no_text_leaves_the_box_as_it_was(filing: Page, tmp_path: Path) -> None:
    before = filing.get_by_label("Text", exact=True).input_value()
    (tmp_path / "odd.txt").write_bytes("Zwölf".encode("latin-1"))
    bring(filing, tmp_path / "odd.txt")
    expect(filing.get_by_text("is not UTF-8")).to_be_visible()
    assert filing.get_by_label("Text", exact=True).input_value() == before != ""


def test_a_shorter_text_s_map_takes_the_place_of_the_long_one_s_and_back(filing: Page, tmp_path: Path) -> None:
    for length in (600, 300, 550):
        (tmp_path / f"{length}.txt").write_text(TEXT[:length])
        bring(filing, tmp_path / f"{length}.txt")
        found = view(filing).get_by_role("application")
        expect(found.last).to_have_attribute("aria-label", re.compile(f": {length + 1} queries"), timeout=SLOW)
        expect(found).to_have_count(1)


def test_a_text_file_becomes_the_text_of_every_page(filing: Page, tmp_path: Path) -> None:
    (tmp_path / "river.txt").write_bytes(TEXT.encode("utf-16"))
    bring(filing, tmp_path / "river.txt")
    expect(filing.get_by_text("river.txt: 1,499 characters")).to_be_visible()
    expect(view(filing).locator("[data-ready]")).to_have_attribute("data-ready", f"1x1x{N}", timeout=SLOW)
    assert filing.get_by_label("Text", exact=True).input_value() == TEXT
    filing.keyboard.press("Escape")
    filing.get_by_role("link", name="Architectures").click()
    expect(filing.get_by_text("Three kinds of transformer").first).to_be_visible(timeout=SLOW)
    assert filing.get_by_label("Text", exact=True).input_value() == TEXT


def test_on_a_phone_nothing_is_wider_than_the_screen(open_long: Open) -> None:
    page = open_long(width=390, height=844, touch=True, ratio=2)
    for scheme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(14, 17, 23)")):
        page.emulate_media(color_scheme=scheme)
        expect(page.locator(".stApp")).to_have_css("background-color", ground)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        tools, plot = view(page).locator(".tools").bounding_box(), view(page).locator(".stage").bounding_box()
        assert tools
        assert plot
        assert tools["x"] + tools["width"] <= plot["x"] + plot["width"] + 1

"""The Explore page in a real Chromium: links, clicks, keys, and what stays when something fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tfmviz.charts.palette import LIGHT
from tfmviz.models import Model

APP = Path(__file__).resolve().parents[2] / "app.py"
TEXT = "The cat sat on the mat, and the dog on the cat."
LINKED = "Rivers = 100% “old”? </script><b>bold</b> <img src=x onerror=alert(1)> &amp; $x$"
SLOW = 120_000  # the first page of a fresh server imports torch and loads a model

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def explore(serve: Callable[[Path], str], visit_once: Open) -> Open:
    """Open the page with this address and wait for its picture: one browser for each kind of screen, to keep files."""
    pages: dict[str, Page] = {}

    def open_page(address: str = "", **options: Any) -> Page:
        url, screen = serve(APP) + "/" + address, str(options)
        if screen in pages:
            pages[screen].goto(url)
        else:
            pages[screen] = visit_once(url, **options)
        wait_for_map(pages[screen])
        return pages[screen]

    return open_page


@pytest.fixture(scope="module")
def first(serve: Callable[[Path], str], visit_once: Open) -> Page:
    """The page without anything in its address, for tests that only look at it."""
    page = visit_once(serve(APP) + "/")
    wait_for_map(page)
    return page


@pytest.fixture(scope="module")
def linked(serve: Callable[[Path], str], visit_once: Open) -> Page:
    """The page of ``LINKED``, for tests that only look at it."""
    page = visit_once(serve(APP) + f"/?text={quote(LINKED)}&model=smollm2&layer=4&head=2")
    wait_for_map(page)
    return page


@pytest.fixture(scope="module")
def worked_on(serve: Callable[[Path], str], visit_once: Open) -> Page:
    """The page of ``TEXT``, for tests that begin from whatever they find; see ``page``."""
    page = visit_once(serve(APP) + f"/?text={quote(TEXT)}")
    wait_for_map(page)
    return page


@pytest.fixture
def page(worked_on: Page, minilm: Model) -> Page:
    """MiniLM on ``TEXT``, no head pointed at; which one is chosen is what the test before has left."""
    worked_on.mouse.move(2, 2)
    if worked_on.get_by_label("Text", exact=True).input_value() != TEXT:
        type_text(worked_on, TEXT, len(minilm.tokenize(TEXT)))
    return worked_on


def wait_for_map(page: Page, title: str | None = None) -> None:
    page.wait_for_function(
        """(title) => {
            const atlas = document.querySelector(".st-key-atlas [data-ready]");
            const maps = [...document.querySelectorAll(".st-key-head_map")];
            const drawn = maps.length === 1 && maps[0].querySelector(".heatmaplayer image");
            return atlas && drawn && (!title || maps[0].querySelector(".gtitle").textContent.startsWith(title));
        }""",
        arg=title,
        timeout=SLOW,
    )


def ready(page: Page) -> str:
    return page.locator(".st-key-atlas [data-ready]").get_attribute("data-ready") or ""


def type_text(page: Page, text: str, n_tokens: int) -> None:
    box = page.get_by_label("Text", exact=True)
    box.fill(text)
    box.press("Control+Enter")
    page.wait_for_function(
        """(n) => document.querySelector(".st-key-atlas [data-ready]")?.dataset.ready.endsWith("x" + n)""", arg=n_tokens
    )
    page.wait_for_function(
        """(n) => document.querySelectorAll(".st-key-head_map").length === 1 &&
                  document.querySelector(".st-key-head_map .js-plotly-plot")?.calcdata?.[0][0].z.length === n""",
        arg=n_tokens,
    )


def drawn_weights(page: Page) -> np.ndarray:
    """The numbers in the map as the browser has them."""
    rows = page.wait_for_function(  # between two pictures there is none for a moment
        """() => document.querySelector(".st-key-head_map .js-plotly-plot")?.calcdata?.[0][0].z
                  .map((row) => [...row].map((value) => Number.isFinite(value) ? value : -1))"""
    )
    return np.array(rows.json_value(), dtype=np.float32)


def picker(page: Page, key: str) -> str:
    return page.locator(f".st-key-{key} input").input_value()


def test_the_first_page_has_a_picture_and_no_default_is_in_its_address(first: Page) -> None:
    assert ready(first).startswith("6x12x")
    assert "?" not in first.url
    expect(first.get_by_text("What you see")).to_be_visible()
    expect(first).to_have_title("Explore · tfmviz")


def test_a_link_opens_the_same_text_model_layer_and_head(linked: Page, smollm2: Model) -> None:
    assert linked.get_by_label("Text", exact=True).input_value() == LINKED
    assert (picker(linked, "model"), picker(linked, "layer"), picker(linked, "head")) == ("smollm2", "4", "2")
    expected = smollm2.trace(LINKED)["self"].weights(4, 2).numpy()
    drawn = drawn_weights(linked)
    past = np.tri(len(expected), dtype=bool)
    assert np.abs(drawn - expected)[past].max() < 1e-5
    assert (drawn[~past] == -1).all()


def test_what_is_typed_goes_into_the_address_and_a_second_browser_sees_the_same(
    page: Page, explore: Open, minilm: Model
) -> None:
    choose_head(page, 3, 4)
    typed = "A dog sat beside the door."
    type_text(page, typed, len(minilm.tokenize(typed)))
    page.wait_for_function("() => ['layer=3', 'head=4', 'door'].every((part) => location.search.includes(part))")
    other = explore(page.url.split("/")[-1])
    wait_for_map(other, "L3 H4")
    assert other.get_by_label("Text", exact=True).input_value() == typed
    assert np.array_equal(drawn_weights(other), drawn_weights(page))


def click_head(page: Page, layer: int, head: int) -> None:
    """Click a head by its place among the 6 x 12, found by what the atlas says under the pointer."""
    canvas = page.locator(".st-key-atlas canvas").first
    box = canvas.bounding_box()
    assert box is not None
    status = page.locator(".st-key-atlas .status")
    for x in np.linspace(box["width"] * (head + 0.6) / 12.8, box["width"] * (head + 1.6) / 12.8, 6):
        page.mouse.move(box["x"] + float(x), box["y"] + 22 + (box["height"] - 22) * (layer + 0.5) / 6)
        if status.inner_text().startswith(f"L{layer} H{head}"):
            page.mouse.down()
            page.mouse.up()
            return
    raise AssertionError(f"L{layer} H{head} was not found under the pointer")


def choose_head(page: Page, layer: int, head: int) -> None:
    """See that a head is chosen, whichever was before, and that Streamlit has drawn the whole page for it."""
    click_head(page, layer, head)
    expect(page.locator(".st-key-layer input")).to_have_value(str(layer))
    expect(page.locator(".st-key-head input")).to_have_value(str(head))
    page.wait_for_selector('[data-test-script-state="notRunning"]')
    # The map that came ahead changed the title in the picture alone; the figure's own title is Streamlit's.
    page.wait_for_function(
        """(title) => document.querySelector(".st-key-head_map .js-plotly-plot").layout.title.text.includes(title)""",
        arg=f"L{layer} H{head}",
    )
    wait_for_map(page, f"L{layer} H{head}")
    page.mouse.move(2, 2)


def test_a_click_in_the_atlas_moves_map_pickers_and_address(page: Page, minilm: Model) -> None:
    click_head(page, 4, 9)
    wait_for_map(page, "L4 H9")
    assert np.abs(drawn_weights(page) - minilm.trace(TEXT)["self"].weights(4, 9).numpy()).max() < 1e-6
    expect(page.locator(".st-key-layer input")).to_have_value("4")  # the map comes ahead of the pickers
    expect(page.locator(".st-key-head input")).to_have_value("9")
    page.wait_for_function("() => location.search.includes('layer=4') && location.search.includes('head=9')")


def test_a_picker_moves_the_ring_in_the_atlas(page: Page) -> None:
    page.locator(".st-key-layer input").click()
    page.locator("[role=option]").get_by_text("5", exact=True).click()
    wait_for_map(page, "L5 ")
    expect(page.locator(".st-key-atlas .status")).to_contain_text("L5 ")


def test_arrow_keys_and_enter_choose_a_head(page: Page) -> None:
    choose_head(page, 1, 1)
    page.locator(".st-key-atlas [role=application]").focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    wait_for_map(page, "L2 H2")


def test_a_click_leaves_the_atlas_as_it_was_sent(page: Page, minilm: Model) -> None:
    words = "many words " * 50
    type_text(page, words, len(minilm.tokenize(words)))
    version = page.locator(".st-key-atlas [data-version]").get_attribute("data-version")
    click_head(page, 1, 5)
    wait_for_map(page, "L1 H5")
    # the page has been drawn again by now
    page.wait_for_function("() => location.search.includes('layer=1') && location.search.includes('head=5')")
    assert page.locator(".st-key-atlas [data-version]").get_attribute("data-version") == version


def test_an_error_keeps_the_text_and_the_last_picture(page: Page, minilm: Model) -> None:
    before = page.locator(".st-key-atlas [data-version]").get_attribute("data-version")
    box = page.get_by_label("Text", exact=True)
    long = "One more sentence about rivers and stones. " * 120
    box.fill(long)
    box.press("Control+Enter")
    expect(page.get_by_text("the last token border that fits")).to_be_visible()
    assert page.locator(".st-key-atlas [data-version]").get_attribute("data-version") == before
    assert box.input_value() == long
    page.get_by_role("button", name="Cut after character").click()
    expect(page.get_by_text("the last token border that fits")).to_have_count(0)
    page.wait_for_function(
        "(n) => document.querySelector('.st-key-atlas [data-ready]').dataset.ready === '6x12x' + n",
        arg=minilm.max_tokens,
    )


def test_nonsense_in_the_address_opens_the_page_and_is_answered(explore: Open) -> None:
    page = explore("?layer=99&head=abc&threshold=-3&rows=perhaps&part=C&stack=none&heads=L99+H1&nothing=1")
    said = page.get_by_text("The address asks for layer “99”")
    expect(said).to_be_visible()
    assert "layer" not in page.url


def test_two_browsers_on_two_texts_in_turns(page: Page, explore: Open, minilm: Model) -> None:
    choose_head(page, 1, 3)
    pages = [page, explore("?layer=1&head=3")]
    for turn in range(3):
        for i, page in enumerate(pages):
            text = f"Page {i}" + " and on" * (turn + 1 + 12 * i)
            type_text(page, text, len(minilm.tokenize(text)))
    for i, page in enumerate(pages):
        text = f"Page {i}" + " and on" * (3 + 12 * i)
        assert np.abs(drawn_weights(page) - minilm.trace(text)["self"].weights(1, 3).numpy()).max() < 1e-6


@pytest.mark.parametrize("model", ["minilm", "smollm2"])
def test_on_a_phone_nothing_is_wider_than_the_screen(explore: Open, model: str) -> None:
    page = explore(f"?model={model}", width=390, height=844, touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    main = page.locator("[data-testid=stMain]")
    assert main.evaluate("(node) => node.scrollWidth") <= 390
    too_wide = page.evaluate(
        """() => [...document.querySelectorAll("[data-testid=stMain] [data-testid=stElementContainer]")]
                  .filter((node) => node.getBoundingClientRect().right > 391).map((node) => node.className)"""
    )
    assert too_wide == []


def test_the_picture_is_above_the_fold_of_a_laptop(first: Page) -> None:
    atlas = first.locator(".st-key-atlas canvas").first.bounding_box()
    chart = first.locator(".st-key-head_map .heatmaplayer image").bounding_box()
    assert atlas is not None
    assert chart is not None
    assert atlas["y"] + atlas["height"] <= 900
    assert chart["y"] + chart["height"] <= 900
    assert atlas["width"] >= 500


DEAF = """() => {
    // Whatever the page tells the server from now on stays untold, so Streamlit draws nothing again.
    window.untold = [];
    window.tell = WebSocket.prototype.send;
    WebSocket.prototype.send = function (...words) { window.untold.push([this, words]); };
}"""
HEARING = """() => {
    WebSocket.prototype.send = window.tell;
    for (const [socket, words] of window.untold) socket.send(...words);
}"""


@contextmanager
def deaf(page: Page) -> Iterator[None]:
    """The server hears of nothing until the block is over."""
    page.evaluate(DEAF)
    try:
        yield
    finally:
        page.evaluate(HEARING)


def test_a_chosen_head_is_on_screen_before_streamlit_has_drawn_the_page_again(page: Page, minilm: Model) -> None:
    choose_head(page, 1, 1)
    with deaf(page):  # what is read after it may be Streamlit's, or nothing, while the picture changes hands
        click_head(page, 3, 5)
        page.wait_for_function("""() => document.querySelector(".st-key-head_map .gtitle").textContent === "L3 H5" """)
        assert picker(page, "head") == "1"
        drawn = drawn_weights(page)
        coloured = shades(page, len(drawn))
    weights = minilm.trace(TEXT)["self"].weights(3, 5).numpy()
    np.testing.assert_allclose(drawn, weights, atol=1e-5)
    assert np.abs(coloured - weights).max() < 1 / 255


def test_the_map_of_a_long_text_comes_ahead_of_the_page_too(page: Page) -> None:
    box = page.get_by_label("Text", exact=True)
    box.fill("one two three four five " * 30)
    box.press("Control+Enter")
    canvas = page.locator(".st-key-head_map [data-version]")
    expect(canvas).to_have_attribute("data-ready", "1x1x152", timeout=SLOW)
    page.wait_for_selector('[data-test-script-state="notRunning"]')
    before = canvas.get_attribute("data-version")
    with deaf(page):
        click_head(page, 2, 4)
        expect(canvas).not_to_have_attribute("data-version", before or "")
        expect(page.locator(".st-key-head_map [role=application]")).to_have_attribute(
            "aria-label", re.compile("Attention of L2 H4")
        )


def shades(page: Page, n: int) -> np.ndarray:
    """Weights as the map's colours show them: the place of each pixel on the light scale."""
    pixels = page.evaluate(
        """async () => {
            const image = new Image();
            image.src = document.querySelector(".st-key-head_map .heatmaplayer image").getAttribute("href");
            await image.decode();
            const context = document.createElement("canvas").getContext("2d");
            Object.assign(context.canvas, { width: image.width, height: image.height });
            context.drawImage(image, 0, 0);
            return [...context.getImageData(0, 0, image.width, image.height).data];
        }"""
    )
    colours = np.array(pixels).reshape(n, n, 4)[..., :3]
    stops = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in LIGHT.weights])
    at = np.linspace(0, len(stops) - 1, 256)
    scale = np.stack([np.interp(at, range(len(stops)), stops[:, channel]) for channel in range(3)], axis=-1)
    return np.abs(colours[:, :, None] - scale).sum(-1).argmin(-1) / 255


def test_typed_markup_is_text_on_the_map_and_nowhere_markup(linked: Page, smollm2: Model) -> None:
    names = [token.text for token in smollm2.tokenize(LINKED)]
    ticks = linked.locator(".st-key-head_map .ytick text").all_text_contents()
    assert len(ticks) == len(names)
    assert "".join(ticks).replace("␣", " ") == LINKED
    assert linked.locator("img[src='x']").count() == linked.locator(".st-key-head_map b").count() == 0

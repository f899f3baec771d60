"""The atlas in a real browser: what is painted, said and sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tfmviz.charts.palette import DARK, LIGHT, rgb

pytestmark = pytest.mark.browser
SCRIPT = Path(__file__).parent / "scripts" / "atlas_script.py"

Open = Callable[..., Page]

COUNT_COLOUR = """(canvas, [r, g, b]) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] === r && data[at + 1] === g && data[at + 2] === b) count += 1;
  }
  return count;
}"""


@pytest.fixture(scope="module")
def open_atlas(serve: Callable[[Path], str], visit_once: Open) -> Open:
    """Open the page with this query anew; each kind of screen has one browser, which keeps its files."""
    pages: dict[str, Page] = {}

    def open_page(query: str = "", **options: object) -> Page:
        url, screen = f"{serve(SCRIPT)}/?{query}", str(options)
        if screen in pages:
            pages[screen].mouse.move(0, 0)
            pages[screen].goto(url)
        else:
            pages[screen] = visit_once(url, **options)
        host(pages[screen]).wait_for()
        return pages[screen]

    return open_page


@pytest.fixture(scope="module")
def six(serve: Callable[[Path], str], visit_once: Open) -> Page:
    """6 layers of 12 heads, for tests that look and point."""
    page = visit_once(f"{serve(SCRIPT)}/")
    host(page).wait_for()
    return page


@pytest.fixture(scope="module")
def thirty(serve: Callable[[Path], str], visit_once: Open) -> Page:
    """30 layers of 9 heads that share 3 keys, for tests that look."""
    page = visit_once(f"{serve(SCRIPT)}/?layers=30&heads=9&kv=3")
    host(page).wait_for()
    return page


def host(page: Page) -> Locator:
    return page.locator(".st-key-atlas [data-ready]")


def field(page: Page) -> Locator:
    return page.locator(".st-key-atlas").get_by_role("application")


def canvas(page: Page) -> Locator:
    return page.locator(".st-key-atlas .stage canvas")


def status(page: Page) -> Locator:
    return page.locator(".st-key-atlas .status")


def said(page: Page) -> Locator:
    return page.get_by_text(re.compile(r"^run \d+ calls"))


def pixels_of(page: Page, colour: str) -> int:
    return canvas(page).evaluate(COUNT_COLOUR, list(rgb(colour)))


def move_to(page: Page, x: float, y: float) -> None:
    """Put the pointer on a point of the picture."""
    box = canvas(page).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + x, box["y"] + y)


FIND = """(canvas, name) => {
  const root = canvas.getRootNode();
  const field = root.querySelector(".field");
  const box = canvas.getBoundingClientRect();
  const said = () => root.querySelector(".status").textContent;
  const at = (x, y) => {
    const place = { clientX: box.left + x, clientY: box.top + y, bubbles: true, pointerType: "mouse" };
    field.dispatchEvent(new PointerEvent("pointermove", place));
    return said().startsWith(name) && !root.querySelector(".tooltip").hidden;
  };
  for (let y = 30; y < box.height; y += 8) for (let x = 40; x < box.width; x += 8) if (at(x, y)) return [x + 4, y + 4];
  return null;
}"""


def find(page: Page, layer: int, head: int) -> tuple[float, float]:
    """A point inside a head, found as a visitor would: by moving over the picture until its name shows."""
    point = canvas(page).evaluate(FIND, f"L{layer} H{head}")
    assert point is not None, f"L{layer} H{head} is nowhere"
    page.mouse.move(0, 0)
    move_to(page, *point)
    return point[0], point[1]


def test_ready_says_layers_heads_and_tokens(thirty: Page) -> None:
    expect(host(thirty)).to_have_attribute("data-ready", "30x9x64")


def test_version_changes_with_the_numbers_and_only_with_them(open_atlas: Open) -> None:
    page = open_atlas()
    before = host(page).get_attribute("data-version")
    page.wait_for_selector('[data-test-script-state="notRunning"]')  # a click on a page that still runs may get lost
    page.get_by_role("button", name="again").click()
    expect(said(page)).to_contain_text("run 2")
    assert host(page).get_attribute("data-version") == before
    assert page.evaluate("performance.getEntriesByName('tfmviz:atlas').length") == 1
    page.get_by_role("spinbutton", name="version").fill("1")
    page.keyboard.press("Enter")
    expect(host(page)).not_to_have_attribute("data-version", before or "")
    assert page.evaluate("performance.getEntriesByName('tfmviz:atlas').length") == 2


def test_a_head_of_full_weight_is_painted_in_the_last_colour_of_the_scale(open_atlas: Open) -> None:
    dark_pixels = pixels_of(open_atlas("layers=2&heads=4&kv=4&size=8&full=1"), LIGHT.weights[-1])
    one_cell_each = pixels_of(open_atlas("layers=2&heads=4&kv=4&size=8"), LIGHT.weights[-1])
    # 8 heads have 1 of their 64 cells at weight 1; `full` gives one head all 64, that is 63 cells more.
    assert dark_pixels / one_cell_each == pytest.approx((8 + 63) / 8, rel=0.05)


def test_a_single_weight_among_64_columns_survives_small_cells(open_atlas: Open) -> None:
    page = open_atlas("layers=30&heads=9&kv=9")
    assert pixels_of(page, LIGHT.weights[-1]) >= 270


def test_a_causal_mask_is_hatched_and_its_absence_is_not(open_atlas: Open, six: Page) -> None:
    page = open_atlas("causal=1")
    assert pixels_of(page, LIGHT.masked) > 50_000
    assert page.locator(".st-key-atlas").get_by_text("masked").is_visible()
    assert pixels_of(six, LIGHT.masked) == 0


def test_hover_names_the_head_its_role_and_its_strongest_pair_as_text(six: Page) -> None:
    page = six
    find(page, 3, 5)
    card = page.locator(".st-key-atlas .tooltip")
    expect(card).to_contain_text("L3 H5")
    expect(card).to_contain_text("role 3.5")
    assert card.locator(".chip").all_text_contents() == ["</script>", "<b>&amp;</b>"]
    expect(card).to_contain_text("0.1235")
    assert (
        page.evaluate("document.querySelector('.st-key-atlas [data-ready]').shadowRoot.querySelectorAll('b').length")
        == 0
    )


def test_a_layer_without_attention_says_why(open_atlas: Open) -> None:
    page = open_atlas("none=2")
    find(page, 2, 4)
    expect(page.locator(".st-key-atlas .tooltip")).to_contain_text("No attention in this layer: state-space layer")
    assert pixels_of(page, LIGHT.masked) > 5_000


def test_heads_that_share_keys_stand_under_brackets(open_atlas: Open, thirty: Page) -> None:
    assert pixels_of(thirty, LIGHT.key) > 100
    assert pixels_of(open_atlas("layers=30&heads=9&kv=9"), LIGHT.key) == 0


def test_a_click_selects_at_once_and_python_follows(open_atlas: Open) -> None:
    page = open_atlas()
    x, y = find(page, 4, 7)
    box = canvas(page).bounding_box()
    assert box is not None
    # Between the click and anything the server could answer, in one step of the browser.
    named = field(page).evaluate(
        """(node, [x, y]) => {
          node.dispatchEvent(new PointerEvent("pointerleave"));
          node.dispatchEvent(new MouseEvent("click", { clientX: x, clientY: y, bubbles: true }));
          return node.parentNode.querySelector(".status").textContent;
        }""",
        [box["x"] + x, box["y"] + y],
    )
    assert named.startswith("L4 H7")
    expect(said(page)).to_contain_text("calls 1 picked (4, 7) selected 4,7")


def test_with_nothing_selected_there_is_no_ring_until_a_click(open_atlas: Open) -> None:
    page = open_atlas("nothing=1")
    expect(status(page)).to_have_text("Hover names a head, a click chooses it")
    assert pixels_of(page, LIGHT.ink) == 0
    move_to(page, *find(page, 0, 0))  # where a ring stands that nobody chose
    page.mouse.down()
    page.mouse.up()
    expect(said(page)).to_contain_text("calls 1 picked (0, 0) selected 0,0")
    page.mouse.move(0, 0)
    expect(status(page)).to_have_text(re.compile("^L0 H0"))
    assert pixels_of(page, LIGHT.ink) > 50


def test_a_click_on_the_selected_head_sends_nothing(open_atlas: Open) -> None:
    page = open_atlas()
    move_to(page, *find(page, 1, 1))
    page.mouse.down()
    page.mouse.up()
    expect(said(page)).to_contain_text("run 2 calls 1")
    page.mouse.down()
    page.mouse.up()
    page.wait_for_timeout(800)
    expect(said(page)).to_contain_text("run 2 calls 1")


def test_choosing_a_head_again_counts_after_a_picker_moved_on(open_atlas: Open) -> None:
    page = open_atlas()
    point = find(page, 1, 2)
    move_to(page, *point)
    page.mouse.click(*_absolute(page, point))
    expect(said(page)).to_contain_text("selected 1,2")
    page.get_by_role("spinbutton", name="layer").fill("5")
    page.keyboard.press("Enter")
    expect(said(page)).to_contain_text("picked None selected 5,2")
    page.mouse.move(0, 0)
    expect(status(page)).to_have_text(re.compile("^L5 H2"))
    page.mouse.click(*_absolute(page, point))
    expect(said(page)).to_contain_text("calls 2 picked (1, 2) selected 1,2")


def _absolute(page: Page, point: tuple[float, float]) -> tuple[float, float]:
    box = canvas(page).bounding_box()
    assert box is not None
    return box["x"] + point[0], box["y"] + point[1]


def test_arrow_keys_move_and_enter_selects(open_atlas: Open) -> None:
    page = open_atlas()
    field(page).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    expect(status(page)).to_have_text(re.compile("^L3 H1 "))
    expect(said(page)).to_contain_text("selected 0,0")
    page.keyboard.press("Enter")
    expect(said(page)).to_contain_text("picked (3, 1) selected 3,1")


def test_another_head_does_not_resend_the_overview(thirty: Page) -> None:
    page = thirty
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: received.append(len(data))))
    page.reload()
    host(page).wait_for()
    assert 1_105_920 < sum(received) < 1_300_000
    received.clear()
    page.get_by_role("spinbutton", name="layer").fill("7")
    page.keyboard.press("Enter")
    expect(status(page)).to_have_text(re.compile("^L7 H0"))
    assert sum(received) < 50_000


def test_zoom_makes_heads_larger_and_back(six: Page) -> None:
    page = six
    area = page.locator(".st-key-atlas .stage-area")
    sizes = "node => [node.clientWidth, node.clientHeight]"
    before = area.evaluate(sizes)
    page.get_by_role("button", name="Larger heads").click()
    larger = area.evaluate(sizes)
    page.get_by_role("button", name="Smaller heads").click()
    assert larger[0] > 1.3 * before[0]
    assert area.evaluate(sizes) == before


def test_another_theme_repaints_without_another_run(serve: Callable[[Path], str], visit: Open) -> None:
    page = visit(f"{serve(SCRIPT)}/?layers=2&heads=4&kv=4&size=8")
    host(page).wait_for()
    assert pixels_of(page, LIGHT.weights[-1]) > 0
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "() => getComputedStyle(document.querySelector('.stApp')).backgroundColor === 'rgb(14, 17, 23)'"
    )
    page.wait_for_timeout(300)
    assert pixels_of(page, DARK.weights[-1]) > 0
    assert pixels_of(page, LIGHT.weights[-1]) == 0
    expect(said(page)).to_contain_text("run 1")


def test_on_a_phone_all_heads_of_a_layer_fit_and_layers_scroll(open_atlas: Open) -> None:
    for query in ("layers=30&heads=9&kv=3", "layers=6&heads=12"):
        page = open_atlas(query, width=390, height=844, touch=True, ratio=2)
        sizes = page.locator(".st-key-atlas .stage").evaluate(
            "n => [n.clientWidth, n.scrollWidth, n.clientHeight, n.scrollHeight, document.body.scrollWidth]"
        )
        assert sizes[1] <= sizes[0] <= 390
        assert sizes[4] <= 390
        assert (sizes[3] > sizes[2]) == query.startswith("layers=30")


def test_in_half_a_page_all_270_heads_show_without_scrolling(open_atlas: Open) -> None:
    page = open_atlas("layers=30&heads=9&kv=3", width=590)
    sizes = page.locator(".st-key-atlas .stage").evaluate(
        "n => [n.clientWidth, n.scrollWidth, n.clientHeight, n.scrollHeight]"
    )
    assert sizes[0] < 600
    assert sizes[1] <= sizes[0]
    assert sizes[3] <= sizes[2]
    find(page, 29, 8)


def test_a_head_of_all_layers_can_be_the_selected_one(open_atlas: Open) -> None:
    page = open_atlas("all_layers=1")
    expect(status(page)).to_have_text("All layers, H0")
    field(page).focus()
    page.keyboard.press("ArrowDown")
    expect(status(page)).to_have_text(re.compile("^L1 H0 "))

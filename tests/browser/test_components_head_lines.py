"""Token lines in a real browser: what is drawn, said, kept and left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tfmviz.charts.palette import LIGHT, rgb

pytestmark = pytest.mark.browser
SCRIPT = Path(__file__).parent / "scripts" / "head_lines_script.py"
ODD = ["</script>", "<b>bold</b>", "&amp;", "שלום", "👩🏽‍🚀", "↵", "cat", "<img␣src=x␣onerror=boom()>"]
ROW, TOP = 26, 28  # CSS pixels of a row and above the first

Open = Callable[..., Page]

COUNT_COLOUR = """(canvas, [r, g, b, from]) => {
  const left = Math.floor(canvas.width * from);
  const { data } = canvas.getContext("2d").getImageData(left, 0, canvas.width - left, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] === r && data[at + 1] === g && data[at + 2] === b) count += 1;
  }
  return count;
}"""

# How many pixels between the columns are not background.
INK = """(canvas) => {
  const left = Math.floor(canvas.width * 0.4);
  const width = Math.floor(canvas.width * 0.2);
  const { data } = canvas.getContext("2d").getImageData(left, 24, width, canvas.height - 24);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) if (data[at] + data[at + 1] + data[at + 2] < 720) count += 1;
  return count;
}"""


@pytest.fixture(scope="module")
def open_lines(serve: Callable[[Path], str], visit_once: Open) -> Open:
    """Open the page with this query anew; each kind of screen has one browser, which keeps its files."""
    pages: dict[str, Page] = {}

    def open_page(query: str = "", **options: object) -> Page:
        url, screen = f"{serve(SCRIPT)}/?{query}", str(options)
        if screen in pages:
            pages[screen].mouse.move(2, 2)
            pages[screen].goto(url)
        else:
            pages[screen] = visit_once(url, **options)
        pages[screen].locator(".st-key-head_lines [data-ready]").wait_for()
        return pages[screen]

    return open_page


@pytest.fixture(scope="module")
def eight(serve: Callable[[Path], str], visit_once: Open) -> Page:
    page = visit_once(f"{serve(SCRIPT)}/")
    page.locator(".st-key-head_lines [data-ready]").wait_for()
    return page


@pytest.fixture
def page(eight: Page) -> Page:
    """Eight odd tokens, none of them touched."""
    eight.get_by_role("button", name="What it looks at").click()
    view(eight).get_by_role("application").focus()
    eight.keyboard.press("Escape")
    eight.mouse.move(2, 2)
    expect(touched(eight)).to_have_count(0)
    return eight


def view(page: Page) -> Locator:
    return page.locator(".st-key-head_lines")


def canvas(page: Page) -> Locator:
    return view(page).locator("canvas")


def panel(page: Page) -> Locator:
    return view(page).locator(".panel")


def touched(page: Page) -> Locator:
    """The chip of the touched token in the panel."""
    return panel(page).locator(".panel-head .chip")


def point(page: Page, row: int, side: str = "query") -> tuple[float, float]:
    """Window coordinates of a token of the picture with lines."""
    box = canvas(page).bounding_box()
    assert box is not None
    return box["x"] + (80 if side == "query" else box["width"] - 80), box["y"] + TOP + ROW * row + ROW / 2


def hover(page: Page, row: int, side: str = "query") -> None:
    page.mouse.move(*point(page, row, side))


def known_weights(n: int = 8, heads: int = 1) -> np.ndarray:
    """The weights of the page, computed here as well."""
    scores = np.random.default_rng(0).normal(size=(heads, n, n)) * 2
    return np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)


def test_ready_says_heads_and_tokens(open_lines: Open) -> None:
    page = open_lines("heads=3&n=8&keys=5")
    expect(view(page).locator("[data-ready]")).to_have_attribute("data-ready", "1x3x5")


def test_hover_shows_the_weights_of_the_token_to_four_digits(page: Page) -> None:
    weights = known_weights()[0]
    for row in (0, 6):
        hover(page, row)
        expect(touched(page)).to_have_text(ODD[row])
        order = np.argsort(-weights[row])[:5]
        assert panel(page).locator(".number").all_text_contents() == [f"{weights[row, k]:.4f}" for k in order]
        assert panel(page).locator(".panel-row .chip").all_text_contents() == [ODD[k] for k in order]


def test_hovering_a_key_shows_who_looks_at_it(page: Page) -> None:
    weights = known_weights()[0]
    hover(page, 2, "key")
    expect(panel(page)).to_contain_text("is looked at by")
    order = np.argsort(-weights[:, 2])[:5]
    assert panel(page).locator(".number").all_text_contents() == [f"{weights[q, 2]:.4f}" for q in order]


def test_tokens_that_look_like_markup_stay_text(page: Page) -> None:
    for row, text in enumerate(ODD):
        hover(page, row)
        expect(touched(page)).to_have_text(re.compile(f"^[\u2068]?{re.escape(text)}[\u2069]?$"))
    count = (
        "document.querySelector('.st-key-head_lines [data-ready]').shadowRoot.querySelectorAll('b, script, img').length"
    )
    assert page.evaluate(count) == 0


def test_a_click_keeps_the_token_through_reruns_and_escape_frees_it(open_lines: Open) -> None:
    page = open_lines()
    page.mouse.click(*point(page, 2))
    hover(page, 5)
    expect(touched(page)).to_have_text("&amp;")
    page.get_by_role("button", name="again").click()
    expect(page.get_by_text("run 2")).to_be_visible()
    expect(touched(page)).to_have_text("&amp;")
    view(page).get_by_role("application").focus()
    page.keyboard.press("Escape")
    expect(touched(page)).to_have_count(0)


def test_a_kept_token_stays_when_other_weights_of_the_same_text_arrive(open_lines: Open) -> None:
    page = open_lines("one=1&n=8")
    page.mouse.click(*point(page, 6))
    expect(panel(page).locator(".panel-row .chip")).to_have_text(["cat"])
    page.get_by_role("spinbutton", name="shift").fill("4")
    page.keyboard.press("Enter")
    expect(panel(page).locator(".panel-row .chip")).to_have_text(["&amp;"])
    expect(touched(page)).to_have_text("cat")


def test_arrow_keys_move_the_token_and_change_sides(page: Page) -> None:
    view(page).get_by_role("application").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    expect(touched(page)).to_have_text(ODD[1])
    expect(panel(page)).to_contain_text("looks at")
    page.keyboard.press("ArrowRight")
    expect(panel(page)).to_contain_text("is looked at by")
    expect(touched(page)).to_have_text(ODD[1])


def test_the_switch_turns_a_kept_token(page: Page) -> None:
    page.mouse.click(*point(page, 4))
    weights = known_weights()[0]
    page.get_by_role("button", name="Who looks at it").click()
    expect(panel(page)).to_contain_text("is looked at by")
    assert panel(page).locator(".number").first.text_content() == f"{weights[:, 4].max():.4f}"
    page.get_by_role("button", name="What it looks at").click()
    assert panel(page).locator(".number").first.text_content() == f"{weights[4].max():.4f}"


def test_a_row_of_nan_draws_no_line(open_lines: Open) -> None:
    page = open_lines("n=1&nan=0")
    assert canvas(page).evaluate(INK) == 0
    hover(page, 0)
    expect(panel(page)).to_contain_text("nothing that is shown")
    assert open_lines("n=1").locator(".st-key-head_lines canvas").evaluate(INK) > 100


def test_links_below_the_threshold_are_not_drawn(open_lines: Open) -> None:
    assert canvas(open_lines("threshold=0.999")).evaluate(INK) == 0
    page = open_lines("threshold=0.2")
    count = int((known_weights() >= 0.2).sum())
    expect(view(page).locator(".note")).to_have_text(f"{count} links of weight 0.2 or more drawn.")
    assert canvas(page).evaluate(INK) > 0


def test_the_picture_says_how_many_links_the_budget_left_out(open_lines: Open) -> None:
    page = open_lines("budget=7&threshold=0.1")
    rest = int((known_weights() >= 0.1).sum()) - 7
    expect(view(page).locator(".note")).to_contain_text(f"The 7 links of largest weight drawn; {rest} more reach 0.1")


def test_hidden_special_tokens_are_gone_and_their_share_is_stated(open_lines: Open) -> None:
    page = open_lines("special=hide")
    share = known_weights()[0, 1:, 0].mean()  # rows sum to 1, so the mean is the share
    expect(view(page).locator(".note")).to_contain_text(f"they hold {100 * share:.0f} % of the attention")
    hover(page, 0)
    expect(touched(page)).to_have_text(ODD[1])


def test_masked_keys_are_hatched_for_a_touched_query(open_lines: Open, page: Page) -> None:
    hatch = [*rgb(LIGHT.masked), 0.5]
    causal = open_lines("causal=1")
    assert canvas(causal).evaluate(COUNT_COLOUR, hatch) == 0
    hover(causal, 1)
    expect(touched(causal)).to_have_text(ODD[1])
    causal.wait_for_timeout(100)
    assert canvas(causal).evaluate(COUNT_COLOUR, hatch) > 300
    hover(page, 1)
    expect(touched(page)).to_have_text(ODD[1])
    page.wait_for_timeout(100)
    assert canvas(page).evaluate(COUNT_COLOUR, hatch) == 0


def test_twelve_heads_have_a_colour_and_a_letter_each_and_can_be_switched_off(open_lines: Open) -> None:
    page = open_lines("heads=12")
    switches = view(page).locator("button.head")
    assert [text[0] for text in switches.all_text_contents()] == list("ABCDEFGHIJKL")
    colours = view(page).locator("button.head .letter").evaluate_all("n => n.map((x) => getComputedStyle(x).color)")
    assert len(set(colours)) == 12
    weights = known_weights(heads=12)[:, 3]
    hover(page, 3)
    assert panel(page).locator(".number").first.text_content() == f"{weights.max():.4f}"
    best = int(weights.max(axis=1).argmax())
    switches.nth(best).click()
    weights[best] = 0
    hover(page, 3)
    assert panel(page).locator(".number").first.text_content() == f"{weights.max():.4f}"


def test_a_text_of_2000_tokens_scrolls_in_one_canvas_of_screen_size(open_lines: Open) -> None:
    page = open_lines("n=2000&one=1")
    height = canvas(page).evaluate("node => node.height")
    assert height <= 600
    view(page).locator(".stage").evaluate("node => node.scrollTop = node.scrollHeight")
    page.wait_for_timeout(200)
    box = canvas(page).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 80, box["y"] + height - 20)
    expect(touched(page)).to_have_text("t1999")
    assert panel(page).locator(".panel-row .chip").all_text_contents() == ["t1999"]
    assert panel(page).locator(".number").all_text_contents() == ["1.0000"]


def test_cross_attention_keeps_every_key_of_the_longer_side(open_lines: Open) -> None:
    page = open_lines("n=8&keys=3")
    for row in range(3):
        hover(page, row, "key")
        expect(touched(page)).to_have_text(ODD[row])
    hover(page, 7)
    assert len(panel(page).locator(".number").all_text_contents()) == 3


def test_on_a_phone_a_touched_token_lists_its_five_strongest_keys(open_lines: Open) -> None:
    page = open_lines(width=390, height=844, touch=True)
    assert page.evaluate("document.body.scrollWidth") <= 390
    box = canvas(page).bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + 30, box["y"] + 18)
    expect(touched(page)).to_have_text(ODD[0])
    weights = known_weights()[0, 0]
    order = np.argsort(-weights)[:5]
    assert panel(page).locator(".number").all_text_contents() == [f"{weights[k]:.4f}" for k in order]

"""The components can be used without sight of their canvases and without a mouse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tfmviz.charts.palette import palette, rgb

pytestmark = pytest.mark.browser
SCRIPTS = Path(__file__).parent / "scripts"


@pytest.fixture(
    scope="module",
    params=[
        ("atlas_script.py", "atlas", "layers=30&heads=9&kv=3&causal=1&none=4"),
        ("head_lines_script.py", "head_lines", "heads=12&budget=20"),
        ("head_lines_script.py", "head_lines", "special=hide"),
    ],
    ids=["atlas", "lines of 12 heads", "lines without special tokens"],
)
def component(
    serve: Callable[[Path], str], visit_once: Callable[..., Page], request: pytest.FixtureRequest
) -> tuple[Page, str]:
    """A page, and the key of the component on it."""
    script, key, query = request.param
    page = visit_once(f"{serve(SCRIPTS / script)}/?{query}")
    page.locator(f".st-key-{key} [data-ready]").wait_for()
    return page, key


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_no_serious_fault(component: tuple[Page, str], dark: bool) -> None:
    page, key = component
    page.emulate_media(color_scheme="dark" if dark else "light")
    expect(page.locator(".stApp")).to_have_css("background-color", f"rgb{rgb(palette(dark).background)}")
    expect(page.locator(f".st-key-{key} .tfmviz").first).to_have_css("color-scheme", "dark" if dark else "light")
    found = Axe().run(page, context=f".st-key-{key}").response["violations"]
    serious = [(fault["id"], fault["help"]) for fault in found if fault["impact"] in ("serious", "critical")]
    assert serious == []


def test_every_control_of_the_lines_is_reached_with_the_tab_key(
    serve: Callable[[Path], str], visit: Callable[..., Page]
) -> None:
    page = visit(f"{serve(SCRIPTS / 'head_lines_script.py')}/?heads=2")
    page.locator(".st-key-head_lines [data-ready]").wait_for()
    page.get_by_role("button", name="What it looks at").focus()
    reached = []
    for _ in range(4):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(() => { const a = document.activeElement.shadowRoot.activeElement;"
                " return a.getAttribute('role') ?? a.textContent; })()"
            )
        )
    assert reached == ["Who looks at it", "AL0 H0", "BL1 H1", "application"]

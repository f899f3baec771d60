"""The components can be used without sight of their canvases and without a mouse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

pytestmark = pytest.mark.browser
SCRIPTS = Path(__file__).parent / "scripts"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    ("script", "key", "query"),
    [
        ("atlas_script.py", "atlas", "layers=30&heads=9&kv=3&causal=1&none=4"),
        ("head_lines_script.py", "head_lines", "heads=12&budget=20"),
        ("head_lines_script.py", "head_lines", "special=hide"),
    ],
)
def test_axe_finds_no_serious_fault(
    serve: Callable[[Path], str], visit: Callable[..., Page], script: str, key: str, query: str, dark: bool
) -> None:
    page = visit(f"{serve(SCRIPTS / script)}/?{query}", dark=dark)
    page.locator(f".st-key-{key} [data-ready]").wait_for()
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

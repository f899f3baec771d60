"""Whatever is typed, the browser shows it as typed and makes nothing of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tfmviz.text.display import WORD_JOINER

SCRIPTS = Path(__file__).parent / "scripts"
HOSTILE = json.loads((SCRIPTS / "hostile.json").read_text(encoding="utf-8"))
pytestmark = pytest.mark.browser
PLAIN = {"markdown": {"P", "BR"}, "code": {"P", "CODE"}, "error": {"P", "BR"}, "label": {"P", "BR"}, "html": {"P"}}


def test_hostile_texts_are_only_text(serve, visit):
    """The page's own check also fails if any other host is asked for anything."""
    page = visit(serve(SCRIPTS / "display_script.py"))
    expect(page.get_by_text("all there")).to_be_visible(timeout=60_000)
    for i, text in enumerate(HOSTILE):
        for way, allowed in PLAIN.items():
            place = page.locator(f".st-key-{way}{i}")
            inside = "[data-testid=stHtml]" if way == "html" else "[data-testid=stMarkdownContainer]"
            expect(place.locator(inside).first).not_to_have_text("")
            tags = place.evaluate("(e, inside) => [...e.querySelectorAll(inside + ' *')].map(x => x.tagName)", inside)
            shown = place.inner_text().replace(WORD_JOINER, "")
            assert " ".join(shown.split()) == " ".join(text.split()), (way, text)
            assert tags, (way, text)
            assert set(tags) <= allowed, (way, text)

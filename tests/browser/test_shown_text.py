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

# For each text and each way: the way, the words on the screen and the elements that they are made of.
READ = """([count, ways]) => Array.from({ length: count }, (_, i) => ways.map((way) => {
  const place = document.querySelector(`.st-key-${way}${i}`);
  const inside = way === "html" ? "[data-testid=stHtml]" : "[data-testid=stMarkdownContainer]";
  return [way, place.innerText, [...place.querySelectorAll(`${inside} *`)].map((node) => node.tagName)];
}))"""


def test_hostile_texts_are_only_text(serve, visit):
    """The page's own check also fails if any other host is asked for anything."""
    page = visit(serve(SCRIPTS / "display_script.py"))
    expect(page.get_by_text("all there")).to_be_visible(timeout=60_000)
    asked = [len(HOSTILE), list(PLAIN)]
    page.wait_for_function(f"(asked) => ({READ})(asked).flat().every(([, , tags]) => tags.length)", arg=asked)
    for text, ways in zip(HOSTILE, page.evaluate(READ, asked), strict=True):
        for way, shown, tags in ways:
            assert " ".join(shown.replace(WORD_JOINER, "").split()) == " ".join(text.split()), (way, text)
            assert tags, (way, text)
            assert set(tags) <= PLAIN[way], (way, text)

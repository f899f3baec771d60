"""How long `streamlit run app.py` takes from nothing to its first page."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from sys import executable

from browser import chromium
from playwright.sync_api import Playwright
from servers import serve
from tools import PAINTED_STATE

_TIMES = 3
_BARE = Path(__file__).with_name("bare_page.py")


@dataclass(frozen=True, kw_only=True, slots=True)
class ColdStart:
    """Seconds since the process was started: first answer, text box on screen, first picture on screen.

    ``bare`` is the second of these for a page that has a text box and nothing else, in the same minute.
    """

    answered: float
    page: float
    picture: float
    bare: float


def cold_starts(playwright: Playwright, app: Path, times: int = _TIMES) -> list[ColdStart]:
    """Start the app in a new process, open it in a browser that is running already, end it; several times."""
    return [_once(playwright, app, _bare(playwright)) for _ in range(times)]


def _bare(playwright: Playwright) -> float:
    with chromium(playwright) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        begin = time.monotonic()
        with serve(executable, _BARE) as address:
            page.goto(address)
            page.wait_for_selector(".st-key-text textarea", timeout=60_000)
            return time.monotonic() - begin


def _once(playwright: Playwright, app: Path, bare: float) -> ColdStart:
    with chromium(playwright) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        begin = time.monotonic()
        with serve(executable, app) as address:
            answered = time.monotonic() - begin
            page.goto(address)
            page.wait_for_selector(".st-key-text textarea", timeout=60_000)
            shown = time.monotonic() - begin
            while not (state := page.evaluate(PAINTED_STATE))["version"] or not state["image"]:
                if time.monotonic() - begin > 120:
                    raise RuntimeError("the app's first picture did not appear within two minutes")
                page.wait_for_timeout(50)
            return ColdStart(answered=answered, page=shown, picture=time.monotonic() - begin, bare=bare)

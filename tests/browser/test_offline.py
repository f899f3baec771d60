"""With the network cut everything works, and the browser asks no host but the app's own for anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from playwright.sync_api import Browser, expect

from tfmviz.ui.server import HEADERS

APP = Path(__file__).resolve().parents[2] / "app.py"


def test_no_other_host_is_asked_for_anything(serve: Callable[[Path], str], browser: Browser) -> None:
    url = serve(APP)
    host = urlsplit(url).netloc
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    # The network is cut: whatever is not this server cannot be reached.
    context.route(lambda address: urlsplit(address).netloc != host, lambda route: route.abort("internetdisconnected"))
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda line: faults.append(line.text) if line.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    for model in ("minilm", "smollm2"):
        page.goto(f"{url}/?model={model}&text={quote('Good morning, доброе утро, صباح الخير 👩🏽‍🚀')}")
        page.wait_for_selector(".st-key-atlas [data-ready]", timeout=120_000)
        page.wait_for_selector(".st-key-head_map .heatmaplayer image")
        page.get_by_text("What a head is, and where these numbers come from").click()
        expect(page.locator(".katex").first).to_be_visible()
        page.wait_for_timeout(500)
    context.close()
    assert {urlsplit(address).netloc for address in asked if address.startswith(("http", "ws"))} == {host}
    assert faults == []


def test_every_answer_carries_the_security_headers(serve: Callable[[Path], str]) -> None:
    url = serve(APP)
    for path in ("/", "/health", "/_stcore/health", "/fonts/ibm-plex-sans-latin-400-normal.woff2"):
        with urlopen(url + path) as answer:  # the test's own server
            for name, value in HEADERS.items():
                assert answer.headers[name] == value, (path, name)


def test_the_first_page_is_found_by_its_name_too_with_all_that_its_address_holds(serve: Callable[[Path], str]) -> None:
    url = serve(APP)
    with urlopen(f"{url}/explore?text=a%26b%20%3F&head=3") as answer:  # the test's own server
        assert answer.url == f"{url}/?text=a%26b%20%3F&head=3"
        assert answer.status == 200

"""One Chromium, one tab: type a text into an open page; how long until the picture, how many bytes, how much memory."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Error, Frame, Locator, Page, Playwright, Route
from tools import PAINTED_STATE, Tool

_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
_PROBE = Path(__file__).with_name("probe.js").read_text(encoding="utf-8")
_TEXT_BOX = "textarea"
_CLICK_TIMEOUT_S = 3.0
_CLICKS = 5
_HOVERS = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """What one change of text did.

    Attributes:
        failed: why there is no picture; None where there is one. Where it is set nothing else is.
        seconds: from the key press to the painted picture.
        parts: the same for each part of the picture.
        bytes_sent: over the WebSocket since the key press.
        largest: bytes of the largest message for each keyed element (atlas, head_map).
        tab_bytes: the most memory that the tab's process ever held.
        hovers: milliseconds of work on the browser's main thread for each hover.
        clicks: milliseconds from a click on another head to its map on screen.
    """

    failed: str | None = None
    seconds: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    bytes_sent: int = 0
    largest: dict[str, int] = field(default_factory=dict)
    tab_bytes: int = 0
    hovers: list[float] = field(default_factory=list)
    clicks: list[float] = field(default_factory=list)


class Wire:
    """The server's messages since the last `clear`."""

    def __init__(self, page: Page) -> None:
        self.sizes: list[int] = []
        self.largest: dict[str, int] = {}
        page.on("websocket", lambda socket: socket.on("framereceived", self._take))

    def clear(self) -> None:
        self.sizes.clear()
        self.largest.clear()

    def _take(self, payload: str | bytes) -> None:
        self.sizes.append(len(payload))
        if isinstance(payload, bytes):
            # An element's id ends in its widget's key; the next field follows without a gap.
            for key in re.findall(rb"\$\$ID-[0-9a-f]{32}-(atlas|head_map)", payload):
                name = key.decode()
                self.largest[name] = max(self.largest.get(name, 0), len(payload))


@contextmanager
def chromium(playwright: Playwright) -> Iterator[Any]:
    """The system's Chromium where there is one, else Playwright's own."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    browser = playwright.chromium.launch(executable_path=found, args=_FLAGS.split())
    try:
        yield browser
    finally:
        browser.close()


def visit(playwright: Playwright, tool: Tool, url: str, text: str, **limits: Any) -> Visit:
    """Open a page in a fresh browser, change its text, and measure.

    Args:
        playwright: the running Playwright.
        tool: what is at the address.
        url: the page.
        text: what is typed.
        limits: ``n`` tokens of the text, ``timeout_s``, ``cdn`` files, ``screenshot`` path or None.
    """
    with chromium(playwright) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        crashed: list[bool] = []
        page.on("crash", lambda _: crashed.append(True))
        wire = Wire(page)
        page.route("**/*", lambda route: _route(route, limits["cdn"]))
        page.add_init_script(_PROBE.replace("/* ready */ null", tool.ready))
        page.goto(url)
        page.wait_for_selector(_TEXT_BOX, timeout=180_000)
        if tool.is_product:
            _settle(page)
        page.wait_for_timeout(500)
        page.fill(_TEXT_BOX, text)
        if tool.is_product:
            _await_text(page, limits["n"])
        wire.clear()
        page.press(_TEXT_BOX, "Control+Enter")
        frame = _painted_frame(page, limits["timeout_s"], crashed)
        if isinstance(frame, str):
            return Visit(failed=frame)
        acted = page.evaluate("__probe.acted")
        parts = {name: (at - acted) / 1000 for name, at in frame.evaluate("__probe.parts").items()}
        page.wait_for_timeout(300)  # what is still on its way is part of the bytes
        sent, largest = sum(wire.sizes), dict(wire.largest)
        if limits["screenshot"]:
            page.screenshot(path=limits["screenshot"])
        return Visit(
            seconds=max(parts.values()),
            parts=parts,
            bytes_sent=sent,
            largest=largest,
            hovers=_hovers(page, frame, tool),
            clicks=_clicks(page) if tool.is_product else [],
            tab_bytes=_tab_bytes(),
        )


def _route(route: Route, cdn: dict[str, Path]) -> None:
    """Only this machine is asked; BertViz's scripts come from disk, and anything else fails as without a network."""
    url = route.request.url
    local = next((path for name, path in cdn.items() if url.endswith(name)), None)
    if url.startswith("http://127.0.0.1"):
        route.continue_()
    elif local:
        route.fulfill(path=local, content_type="text/javascript")
    else:
        route.abort()


def _painted_frame(page: Page, timeout_s: float, crashed: list[bool]) -> Frame | str:
    """The frame whose picture is painted, or why there is none."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if crashed:
            return "tab crashed"
        for frame in page.frames:
            with suppress(Error):  # frames come and go while Streamlit reruns
                if frame.evaluate("window.__probe?.painted || 0"):
                    return frame
        error = page.locator('[data-testid="stException"]')
        if error.count():
            return "message too large" if "MessageSizeError" in error.first.inner_text() else "error"
        page.wait_for_timeout(20)
    return f"over {timeout_s:.0f} s"


def _settle(page: Page) -> None:
    """Wait until the product's first picture, of its sample text, is there."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        state = page.evaluate(PAINTED_STATE)
        if state["version"] and state["image"]:
            return
        page.wait_for_timeout(50)
    raise RuntimeError("the app's first picture did not appear within two minutes")


def _await_text(page: Page, n_tokens: int) -> None:
    state = page.evaluate(PAINTED_STATE)
    layers_and_heads = state["name"].rsplit("x", 1)[0]
    goal = state | {"tokens": n_tokens, "name": f"{layers_and_heads}x{n_tokens}", "clicked": False}
    page.evaluate("(goal) => __probe.watch(goal)", goal)


def _hovers(page: Page, frame: Frame, tool: Tool) -> list[float]:
    """Move the mouse over one thing after another, or over one canvas's places where the picture is one canvas."""
    if not tool.hover:
        return []
    with suppress(Error):
        for place in _hover_places(frame.locator(tool.hover), single=tool.is_product):
            page.mouse.move(*place)
            page.wait_for_timeout(150)
    return frame.evaluate("__probe.hovers.splice(0)")


def _hover_places(found: Locator, *, single: bool) -> Iterator[tuple[float, float]]:
    for turn in range(_HOVERS):
        thing = found.first if single else found.nth(turn + 1)
        thing.scroll_into_view_if_needed(timeout=5000)
        box = thing.bounding_box()
        if box is None:
            return
        if single:
            yield box["x"] + box["width"] * (0.2 + 0.1 * turn), box["y"] + box["height"] * (0.25 + 0.1 * turn)
        else:
            yield box["x"] + box["width"] / 2, box["y"] + min(box["height"] / 2, 20)


def _clicks(page: Page) -> list[float]:
    """Click on other heads of the atlas, one after another; a head that is not drawn in time counts with all of it."""
    taken: list[float] = []
    places = _other_heads(page)
    for x, y in places:
        state = page.evaluate(PAINTED_STATE)
        page.mouse.move(x, y)
        page.evaluate("(goal) => __probe.watch(goal)", state | {"clicked": True})
        page.mouse.click(x, y)
        frame = _painted_frame(page, _CLICK_TIMEOUT_S, [])
        painted, acted = page.evaluate("[__probe.painted, __probe.acted]")
        taken.append(1000 * _CLICK_TIMEOUT_S if isinstance(frame, str) else painted - acted)
        page.wait_for_timeout(400)
    return taken


def _other_heads(page: Page) -> list[tuple[float, float]]:
    """Places under which the atlas says that a head lies, each another one than the place before."""
    box = page.locator(".st-key-atlas canvas").first.bounding_box()
    said = page.locator(".st-key-atlas .status")
    places: list[tuple[float, float]] = []
    if box is None:
        return places
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] - 40)
    page.wait_for_timeout(50)
    before = _head_named(said.inner_text())  # without a pointer: the one that is chosen
    for turn in range(4 * _CLICKS):
        x, y = box["x"] + box["width"] * (0.15 + 0.035 * turn), box["y"] + box["height"] * (0.2 + 0.13 * (turn % 5))
        page.mouse.move(x, y)
        page.wait_for_timeout(50)
        head = _head_named(said.inner_text())
        if head and head != before and len(places) < _CLICKS:
            places.append((x, y))
            before = head
    return places


def _head_named(words: str) -> str:
    found = re.match(r"L\d+ H\d+", words)
    return found[0] if found else ""


def _tab_bytes() -> int:
    """The most that any renderer process of this browser ever held."""
    peaks = [0]
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error, OSError):
            if "--type=renderer" in process.cmdline():
                status = Path(f"/proc/{process.pid}/status").read_text()
                peaks += [1024 * int(kilobytes) for kilobytes in re.findall(r"VmHWM:\s+(\d+)", status)]
    return max(peaks)

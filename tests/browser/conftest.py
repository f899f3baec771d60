"""A real Chromium and a real server. Nothing here skips: without a browser the tests fail and say how to get one."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
START_SECONDS = 120
expect.set_options(timeout=20_000)

# Gives a single script what the app's launcher gives the app: the fonts that the theme names.
LAUNCHER = """
import streamlit as st
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

app = st.App({script!r}, routes=[Mount("/fonts", StaticFiles(directory={fonts!r}))])
"""


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """The system's Chromium, else Playwright's own."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    try:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
    except Exception as error:
        pytest.fail(f"No Chromium could be started; `make browser` installs one.\n{error}", pytrace=False)
    yield chromium
    chromium.close()


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], str]]:
    """Serve a Streamlit script, or the whole app (``ROOT / "app.py"``), and return its address; one server a script."""
    servers: dict[Path, tuple[str, subprocess.Popen[bytes]]] = {}

    def start(script: Path) -> str:
        script = Path(script).resolve()
        if script not in servers:
            folder = tmp_path_factory.mktemp("serve")
            target = script
            if script != ROOT / "app.py":
                target = folder / "launch.py"
                target.write_text(LAUNCHER.format(script=str(script), fonts=str(ROOT / "assets" / "fonts")))
            servers[script] = _start(target, folder / "server.log")
        return servers[script][0]

    yield start
    for _, process in servers.values():
        process.terminate()
    for _, process in servers.values():
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()


def _start(script: Path, log: Path) -> tuple[str, subprocess.Popen[bytes]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "server.port": port,
        "server.address": "127.0.0.1",
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", str(script), *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": paths, "OMP_WAIT_POLICY": "passive"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5):
                return url, process
        except OSError:
            time.sleep(0.2)
    process.kill()
    pytest.fail(f"{script} did not answer:\n{log.read_text(errors='replace')[-3000:]}", pytrace=False)


def _looks_for_server(line: ConsoleMessage) -> bool:
    """Whether a line is of Streamlit's client finding its server: on a page's address it also asks one folder deeper.

    Both questions are answered 404, as they must be: else it would look for the app itself there.
    """
    place = urlsplit(line.location["url"]).path
    return "404" in line.text and re.fullmatch(r"/[a-z]+/_stcore/(health|host-config)", place) is not None


@contextmanager
def visits(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open pages in fresh contexts. At the end no page may have logged an error or asked another host for anything."""
    contexts = []
    faults: list[str] = []

    def open_page(
        url: str, *, width: int = 1400, height: int = 900, dark: bool = False, touch: bool = False, ratio: float = 1
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            has_touch=touch,
            device_scale_factor=ratio,
        )
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda line: faults.append(line.text) if line.type == "error" and not _looks_for_server(line) else None,
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        host = url.split("/")[2]
        page.on(
            "request",
            lambda request: (
                faults.append(f"asked {request.url}")
                if request.url.startswith(("http", "ws")) and request.url.split("/")[2] != host
                else None
            ),
        )
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open pages for one test; see :func:`visits`."""
    with visits(browser) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def visit_once(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open pages for all tests of a module, which leave them as they were; see :func:`visits`."""
    with visits(browser) as open_page:
        yield open_page

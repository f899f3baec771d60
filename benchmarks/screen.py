"""From a changed text on an open page to the painted picture: this project, its peers and a floor, all in Streamlit.

    python benchmarks/screen.py                                  # everything; an hour on two quiet cores
    python benchmarks/screen.py --models minilm                  # one model
    python benchmarks/screen.py --tools tfmviz floor --ns 64     # a part, printed but not written to RESULTS.md

Every measurement has a fresh Chromium and a text that no cache has seen; in each repetition the tools take turns. The
servers and their models are warm. A tool that fails or takes too long is not tried with longer texts.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

import peers
import report
import screen_tables
from browser import Visit, visit
from cold_start import cold_starts
from playwright.sync_api import Playwright, sync_playwright
from servers import serve
from texts import text_of
from tools import FLOOR, PRODUCT, TOOLS, Tool

MODELS = ("minilm", "smollm2")
LENGTHS = (16, 64, 128, 256, 512)
APP = peers.ROOT / "app.py"
PEER_PAGE = Path(__file__).with_name("peer_page.py")


class Race:
    """The servers, the texts and the browser that all measurements share."""

    def __init__(self, playwright: Playwright, servers: ExitStack, options: argparse.Namespace) -> None:
        self.playwright = playwright
        self.options = options
        self.cdn = peers.cdn_files()
        self.product = servers.enter_context(serve(sys.executable, APP)) if PRODUCT in options.tools else ""
        others = set(options.tools) - {PRODUCT}
        self.peer = servers.enter_context(serve(peers.peer_python(), PEER_PAGE)) if others else ""
        self.variant = 0

    def address(self, tool: Tool, model: str) -> str:
        if tool.is_product:
            return f"{self.product}/?{urlencode({'model': model})}"
        return f"{self.peer}/?{urlencode({'view': tool.name, 'weights': str(peers.plain_weights(model))})}"

    def once(self, tool: Tool, model: str, n: int) -> Visit:
        """One measurement."""
        from transformers import AutoTokenizer

        self.variant += 1
        text = text_of(AutoTokenizer.from_pretrained(peers.plain_weights(model)), n, self.variant)
        shots = self.options.screenshots
        if shots:
            shots.mkdir(parents=True, exist_ok=True)
        return visit(
            self.playwright,
            tool,
            self.address(tool, model),
            text,
            n=n,
            timeout_s=self.options.timeout,
            cdn=self.cdn,
            screenshot=shots / f"{tool.name}_{model}_{n}.png" if shots else None,
        )

    def model(self, model: str) -> screen_tables.Visits:
        """All lengths and tools for one model."""
        tools = [TOOLS[name] for name in self.options.tools]
        for tool in tools:
            if tool.name in (PRODUCT, FLOOR):
                self.once(tool, model, 24)  # loads the model
        visits: screen_tables.Visits = defaultdict(list)
        out: set[str] = set()
        for n in self.options.ns:
            for turn in range(self.options.repetitions):
                first = turn % len(tools)
                for tool in [*tools[first:], *tools[:first]]:
                    if tool.name in out:
                        continue
                    seen = self.once(tool, model, n)
                    visits[tool.name, n].append(seen)
                    if seen.failed:
                        out.add(tool.name)
            for tool in tools:
                if visits.get((tool.name, n)):
                    print(f"{model} {n:4} {tool.name:18} {screen_tables.line(visits[tool.name, n])}", flush=True)
        return visits


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--ns", nargs="+", type=int, default=LENGTHS, metavar="N")
    parser.add_argument("--tools", nargs="+", default=tuple(TOOLS), choices=tuple(TOOLS))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds after which a picture counts as not there")
    parser.add_argument("--screenshots", type=Path, help="folder for a picture of each painted page")
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    whole = tuple(options.ns) == LENGTHS and tuple(options.tools) == tuple(TOOLS)
    with sync_playwright() as playwright, ExitStack() as servers:
        if PRODUCT in options.tools:
            starts = cold_starts(playwright, APP)
            _publish("cold start", screen_tables.cold_start_section(starts), write=whole)
        race = Race(playwright, servers, options)
        for model in options.models:
            visits = race.model(model)
            section = screen_tables.model_section(model, visits, options.tools, options.ns)
            _publish(f"screen, {model}", section, write=whole)


def _publish(name: str, body: str, *, write: bool) -> None:
    """Print a section, and keep it in RESULTS.md unless the run was a part only."""
    text = f"## {name.capitalize()}\n\n{report.machine('streamlit', 'plotly', 'torch', 'transformers')}\n\n{body}"
    print(text, flush=True)
    if write:
        report.write(name, text)


if __name__ == "__main__":
    main()

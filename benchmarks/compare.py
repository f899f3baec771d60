"""Comparing two models: distances between all their heads, in time and memory, and the linked hover in the browser.

    python benchmarks/compare.py              # everything, about two minutes; writes its part of RESULTS.md
    python benchmarks/compare.py --no-hover   # without a browser, printed only

MiniLM's 72 heads against SmolLM2's 270. The passes are made before; what is measured is what the page then waits for.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from pathlib import Path
from statistics import median
from sys import executable
from urllib.parse import quote

sys.path.append(str(Path(__file__).resolve().parents[1]))  # the package is used from where it lies

import report
from browser import chromium
from playwright.sync_api import sync_playwright
from servers import serve
from texts import words_of

import tfmviz
from tfmviz.analysis.alignment import align
from tfmviz.analysis.matching import BLOCK_BYTES, head_distances, one_to_one

APP = Path(__file__).resolve().parents[1] / "app.py"
WORDS = (16, 64, 128, 256)
MAX_SECONDS = {64: 1.0, 256: 5.0}
FRAME_MS = 1000 / 60
_TURNS = 5
_MB = 10**6

_POINT = """([step, stride]) => {
  const field = document.querySelector(".st-key-head_pair [data-version]").shadowRoot.querySelector(".field");
  const [, rows, cols] = field.getAttribute("aria-label").match(/(\\d+) queries down, (\\d+) keys/).map(Number);
  const [left, top, width, height] = field.dataset.plot.split(" ").map(Number), box = field.getBoundingClientRect();
  const [row, col] = [step % rows, (step * stride) % cols];
  return [box.left + left + ((col + 0.5) / cols) * width, box.top + top + ((row + 0.5) / rows) * height];
}"""
_WATCH = """() => {
  window.__taken = [];
  new PerformanceObserver((list) => window.__taken.push(
    ...list.getEntriesByName("tfmviz:pair_hover").map((entry) => entry.duration)
  )).observe({ entryTypes: ["measure"] });
}"""


def distances(n_words: int) -> tuple[int, float, float, float, float]:
    """Units; median seconds, by the clock and of the processors; those of the one-to-one matching; most bytes held."""
    text = words_of(n_words)
    a, b = (tfmviz.load_model(name, device="cpu").trace(text) for name in ("minilm", "smollm2"))
    units = align(text, a.tokens, b.tokens, "words")
    taken, worked = [], []
    for _ in range(_TURNS):
        start, work = time.perf_counter(), time.process_time()
        found = head_distances(a["self"], b["self"], units)
        taken.append(time.perf_counter() - start)
        worked.append(time.process_time() - work)
    start = time.perf_counter()
    one_to_one(found)
    matched = time.perf_counter() - start
    tracemalloc.start()
    head_distances(a["self"], b["self"], units)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return len(units.units), median(taken), median(worked), matched, peak


def hover(n_words: int) -> tuple[float, float]:
    """Milliseconds of the browser's main thread that one move to another cell takes: the median and the most."""
    with sync_playwright() as playwright, chromium(playwright) as browser, serve(executable, APP) as address:
        page = browser.new_page(viewport={"width": 1400, "height": 1200})
        page.goto(f"{address}/compare?model=minilm&model_b=smollm2&text={quote(words_of(n_words))}")
        page.wait_for_selector(".st-key-distances [data-version]", timeout=240_000)
        page.wait_for_timeout(3000)
        page.evaluate(_WATCH)
        for step in range(80):
            page.mouse.move(*page.evaluate(_POINT, [step, 7]))
            page.wait_for_timeout(30)
        taken = page.evaluate("() => window.__taken")
    return median(taken), max(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-hover", action="store_true")
    options = parser.parse_args()
    rows, missed = [], []
    for n in WORDS:
        units, seconds, worked, matched, peak = distances(n)
        rows.append([str(n), str(units), f"{seconds:.2f}", f"{worked:.2f}", f"{matched:.3f}", f"{peak / _MB:.0f}"])
        print(rows[-1], flush=True)
        if seconds > MAX_SECONDS.get(n, seconds):
            missed.append(f"{n} words: {seconds:.2f} s, not {MAX_SECONDS[n]:.0f}")
    table = report.table(
        ["words", "units", "distances, s", "of processors, s", "one-to-one, s", "most memory, MB"], rows
    )
    said = f"Rows are taken in blocks of at most {BLOCK_BYTES / _MB:.0f} MB of square roots, so memory stops growing."
    pointed = ""
    if not options.no_hover:
        middle, most = hover(64)
        pointed = (
            f"\n\nLinked hover, 64 words: {middle:.1f} ms of the main thread for a move to another cell "
            f"({most:.1f} at most); a frame has {FRAME_MS:.1f}."
        )
        if middle > FRAME_MS:
            missed.append(f"hover: {middle:.1f} ms, not {FRAME_MS:.1f}")
    verdict = "Goals missed: " + "; ".join(missed) + "." if missed else "All goals met."
    machine = report.machine("torch", "transformers", "numpy", "streamlit", "plotly")
    what = f"All 72 heads of MiniLM against all 270 of SmolLM2, medians of {_TURNS}."
    body = f"## Compare\n\n{machine}\n\n{what} {said}\n\n{table}{pointed}\n\n{verdict}\n"
    print(body)
    if not options.no_hover:
        report.write("compare", body)


if __name__ == "__main__":
    main()

"""How long the teaching pages take from a changed text to their first and last painted picture, on a warm model.

    python benchmarks/pages.py                     # MiniLM and SmolLM2 at 64 tokens, about two minutes
    python benchmarks/pages.py --pages inside      # a part, printed but not written to RESULTS.md

Every picture on the page counts. The goals are about the first.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from sys import executable

import peers
import report
from browser import chromium
from playwright.sync_api import Page, sync_playwright
from servers import serve
from texts import text_of
from transformers import AutoTokenizer

APP = Path(__file__).resolve().parents[1] / "app.py"
MODELS = ("minilm", "smollm2")
PAGES = ("inside", "masks", "positions?position_view=order", "compare?model_b=scratch-minilm")
N_TOKENS = 64
MAX_SECONDS = {"inside": 1.0, "masks": 1.0, "positions": 1.0, "compare": 1.5}
_QUIET_MS = 2500

# Notes when the reader pressed Enter, and when anything in a Plotly picture or a canvas's version last changed.
_WATCH = """() => {
  const seen = window.__pictures = { acted: 0, first: 0, last: 0 };
  new MutationObserver((changes) => {
    const drawn = (node) => node.closest?.(".js-plotly-plot") || node.dataset?.version;
    if (!seen.acted || !changes.some(({ target }) => drawn(target))) return;
    requestAnimationFrame((now) => Object.assign(seen, { first: seen.first || now, last: now }));
  }).observe(document.body, { childList: true, subtree: true, attributes: true });
  addEventListener("keydown", (event) => event.key === "Enter" && (seen.acted = performance.now()), true);
}"""


def measure(page: Page, text: str) -> tuple[float, float]:
    """Seconds from Ctrl+Enter on another text to the first picture that changes, and to the last."""
    page.evaluate(_WATCH)
    box = page.locator(".st-key-text textarea")
    box.fill(text)
    box.press("Control+Enter")
    while True:
        page.wait_for_timeout(100)
        now, acted, first, last = page.evaluate(
            "() => [performance.now(), __pictures.acted, __pictures.first, __pictures.last]"
        )
        if first and now - last > _QUIET_MS:
            return (first - acted) / 1000, (last - acted) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--pages", nargs="+", default=PAGES)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    rows, missed = [], []
    with sync_playwright() as playwright, chromium(playwright) as browser, serve(executable, APP) as address:
        for model in options.models:
            tokenizer = AutoTokenizer.from_pretrained(peers.plain_weights(model))
            texts = [text_of(tokenizer, N_TOKENS, turn) for turn in range(options.repetitions + 1)]
            for where in options.pages:
                page = browser.new_page(viewport={"width": 1400, "height": 1000})
                join = "&" if "?" in where else "?"
                page.goto(f"{address}/{where}{join}model={model}")
                page.wait_for_selector(".js-plotly-plot .main-svg, .st-key-head_pair [data-version]", timeout=120_000)
                page.wait_for_timeout(4000)
                measure(page, texts[0])  # what is imported or compiled at first use
                taken = [measure(page, text) for text in texts[1:]]
                name = where.split("?")[0]
                first, last = (median(column) for column in zip(*taken, strict=True))
                rows.append([name, model, f"{first:.2f}", f"{last:.2f}"])
                print(rows[-1], flush=True)
                if first > MAX_SECONDS[name]:
                    missed.append(f"{name}, {model}: {first:.2f} s, not {MAX_SECONDS[name]}")
                page.close()
    found = report.table(["page", "model", "first picture, s", "last picture, s"], rows)
    verdict = "Goals missed: " + "; ".join(missed) + "." if missed else "All goals met."
    machine = report.machine("streamlit", "plotly", "torch", "transformers")
    what = f"From a changed text of {N_TOKENS} tokens, warm models; medians."
    body = f"## Pages\n\n{machine}\n\n{what}\n\n{found}\n\n{verdict}\n"
    print(body)
    if tuple(options.models) == MODELS and tuple(options.pages) == PAGES:
        report.write("pages", body)


if __name__ == "__main__":
    main()

"""What a long text costs once the pass is over: overviews, links, and a rectangle of cells as the server gives it.

    PYTHONPATH=. python benchmarks/long_map.py [tokens]

Prints seconds, milliseconds and the process's peak. Run it on a quiet machine.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import random
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfmviz.ui.requests import TraceRequest

WORDS = ("river", "stone", "keeper", "miller", "heron", "ferry", "spring", "winter", "lock", "mayor", "moon", "boat")


def timed(what: str, work: Callable[[], Any]) -> Any:
    """Do it, and print how long it took."""
    start = time.perf_counter()
    made = work()
    print(f"{what:<44}{time.perf_counter() - start:8.2f} s")
    return made


def text_of(model: Any, n_tokens: int) -> str:
    """A text of about so many tokens."""
    chosen = random.Random(0)
    text = " ".join(chosen.choice(WORDS) for _ in range(2 * n_tokens))
    return text[: model.tokenize(text)[n_tokens - 1].end]


def cells(request: TraceRequest, n_tokens: int) -> None:
    """Ask the server for rectangles of exact weights, as a browser does, and print how long it takes."""
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

    from tfmviz.ui import head_feed, server
    from tfmviz.ui.requests import HeadChoice

    shown = head_feed.Shown(
        request=request, stack="self", part="all", window=(0, 0), row_scaled=False, hide_special=False
    )
    feed = head_feed.address(shown)
    client = TestClient(Starlette(routes=server.routes()))
    for name, choice in (
        ("one head", HeadChoice(layer=14, head=2)),
        ("mean of a layer", HeadChoice(layer=14, head=None)),
    ):
        took = []
        for i in range(40):
            row, col = random.Random(i).randrange(n_tokens - 64), random.Random(-i).randrange(n_tokens - 64)
            path = f"/{head_feed.cells_address(feed, choice)}/{row}-{row + 64}/{col}-{col + 64}"
            start = time.perf_counter()
            assert client.get(path).status_code == 200
            took.append(1e3 * (time.perf_counter() - start))
        print(f"64 x 64 cells, {name:<24}median {statistics.median(took):6.1f} ms, largest {max(took):6.1f} ms")


def main(n_tokens: int) -> None:
    """Measure SmolLM2 on a text of so many tokens."""
    from tfmviz.analysis.long_head import LongHead
    from tfmviz.analysis.long_links import long_links
    from tfmviz.analysis.long_view import long_view
    from tfmviz.ui import cache
    from tfmviz.ui.requests import ModelRequest, TraceRequest

    model = timed("loading the model", lambda: cache.model(ModelRequest(name="smollm2")))
    text = text_of(model, n_tokens)
    trace = timed("pass", lambda: model.trace(text))
    stack = trace["self"]
    kept, dense = trace.memory.kept / 1e9, trace.memory.dense / 1e9
    print(f"{len(trace.tokens):,} tokens, {kept:.2f} GB kept, all weights would take {dense:.1f} GB")
    heads = [LongHead.of(stack, 3, head) for head in range(stack.n_heads)]
    timed("overviews of the 9 heads of a layer", lambda: [long_view(one) for one in heads])
    timed("overview of the mean of a layer", lambda: long_view(LongHead.of(stack, 3, None)))
    timed("links of a head, threshold 0.1", lambda: long_links(heads[:1], 0.1, 1500))
    timed("links of a head, threshold 0", lambda: long_links(heads[:1], 0.0, 1500))
    timed("atlas of all heads", lambda: stack.overview())

    request = TraceRequest(model=ModelRequest(name="smollm2"), text=text)
    timed("pass and atlas as a page has them", lambda: cache.traced(request))
    cells(request, n_tokens)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"peak of the process {peak / 1e9:.2f} GB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4096)

"""Many visitors of one process: nobody is ever shown another's attention, and memory stays within its bounds."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from on_page import component, map_weights
from streamlit.testing.v1 import AppTest

from tfmviz.models.sources import locate
from tfmviz.ui import cache
from tfmviz.ui.requests import ModelRequest, TraceRequest

WORDS = ("rivers", "stones", "late trains", "old bread", "nothing")
TEXTS = [f"Visitor {i} writes about {WORDS[i % 5]} and {i * 7} other things." for i in range(25)]


@pytest.fixture(scope="module")
def eager() -> Callable[[str], np.ndarray]:
    """Hugging Face's own eager attention of MiniLM: [layers, heads, n, n]; another instance, another code path."""
    from transformers import AutoModel, AutoTokenizer

    folder: Path = locate("minilm", allow_download=False).path
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()

    def attention(text: str) -> np.ndarray:
        with torch.no_grad():
            out = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
        return torch.cat(out.attentions).numpy()

    return attention


def test_240_interleaved_requests_of_8_visitors_get_their_own_text(eager: Callable[[str], np.ndarray]) -> None:
    cache.clear()
    expected = {text: eager(text) for text in TEXTS}
    request = ModelRequest(name="minilm", device="cpu")
    model = cache.model(request)
    start = threading.Barrier(8)

    def visitor(seed: int) -> list[float]:
        chance = random.Random(seed)
        start.wait(30)
        off = []
        for _ in range(30):
            text = chance.choice(TEXTS)
            if chance.random() < 0.3:
                cache._traces.clear()  # a full shelf: the pass runs again while others are at it
            traced = cache.trace_job(TraceRequest(model=request, text=text), model).future.result(120)
            layer, head = chance.randrange(6), chance.randrange(12)
            assert traced.trace.text == text
            off.append(
                float(np.abs(traced.trace["self"].weights(layer, head).numpy() - expected[text][layer, head]).max())
            )
        return off

    with ThreadPoolExecutor(8) as pool:
        off = [x for visitor_off in pool.map(visitor, range(8)) for x in visitor_off]
    assert len(off) == 240
    assert max(off) < 1e-5


def test_two_pages_in_turns_keep_their_own_text(
    explore: Callable[..., AppTest], eager: Callable[[str], np.ndarray]
) -> None:
    first, second = explore(text=TEXTS[0], layer="1", head="2"), explore(text=TEXTS[1], layer="4", head="7")
    for turn in range(6):
        for at, text, place in ((first, TEXTS[2 * turn], (1, 2)), (second, TEXTS[2 * turn + 1], (4, 7))):
            at.text_area(key="text").set_value(text).run()
            assert np.abs(map_weights(at) - eager(text)[place]).max() < 1e-5
            assert component(at, "atlas")[0]["tokens"][0] == eager(text).shape[-1]


def test_texts_that_run_together_are_told_apart() -> None:
    """The boundary between text and pair is part of the key."""
    model = ModelRequest(name="minilm")
    one = TraceRequest(model=model, text="a b", pair="c")
    other = TraceRequest(model=model, text="a", pair="b c")
    assert one != other
    assert len({one, other}) == 2


def test_the_shelf_of_traces_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    request = ModelRequest(name="minilm", device="cpu")
    model = cache.model(request)
    one = cache.trace_job(TraceRequest(model=request, text=TEXTS[0]), model).future.result(60)
    monkeypatch.setattr(cache._traces, "_budget", 4 * one.nbytes)
    for text in TEXTS[:12]:
        cache.trace_job(TraceRequest(model=request, text=text), model).future.result(60)
    kept = [cache.traced(key).nbytes for key in cache._traces.keys()]  # noqa: SIM118 - a method, not a dict's
    assert 1 <= len(kept) < 12
    assert sum(kept) <= 4 * one.nbytes

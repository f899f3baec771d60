"""What a pass takes, said before it and measured after it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import tfmviz
from tfmviz.errors import NotEnoughMemory
from tfmviz.models import memory
from tfmviz.models.memory import FLOOR, SCATTER, PassShape, StackShape, available_bytes, predicted_bytes, room_for

Saved = Callable[[str], Path]
ROOT = Path(__file__).resolve().parents[3]
ONE = PassShape(d_model=64, d_ff=256, n_vocabulary=1000, itemsize=4)
STACK = StackShape(n_layers=3, n_attending=2, n_heads=4, n_kv_heads=2, d_head=16)

MEASURE = """
import gc, json, sys, tfmviz
from tfmviz.models import huggingface

def status(key):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(key))

name, lengths = sys.argv[1], json.loads(sys.argv[2])
model = tfmviz.load_model(name, device="cpu")
said, predict = [], huggingface.predicted_bytes
huggingface.predicted_bytes = lambda *a, **k: said.append(predict(*a, **k)) or said[-1]
rows = []
for n, pad_to in lengths:
    text = "the cat sat on the mat and saw a dog " * n
    text = text[: model.tokenize(text)[n - 3].end]
    model.trace("the cat sat", pad_to=pad_to and 16)
    gc.collect()
    open("/proc/self/clear_refs", "w").write("5")  # sets the high-water mark back
    before = status("VmRSS")
    trace = model.trace(text, pad_to=pad_to)
    rows.append([said[-1], status("VmHWM") - before, trace.memory.kept])
    del trace
print(json.dumps(rows))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory a stretch of a process took")
@pytest.mark.parametrize(
    ("name", "lengths"),
    [("minilm", [(500, None), (450, 500), (128, None)]), ("smollm2", [(512, None), (450, 512), (256, None)])],
)
def test_a_pass_takes_no_more_than_was_said(name: str, lengths: list[Any]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, name, json.dumps(lengths)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for said, measured, kept in json.loads(done.stdout.splitlines()[-1]):
        assert measured <= said
        assert said <= 4 * kept + 2 * FLOOR  # and not so much more that texts are refused for nothing


def test_queries_and_keys_count_once_a_layer_with_attention() -> None:
    """By hand: 2 layers x 4 bytes x 16 wide x (4 heads x 10 queries + 2 heads x 10 keys)."""
    working = 4 * 10 * (8 * 64 + 3 * 256)
    expected = 2 * 4 * 16 * (4 * 10 + 2 * 10) + working
    assert predicted_bytes(ONE, {"self": (STACK, 10, 10)}, n_logits=0) == FLOOR + int(SCATTER * expected)


def test_what_is_kept_doubles_with_the_text_and_weights_quadruple() -> None:
    def grown(stack: StackShape) -> float:
        small, large = (predicted_bytes(ONE, {"self": (stack, n, n)}, n_logits=0) - FLOOR for n in (1 << 14, 1 << 15))
        return large / small

    assert grown(STACK) == pytest.approx(2, abs=0.01)
    assert grown(replace(STACK, dense=True)) == pytest.approx(4, abs=0.05)


def test_a_pass_that_would_not_fit_is_refused_with_the_numbers(saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tfmviz.load_model(saved("llama"), device="cpu")
    monkeypatch.setattr(memory, "available_bytes", lambda _: 1_000_000)
    with pytest.raises(NotEnoughMemory) as caught:
        model.trace("The cat sat.")
    assert caught.value.available == 1_000_000
    assert caught.value.needed > 1_000_000


def test_a_refused_pass_leaves_the_model_usable(saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tfmviz.load_model(saved("llama"), device="cpu")
    with monkeypatch.context() as patch:
        patch.setattr(memory, "available_bytes", lambda _: 0)
        with pytest.raises(NotEnoughMemory):
            model.trace("The cat sat.")
    assert len(model.trace("The cat sat.").tokens) > 3


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in {"max": "3000000", "current": "2500000", "stat": "anon 9\ninactive_file 400000"}.items():
        (tmp_path / f"memory.{name}").write_text(content)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert available_bytes(torch.device("cpu")) == 3_000_000 - 2_500_000 + 400_000


def test_a_container_without_limit_leaves_what_the_system_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import psutil

    for name, content in {"max": "max", "current": "2500000", "stat": "inactive_file 0"}.items():
        (tmp_path / f"memory.{name}").write_text(content)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    total = psutil.virtual_memory().total
    assert 0 < available_bytes(torch.device("cpu")) <= total


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA"), MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_running_out_after_all_is_told_the_same_way(error: Exception) -> None:
    with pytest.raises(NotEnoughMemory, match="10 tokens"), room_for(1, torch.device("cpu"), what="10 tokens"):
        raise error


def test_other_errors_pass() -> None:
    with pytest.raises(RuntimeError, match="something else"), room_for(1, torch.device("cpu"), what="10 tokens"):
        raise RuntimeError("something else")

"""1,024 tokens of SmolLM2: a long text's views are eager attention's, in memory that grows with n alone.

`benchmarks/long.py` measures 4,096 tokens, which takes minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tfmviz.analysis.long_head import LongHead
from tfmviz.analysis.long_view import block_maxima, long_view
from tfmviz.models import Model
from tfmviz.trace import Trace

ROOT = Path(__file__).resolve().parents[2]
N = 1024
TOLERANCE = 1e-5
LAYERS = (0, 3, 14, 29)
SENTENCE = "The {} of the river knew every stone, and number {} was the one that the old ferry had struck in spring. "
WORDS = ("keeper", "miller", "heron", "children", "priest", "lock", "mayor", "moon")

MEASURED = """
import json, pathlib, sys
sys.path.insert(0, "tests/parity")
from test_parity_long import LAYERS, N, long_text
import tfmviz
from tfmviz.analysis.long_head import LongHead
from tfmviz.analysis.long_view import long_view

model = tfmviz.load_model("smollm2", device="cpu", allow_download=False)
trace = model.trace(long_text(model))
for head in range(9):
    long_view(LongHead.of(trace["self"], LAYERS[1], head))
# not ru_maxrss, which a process takes over from the one that started it
status = pathlib.Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
print(json.dumps({"n": len(trace.tokens), "kept": trace.memory.kept, "dense": trace.memory.dense, "peak": peak}))
"""


def long_text(model: Model) -> str:
    """A text of exactly ``N`` tokens, hardly two sentences of which are alike."""
    text = "".join(SENTENCE.format(WORDS[i % len(WORDS)], i * i) for i in range(260))
    tokens = model.tokenize(text)
    assert len(tokens) > N
    text = text[: tokens[N - 1].end]
    assert len(model.tokenize(text)) == N
    return text


@pytest.fixture(scope="module")
def trace(smollm2: Model) -> Trace:
    return smollm2.trace(long_text(smollm2))


@pytest.fixture(scope="module")
def eager(smollm2: Model, trace: Trace) -> dict[int, np.ndarray]:
    """Weights [heads, n, n] of some layers, from the model's eager attention."""
    module, found = smollm2._module, {}

    def keep(layer: int) -> Any:
        def hook(_: Any, __: Any, out: Any) -> None:
            found[layer] = out[1][0].float().numpy()

        return hook

    module.set_attn_implementation("eager")
    hooks = [module.model.layers[layer].self_attn.register_forward_hook(keep(layer)) for layer in LAYERS]
    try:
        with torch.inference_mode():
            module(input_ids=torch.tensor([[token.id for token in trace.tokens]]), logits_to_keep=1)
    finally:
        for hook in hooks:
            hook.remove()
        module.set_attn_implementation("sdpa")
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_rectangles_equal_eager_attention(trace: Trace, eager: dict[int, np.ndarray], layer: int) -> None:
    for head in range(9):
        whole = LongHead.of(trace["self"], layer, head)
        for first in range(0, N, 256):
            found = whole.rectangle(slice(first, first + 256), slice(0, N))
            assert np.abs(found.weights - eager[layer][head, first : first + 256]).max() <= TOLERANCE


@pytest.mark.parametrize("layer", LAYERS[1:3])
def test_block_maxima_are_those_of_eager_attention(trace: Trace, eager: dict[int, np.ndarray], layer: int) -> None:
    for head in (0, 4, 8):
        view = long_view(LongHead.of(trace["self"], layer, head))
        b = view.block
        assert b == 2
        cells = eager[layer][head].reshape(N // b, b, N // b, b).max(axis=(1, 3))
        assert np.abs(view.maxima - cells).max() <= TOLERANCE


def test_every_tile_is_the_head_s_weights_and_its_block_s_maximum(trace: Trace) -> None:
    whole = LongHead.of(trace["self"], 14, 2)
    view = long_view(whole)
    for row, col in ((0, 0), (512, 0), (512, 448), (960, 960), (960, 64)):
        found = whole.rectangle(slice(row, row + 64), slice(col, col + 64))
        rows, cols = np.arange(row, row + 64), np.arange(col, col + 64)
        expected = trace["self"].weights(14, 2, rows, cols).numpy()
        np.testing.assert_array_equal(found.weights, expected)
        blocks = view.maxima[row // 2 : row // 2 + 32, col // 2 : col // 2 + 32]
        np.testing.assert_allclose(blocks, block_maxima(expected, 2), atol=1e-6)


def test_memory_of_1024_tokens_is_within_its_bounds() -> None:
    """In a process of its own, whose peak is nobody else's."""
    ran = subprocess.run([sys.executable, "-c", MEASURED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    measured = json.loads(ran.stdout.splitlines()[-1])
    assert measured["n"] == N
    assert measured["dense"] == 30 * 9 * N * N * 4  # 1.1 GB
    assert measured["kept"] <= 0.125e9
    assert measured["peak"] <= 1.4e9

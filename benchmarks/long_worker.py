"""One fresh process of `long.py`: a long text as the app shows it, or its weights beside eager attention's.

Called with one JSON argument, prints one JSON line.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import torch
from texts import text_of
from transformers import AutoModelForCausalLM, AutoTokenizer

SIDE, N_RECTANGLES = 64, 60


def screen(task: dict[str, Any], text: str) -> dict[str, Any]:
    """What is kept, the peak of this process, and the seconds of what a viewer asks for after the pass."""
    import tfmviz
    from tfmviz.analysis.long_head import LongHead
    from tfmviz.analysis.long_view import long_view

    trace = tfmviz.load_model(task["model"], device="cpu").trace(text)
    stack, layer = trace["self"], trace["self"].n_layers // 2
    began = time.perf_counter()
    for head in range(stack.n_heads):
        long_view(LongHead.of(stack, layer, head))
    overview_s = time.perf_counter() - began
    chance, slowest = random.Random(0), 0.0
    n = len(trace.tokens)
    corners = [(chance.randrange(n - SIDE), chance.randrange(n - SIDE)) for _ in range(N_RECTANGLES - 2)]
    for row, col in [(n - SIDE, 0), (n - SIDE, n - SIDE), *corners]:
        head = LongHead.of(stack, chance.randrange(stack.n_layers), chance.randrange(stack.n_heads))
        began = time.perf_counter()
        head.rectangle(slice(row, row + SIDE), slice(col, col + SIDE))
        slowest = max(slowest, time.perf_counter() - began)
    return {
        "kept": trace.memory.kept,
        "peak": _peak(),
        "n_heads": stack.n_heads,
        "overview_s": overview_s,
        "n_rectangles": N_RECTANGLES,
        "slowest_s": slowest,
    }


def equal(task: dict[str, Any], text: str) -> dict[str, float]:
    """The largest difference to eager's weights on the first tokens: a causal model's do not depend on what follows."""
    import tfmviz

    trace = tfmviz.load_model(task["model"], device="cpu").trace(text)
    stack, prefix = trace["self"], task["prefix"]
    ids = torch.tensor([[token.id for token in trace.tokens[:prefix]]])
    module = AutoModelForCausalLM.from_pretrained(task["folder"], attn_implementation="eager", dtype=torch.float32)
    with torch.no_grad():
        eager = module.eval()(ids, output_attentions=True, use_cache=False, logits_to_keep=1).attentions
    difference = 0.0
    for layer, weights in enumerate(eager):
        for head in range(stack.n_heads):
            ours = stack.weights(layer, head, slice(0, prefix), slice(0, prefix))
            difference = max(difference, float((ours - weights[0, head]).abs().max()))
    return {"difference": difference}


def _peak() -> int:
    """Bytes of this process at its highest, everything included: interpreter, torch, the model and its loading."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


if __name__ == "__main__":
    task = json.loads(sys.argv[1])
    torch.set_num_threads(task["threads"])
    sample = text_of(AutoTokenizer.from_pretrained(task["folder"]), task["n"])
    print(json.dumps({"screen": screen, "equal": equal}[task["measure"]](task, sample)))

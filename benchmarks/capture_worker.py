"""One fresh process of `capture.py`: times ways to get attention, or measures the memory that one of them takes.

Called with one JSON argument, prints one JSON line. Runs in the app's environment or in the peers' one.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from texts import text_of
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

Pass = Callable[[], Any]


def plain(folder: str, text: str, *, attention: str = "sdpa", weights: bool = False) -> Pass:
    """The model's own forward pass; a decoder's logits at the last position only, the least it can be asked for."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = dict(tokenizer(text, return_tensors="pt"))
    decoder = "CausalLM" in json.loads((Path(folder) / "config.json").read_text())["architectures"][0]
    auto = AutoModelForCausalLM if decoder else AutoModel
    module = auto.from_pretrained(folder, attn_implementation=attention, dtype=torch.float32).eval()
    asked = {"output_attentions": weights} | ({"use_cache": False, "logits_to_keep": 1} if decoder else {})

    def run() -> Any:
        with torch.no_grad():
            return module(**inputs, **asked)

    return run


def eager(folder: str, text: str) -> Pass:
    """What other tools ask for: eager attention that returns every weight."""
    return plain(folder, text, attention="eager", weights=True)


def tfmviz_trace(name: str, text: str) -> Pass:
    """The whole of `Model.trace`: tokens, pass, capture, self-check."""
    import tfmviz

    model = tfmviz.load_model(name, device="cpu")
    return lambda: model.trace(text)


def transformer_lens(folder: str, text: str) -> Pass:
    """`run_with_cache` that keeps the attention patterns and nothing else."""
    from transformer_lens.model_bridge import TransformerBridge

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokens = tokenizer(text, return_tensors="pt")["input_ids"]
    bridge = TransformerBridge.boot_transformers(folder, device="cpu", dtype=torch.float32, tokenizer=tokenizer)

    def run() -> Any:
        with torch.no_grad():
            _, cache = bridge.run_with_cache(tokens, names_filter=lambda hook: hook.endswith("hook_pattern"))
        if not cache:
            raise RuntimeError("TransformerLens kept no pattern")
        return cache

    return run


def build(method: str, task: dict[str, Any], text: str) -> Pass:
    """The pass that a method stands for, its model loaded."""
    if method == "trace":
        return tfmviz_trace(task["model"], text)
    return {"plain": plain, "eager": eager, "transformer_lens": transformer_lens}[method](task["folder"], text)


def seconds(task: dict[str, Any], text: str) -> dict[str, list[float]]:
    """Seconds of each method in each round; the methods take turns, and every second round the order is turned."""
    passes = {method: build(method, task, text) for method in task["methods"]}
    for run in passes.values():
        run()
    taken: dict[str, list[float]] = {method: [] for method in passes}
    started = time.perf_counter()
    for turn in range(task["max_rounds"]):
        for method in list(passes)[:: 1 if turn % 2 else -1]:
            begin = time.perf_counter()
            passes[method]()
            taken[method].append(time.perf_counter() - begin)
        if turn + 1 >= task["min_rounds"] and time.perf_counter() - started > task["budget_s"]:
            break
    return taken


def memory(task: dict[str, Any], text: str) -> dict[str, int]:
    """Bytes of one method: peak during a pass, held after it by the process, held after it in tensors.

    The pass has run once before, so that neither weights that are read late nor one-time buffers are counted.
    """
    run = build(task["methods"][0], task, text)
    run()
    _trim()
    before, tensors_before = _resident("VmRSS"), _tensor_bytes()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    result = run()
    peak = _resident("VmHWM")
    _trim()
    held, tensors = _resident("VmRSS"), _tensor_bytes()
    said = getattr(result, "memory", None)
    return {
        "peak": peak - before,
        "held": held - before,
        "tensors": tensors - tensors_before,
        "said": said.kept if said else 0,
        "process_peak": peak,
    }


def _trim() -> None:
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)


def _resident(field: str) -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(f"{field}:"))


def _tensor_bytes() -> int:
    """Bytes of all tensor storages alive in this process, each counted once."""
    storages = {}
    for thing in gc.get_objects():
        if type(thing) in (torch.Tensor, torch.nn.Parameter):
            storage = thing.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


if __name__ == "__main__":
    task = json.loads(sys.argv[1])
    torch.set_num_threads(task["threads"])
    sample = text_of(AutoTokenizer.from_pretrained(task["folder"]), task["n"])
    measured = {"seconds": seconds, "memory": memory}[task["measure"]](task, sample)
    print(json.dumps(measured))

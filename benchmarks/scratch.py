"""The transformer written here against transformers: one forward pass, the same weights, the same tokens.

    python benchmarks/scratch.py                               # everything, about 11 minutes on two quiet cores
    python benchmarks/scratch.py --models minilm --ns 64 256   # a part of it, printed but not written down

Both compute attention with PyTorch's fused kernel and take turns in one process; the order changes every round. Two
ratios are given: of processor time, the median over the rounds, which other programs on the machine hardly disturb and
which decides; and of wall time, each side's fastest round. Nine tenths of both passes are the same products of the same
matrices, and one round's ratio varies by some percent, so a minute of rounds is taken.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch: threads that spin count as processor time
sys.path.append(str(Path(__file__).resolve().parents[1]))  # the package is used from where it lies

import report
import torch
from texts import text_of
from torch import Tensor

import tfmviz

MODELS = ("minilm", "smollm2")
LENGTHS = (64, 128, 256, 512, 1024)
MAX_RATIO = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One model at one length; seconds are of the fastest round, ratios ours over theirs."""

    label: str
    theirs: float
    ours: float
    wall: float
    processor: float
    difference: float


def measure(name: str, theirs: Any, ours: Any, n: int, rounds: int, seconds: float) -> Measured:
    """Both models on a text of n tokens."""
    text = text_of(theirs._tokenizer, n)
    tokens = torch.tensor([[token.id for token in theirs.tokenize(text)]])
    if ours.module.config.output == "none":
        passes = (lambda: theirs._module(tokens).last_hidden_state, lambda: ours.module.hidden(tokens))
    else:
        passes = (lambda: theirs._module(tokens).logits, lambda: ours.module(tokens))
    with torch.inference_mode():
        difference = float((passes[0]() - passes[1]()).abs().max())
        walls, processors = _take_turns(passes, rounds, seconds)
    return Measured(
        label=f"{name}, {n:,}",
        theirs=min(walls[0]),
        ours=min(walls[1]),
        wall=min(walls[1]) / min(walls[0]),
        processor=statistics.median(b / a for a, b in zip(*processors, strict=True)),
        difference=difference,
    )


def _take_turns(
    passes: tuple[Callable[[], Tensor], ...], rounds: int, seconds: float
) -> tuple[list[list[float]], list[list[float]]]:
    """Wall and processor seconds of each pass in each round: so many rounds, and more until the time is up."""
    walls: list[list[float]] = [[], []]
    processors: list[list[float]] = [[], []]
    began = time.perf_counter()
    for number in itertools.count():
        if number >= rounds and time.perf_counter() - began >= seconds:
            break
        for which in (0, 1) if number % 2 else (1, 0):
            wall, processor = time.perf_counter(), time.process_time()
            passes[which]()
            processors[which].append(time.process_time() - processor)
            walls[which].append(time.perf_counter() - wall)
    return walls, processors


def tables(lines: list[Measured]) -> str:
    """The measurements and the verdict as markdown."""
    found = report.table(
        ["model, tokens", "transformers, ms", "ours, ms", "wall ratio", "processor ratio", "largest difference"],
        [
            [
                one.label,
                f"{1e3 * one.theirs:.0f}",
                f"{1e3 * one.ours:.0f}",
                f"{one.wall:.3f}",
                f"{one.processor:.3f}",
                f"{one.difference:.0e}",
            ]
            for one in lines
        ],
    )
    missed = [f"{one.label}: {one.processor:.3f}" for one in lines if one.processor > MAX_RATIO]
    verdict = f"Goal missed: {'; '.join(missed)}." if missed else f"Goal met in all {len(lines)} cases."
    return f"{found}\n\nA processor ratio of at most {MAX_RATIO} is asked. {verdict}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--ns", nargs="+", type=int, default=LENGTHS, metavar="N")
    parser.add_argument("--rounds", type=int, default=12, help="at least so many, and")
    parser.add_argument("--seconds", type=float, default=60.0, help="so much time, for each model and length")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    torch.set_num_threads(options.threads)
    lines = []
    for name in options.models:
        theirs, ours = (tfmviz.load_model(prefix + name, device="cpu") for prefix in ("", "scratch-"))
        for n in options.ns:
            if n > theirs.max_tokens:
                print(f"{name} takes fewer than {n} tokens: left out", flush=True)
                continue
            lines.append(measure(name, theirs, ours, n, options.rounds, options.seconds))
            print(lines[-1], flush=True)
    body = f"## From scratch\n\n{report.machine('torch', 'transformers')}\n\n{tables(lines)}\n"
    print(body)
    if tuple(options.models) == MODELS and tuple(options.ns) == LENGTHS:
        report.write("scratch", body)


if __name__ == "__main__":
    main()

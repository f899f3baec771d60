"""What a trace costs, beside the plain forward pass, eager `output_attentions` and TransformerLens.

    python benchmarks/capture.py                            # everything, about 20 minutes on two quiet cores
    python benchmarks/capture.py --models minilm            # one model
    python benchmarks/capture.py --models minilm --ns 128   # a part, printed but not written to RESULTS.md

Each number comes from a fresh process. Times: the methods take turns in one process and are compared round by round
with the plain pass beside them (TransformerLens lives in its own environment and has a plain pass of its own there).
Memory: one method a process, because a peak cannot be shared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peers
import report

MODELS = ("minilm", "smollm2")
LENGTHS = (128, 512, 1024, 2048)
MAX_TIME_RATIO = 1.15
MAX_MEMORY_RATIO = 1.1
_WORKER = Path(__file__).with_name("capture_worker.py")
_MB = 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One model at one length: ``ratios`` to the plain pass, ``memory`` of each method, both by method name."""

    model: str
    n: int
    query_key_bytes: int
    plain_seconds: float
    ratios: dict[str, float]
    memory: dict[str, dict[str, int]]

    @property
    def label(self) -> str:
        return f"{self.model}, {self.n:,}"

    @property
    def memory_ratio(self) -> float:
        """Bytes held by a trace over the bytes of its queries and keys: the larger of what it says and what is seen."""
        trace = self.memory["trace"]
        return max(trace["tensors"], trace["said"]) / self.query_key_bytes

    @property
    def met(self) -> bool:
        return self.ratios["trace"] <= MAX_TIME_RATIO and self.memory_ratio <= MAX_MEMORY_RATIO


def measure(model: str, n: int, options: argparse.Namespace) -> Measured:
    """Run the workers of one line of the tables."""
    task = {
        "model": model,
        "folder": str(peers.plain_weights(model)),
        "n": n,
        "threads": options.threads,
        "min_rounds": options.rounds,
        "max_rounds": 5 * options.rounds,
        "budget_s": options.budget,
    }
    peer = peers.peer_python()
    # Plain beside each of the others alone: a 15-second eager pass between the two would blur what a trace costs.
    traced = _work(sys.executable, task | {"measure": "seconds", "methods": ["plain", "trace"]})
    eager = _work(sys.executable, task | {"measure": "seconds", "methods": ["plain", "eager"]})
    lens = _work(peer, task | {"measure": "seconds", "methods": ["plain", "transformer_lens"]})
    pythons: dict[str, Path | str] = {
        "plain": sys.executable,
        "trace": sys.executable,
        "eager": sys.executable,
        "transformer_lens": peer,
    }
    return Measured(
        model=model,
        n=n,
        query_key_bytes=query_key_bytes(Path(task["folder"]), n),
        plain_seconds=statistics.median(traced["plain"]),
        ratios=_ratios(traced) | _ratios(eager) | _ratios(lens),
        memory={way: _work(at, task | {"measure": "memory", "methods": [way]}) for way, at in pythons.items()},
    )


def query_key_bytes(folder: Path, n: int) -> int:
    """Bytes of all layers' queries and grouped keys in float32, by arithmetic from the model's config."""
    config = json.loads((folder / "config.json").read_text())
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    d_head = config.get("head_dim") or config["hidden_size"] // heads
    return config["num_hidden_layers"] * n * (heads + kv_heads) * d_head * 4


def _ratios(seconds: dict[str, list[float]]) -> dict[str, float]:
    """Median over rounds of each method's time over the plain pass of the same round."""
    plain = seconds["plain"]
    return {
        way: statistics.median(one / base for one, base in zip(taken, plain, strict=True))
        for way, taken in seconds.items()
        if way != "plain"
    }


def _work(python: Path | str, task: dict[str, Any]) -> dict[str, Any]:
    environment = os.environ | {
        "PYTHONPATH": str(peers.ROOT),
        "OMP_WAIT_POLICY": "passive",  # must be there before torch is imported
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    command = [str(python), str(_WORKER), json.dumps(task)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=peers.ROOT)
    if done.returncode:
        raise RuntimeError(f"{task['methods']} of {task['model']} at n={task['n']} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def tables(lines: list[Measured]) -> str:
    """Times, memory and the verdict as markdown."""
    times = report.table(
        ["model, tokens", "plain pass, s", "trace ÷ plain", "eager with weights ÷ plain", "TransformerLens ÷ plain"],
        [
            [one.label, f"{one.plain_seconds:.3f}"]
            + [f"{one.ratios[way]:.2f}" for way in ("trace", "eager", "transformer_lens")]
            for one in lines
        ],
    )
    held = report.table(
        [
            "model, tokens",
            "queries + keys, MB",
            "trace, MB",
            "÷ queries + keys",
            "process grew by, MB",
            "eager weights, MB",
            "TransformerLens, MB",
        ],
        [[one.label, *_held_cells(one)] for one in lines],
    )
    ways = ("plain", "trace", "eager", "transformer_lens")
    peaks = report.table(
        ["model, tokens", "plain pass, MB", "trace, MB", "eager with weights, MB", "TransformerLens, MB"],
        [[one.label] + [f"{one.memory[way]['peak'] / _MB:,.0f}" for way in ways] for one in lines],
    )
    return (
        f"**Time** (median of rounds; at most {MAX_TIME_RATIO} is asked of a trace)\n\n{times}\n\n"
        f"**Memory held afterwards** (at most {MAX_MEMORY_RATIO} x queries + keys is asked of a trace)\n\n{held}\n\n"
        f"**Peak memory during a pass, over the loaded model**\n\n{peaks}\n\n{_verdict(lines)}"
    )


def _held_cells(one: Measured) -> list[str]:
    trace = one.memory["trace"]
    return [
        f"{one.query_key_bytes / _MB:.1f}",
        f"{max(trace['tensors'], trace['said']) / _MB:.1f}",
        f"{one.memory_ratio:.2f}",
        f"{trace['held'] / _MB:.1f}",
        *(f"{one.memory[way]['tensors'] / _MB:,.1f}" for way in ("eager", "transformer_lens")),
    ]


def _verdict(lines: list[Measured]) -> str:
    missed = [one for one in lines if not one.met]
    if not missed:
        return f"Goals met in all {len(lines)} cases."
    said = "; ".join(f"{one.label}: time {one.ratios['trace']:.2f}, memory {one.memory_ratio:.2f}" for one in missed)
    return f"Goals missed in {len(missed)} of {len(lines)} cases: {said}."


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--ns", nargs="+", type=int, default=LENGTHS, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, help="rounds at least; five times as many within the budget")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds after which no further round begins")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    for model in options.models:
        limit = json.loads((peers.plain_weights(model) / "config.json").read_text())["max_position_embeddings"]
        lines = []
        for n in options.ns:
            if n > limit:
                print(f"{model} takes {limit} tokens: {n} left out", flush=True)
                continue
            lines.append(measure(model, n, options))
            print(f"{lines[-1].label}: {lines[-1].ratios}, kept {lines[-1].memory_ratio:.2f}", flush=True)
        where = f"{report.machine('torch', 'transformers')} TransformerLens {peers.PINS['transformer-lens']}."
        body = f"## Capture, {model}\n\n{where}\n\n{tables(lines)}\n"
        print(body, flush=True)
        if tuple(options.ns) == LENGTHS:
            report.write(f"capture, {model}", body)


if __name__ == "__main__":
    main()

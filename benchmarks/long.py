"""Long texts on SmolLM2: a trace beside the plain fused pass and eager `output_attentions`, and what the app does then.

    python benchmarks/long.py                        # everything, about 25 minutes on two quiet cores
    python benchmarks/long.py --ns 512 1024          # a part of the table, printed but not written to RESULTS.md
    python benchmarks/long.py --ns                   # the checks at the longest length alone, likewise

Each number comes from a fresh process. Times: trace and plain pass take turns in one process, eager and plain pass in
another; a ratio is the median over rounds. Eager goes as far as half of the free memory lets it; beyond, what it would
keep is arithmetic: layers x heads x n² x 4 bytes. The checks run on a text of 4,096 tokens: what a trace keeps, the
peak of the whole process, the overview of one layer's heads, rectangles of 64 x 64, and the weights of the first 1,024
tokens beside eager's.
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
import psutil
import report

MODEL = "smollm2"
LENGTHS = (512, 1024, 2048, 4096)
LONGEST, PREFIX = 4096, 1024
# What the process took at its peak for each byte of weights that eager kept (4.5 GB of them: 5.8 GB; 1.1: 2.2).
EAGER_PEAK = 2.0
_FOLDER = Path(__file__).parent
_GB = 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One length. Eager's are None where it does not fit.

    Attributes:
        n: tokens.
        seconds: of each way, medians.
        ratios: of each way's time to the plain pass of the same round, medians.
        peaks: bytes at the highest point of a pass over the loaded model.
        kept: bytes that the result holds.
        eager_bytes: what eager's weights take, by arithmetic.
    """

    n: int
    seconds: dict[str, float]
    ratios: dict[str, float]
    peaks: dict[str, int]
    kept: dict[str, int]
    eager_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that must hold on the long text."""

    what: str
    value: float
    limit: float
    unit: str

    @property
    def is_met(self) -> bool:
        return self.value <= self.limit

    @property
    def verdict(self) -> str:
        return f"{'met' if self.is_met else 'MISSED'}: {self.what} {self.value:.3g} {self.unit}, at most {self.limit:g}"


def eager_bytes(folder: Path, n: int) -> int:
    """Bytes of every layer's weights in float32, by arithmetic from the model's config."""
    layers, heads = _layers_heads(folder)
    return layers * heads * n**2 * 4


def _layers_heads(folder: Path) -> tuple[int, int]:
    config = json.loads((folder / "config.json").read_text())
    return config["num_hidden_layers"], config["num_attention_heads"]


def measure(n: int, options: argparse.Namespace) -> Measured:
    """Run the workers of one line of the table."""
    folder = peers.plain_weights(MODEL)
    task = {
        "model": MODEL,
        "folder": str(folder),
        "n": n,
        "threads": options.threads,
        "min_rounds": options.rounds,
        "max_rounds": 5 * options.rounds,
        "budget_s": options.budget,
    }
    fits = EAGER_PEAK * eager_bytes(folder, n) < psutil.virtual_memory().available / 2
    ways = ("plain", "trace", "eager") if fits else ("plain", "trace")
    seconds: dict[str, list[float]] = {}
    ratios = {}
    for way in ways[1:]:  # each beside the plain pass alone: a slow one between the two would blur the other's ratio
        taken = _work("capture_worker.py", task | {"measure": "seconds", "methods": ["plain", way]})
        ratios[way] = statistics.median(a / b for a, b in zip(taken[way], taken["plain"], strict=True))
        seconds[way] = taken[way]
        seconds.setdefault("plain", taken["plain"])
    memory = {way: _work("capture_worker.py", task | {"measure": "memory", "methods": [way]}) for way in ways}
    return Measured(
        n=n,
        seconds={way: statistics.median(taken) for way, taken in seconds.items()},
        ratios=ratios,
        peaks={way: found["peak"] for way, found in memory.items()},
        kept={way: max(found["tensors"], found["said"]) for way, found in memory.items()},
        eager_bytes=eager_bytes(folder, n),
    )


def checks(options: argparse.Namespace) -> list[Check]:
    """What must hold on the longest text."""
    task = {"model": MODEL, "folder": str(peers.plain_weights(MODEL)), "n": LONGEST, "threads": options.threads}
    seen = _work("long_worker.py", task | {"measure": "screen"})
    same = _work("long_worker.py", task | {"measure": "equal", "prefix": PREFIX})
    where = f"text of {LONGEST:,} tokens:"
    return [
        Check(what=f"{where} the trace keeps", value=seen["kept"] / _GB, limit=0.5, unit="GB"),
        Check(what=f"{where} peak of the whole process", value=seen["peak"] / _GB, limit=2.5, unit="GB"),
        Check(what=f"overview of one layer's {seen['n_heads']} heads", value=seen["overview_s"], limit=3.0, unit="s"),
        Check(
            what=f"slowest of {seen['n_rectangles']} rectangles of 64 x 64 anywhere",
            value=1e3 * seen["slowest_s"],
            limit=150,
            unit="ms",
        ),
        Check(
            what=f"weights of all heads on the first {PREFIX:,} tokens: largest difference to eager",
            value=same["difference"],
            limit=1e-5,
            unit="",
        ),
    ]


def _work(worker: str, task: dict[str, Any]) -> dict[str, Any]:
    environment = os.environ | {
        "PYTHONPATH": str(peers.ROOT),
        "OMP_WAIT_POLICY": "passive",  # must be there before torch is imported
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    command = [sys.executable, str(_FOLDER / worker), json.dumps(task)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=peers.ROOT)
    if done.returncode:
        raise RuntimeError(f"{worker} failed on {task}:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def table(lines: list[Measured]) -> str:
    """Times, ratios and memory as markdown."""
    header = [
        "tokens",
        "plain pass, s",
        "trace ÷ plain",
        "eager ÷ plain",
        "plain peak, GB",
        "trace peak, GB",
        "eager peak, GB",
        "trace kept, GB",
        "eager kept, GB",
    ]
    return report.table(header, [_cells(one) for one in lines])


def _cells(one: Measured) -> list[str]:
    def size(values: dict[str, int], way: str) -> str:
        return f"{values[way] / _GB:.2f}" if way in values else "not run"

    eager = "eager" in one.ratios
    return [
        f"{one.n:,}",
        f"{one.seconds['plain']:.2f}",
        f"{one.ratios['trace']:.2f}",
        f"{one.ratios['eager']:.2f}" if eager else "not run",
        *(size(one.peaks, way) for way in ("plain", "trace", "eager")),
        size(one.kept, "trace"),
        size(one.kept, "eager") if eager else f"{one.eager_bytes / _GB:.1f} (arithmetic)",
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ns", nargs="*", type=int, default=LENGTHS, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, help="rounds at least; five times as many within the budget")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds after which no further round begins")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--no-checks", action="store_true", help="the table alone")
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    lines = []
    for n in options.ns:
        lines.append(measure(n, options))
        print(f"{n:,}: {lines[-1].ratios}, kept {lines[-1].kept}", flush=True)
    found = [] if options.no_checks else checks(options)
    for check in found:
        print(check.verdict, flush=True)
    verdicts = "\n".join(f"- {check.verdict}" for check in found)
    where = report.machine("torch", "transformers")
    folder = peers.plain_weights(MODEL)
    layers, heads = _layers_heads(folder)
    arithmetic = (
        f"Eager's weights at {LONGEST:,} tokens: {layers} layers x {heads} heads x {LONGEST:,}² x 4 bytes = "
        f"{eager_bytes(folder, LONGEST) / _GB:.1f} GB."
    )
    body = f"## Long texts, {MODEL}\n\n{where}\n\n{table(lines)}\n\n{arithmetic}\n\n{verdicts}\n"
    print(body, flush=True)
    if tuple(options.ns) == LENGTHS and found:
        report.write("long", body)


if __name__ == "__main__":
    main()

"""``python -m tfmviz.training <task>``: train a model on a small task and write its checkpoint.

``induction`` and ``dates`` make the models that are shipped; ``copy`` and ``sort`` are quick. Without options the same
machine and versions give the same file again. With ``--state`` a training that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

# Set before torch is imported: threads that spin while they wait make everything slow on a shared machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch

from tfmviz.errors import TfmvizError
from tfmviz.models.scratch_checkpoint import Card, write_checkpoint
from tfmviz.models.sources import CHECKPOINTS
from tfmviz.training.checkpoint import card_of
from tfmviz.training.loop import Loop, LoopState
from tfmviz.training.presets import PRESETS, SHIPPED
from tfmviz.training.settings import Settings

# Where a training goes that does not make a model of the app.
TRAINED = Path("trained")
N_MEASURED = 2000
SAY_EVERY = 50  # steps
KEEP_EVERY = 100  # steps


def main(arguments: list[str] | None = None) -> int:
    """Train; the exit status is 1 if that failed."""
    asked = _parser().parse_args(arguments)
    is_recipe = asked.task in SHIPPED and asked.steps is None and asked.seed is None
    folder = asked.out or (CHECKPOINTS if is_recipe else TRAINED)
    settings = SHIPPED.get(asked.task) or PRESETS[asked.task].settings
    try:
        if asked.steps is not None:
            settings = replace(settings, n_steps=asked.steps)
        if asked.seed is not None:
            settings = replace(settings, seed=asked.seed)
        if asked.threads is not None:
            torch.set_num_threads(asked.threads)
        card = train(settings, folder=folder, device=asked.device, state=asked.state, n_measured=asked.measured)
    except TfmvizError as error:
        _say(str(error))
        return 1
    measures = ", ".join(f"{name} {value}" for name, value in card.measures.items())
    _say(f"{folder / card.name}.safetensors: {measures}")
    return 0


def train(settings: Settings, *, folder: Path, device: str, state: Path | None, n_measured: int) -> Card:
    """Train to the end, measure on held-out texts, write the checkpoint.

    Args:
        folder: where the checkpoint goes.
        state: file that holds an unfinished training: read at the start if it is there, written now and then.
        n_measured: held-out texts to measure.
    """
    loop = Loop(settings, device=device)
    seconds = 0.0
    if state is not None and state.exists():
        kept = torch.load(state, weights_only=True)
        seconds = kept.pop("seconds")
        loop.restore(LoopState(**kept))
        _say(f"going on from step {loop.step}")
    began = time.monotonic() - seconds
    for report in loop.steps():
        seconds = time.monotonic() - began
        if report.step % SAY_EVERY == 0:
            left = seconds / report.step * (settings.n_steps - report.step)
            _say(
                f"step {report.step}/{settings.n_steps}  loss {report.loss:.4f}  accuracy {report.accuracy:.4f}  "
                f"gradient {report.gradient_norm:.2f}  {left:.0f} s left"
            )
        if state is not None and report.step % KEEP_EVERY == 0:
            _keep(loop, seconds, state)
    model = loop.model.eval()
    card = card_of(
        f"scratch-{settings.task.name}",
        model,
        settings,
        steps=loop.step,
        seconds=seconds,
        # another seed than the training's, so that not even the random texts are the same
        measures=settings.task.measure(model, n_measured, settings.seed + 1),
        n_measured=n_measured,
    )
    return write_checkpoint(model, card, folder)


def _keep(loop: Loop, seconds: float, path: Path) -> None:
    """Write the state beside its place and move it there, so that an interruption leaves one whole file."""
    now = loop.state()
    fresh = path.with_suffix(path.suffix + ".new")
    torch.save({"step": now.step, "weights": now.weights, "optimizer": now.optimizer, "seconds": seconds}, fresh)
    fresh.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tfmviz.training", description=__doc__)
    parser.add_argument("task", choices=list(PRESETS))
    parser.add_argument(
        "--out", type=Path, help=f"folder of the checkpoint (the app's for a recipe as it is, else {TRAINED})"
    )
    parser.add_argument("--seed", type=int, help="another model of the same kind")
    parser.add_argument("--steps", type=int, help="fewer or more steps than the recipe")
    parser.add_argument("--threads", type=int, help="cores to use (all)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (%(default)s)")
    parser.add_argument("--state", type=Path, help="file for an unfinished training; goes on from it if it is there")
    parser.add_argument("--measured", type=int, default=N_MEASURED, help="held-out texts to measure (%(default)s)")
    return parser


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

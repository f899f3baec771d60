"""Four trainings that differ in two things, the place of the norm and a warm-up, run for real and kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tfmviz.ui.shelf import Job, Shelf, Step

if TYPE_CHECKING:
    from tfmviz.training import Loop, Settings

SEEDS = (0, 1, 2)
N_LAYERS, N_STEPS, WARMUP, RATE = 12, 240, 80, 2e-3
PACE_AFTER = 2  # rounds before a time left is worth saying


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """One of the four.

    Attributes:
        block: where the norm stands.
        warmup: steps over which the learning rate rises; 0: full from the first step.
    """

    block: Literal["pre-norm", "post-norm"]
    warmup: int

    @property
    def name(self) -> str:
        """How it is called in pictures."""
        return f"{self.block.removesuffix('-norm')}, {'' if self.warmup else 'no '}warm-up"


VARIANTS = tuple(Variant(block=block, warmup=steps) for block in ("pre-norm", "post-norm") for steps in (WARMUP, 0))
Losses = Mapping[str, tuple[float, ...]]

_growing: dict[int, dict[str, list[float]]] = {}
_shelf: Shelf[int, Losses] = Shelf(budget=10**7, most=8, weigh=lambda _: 8 * 4 * N_STEPS, workers=1, name="warm-up")


def settings(variant: Variant, seed: int, n_steps: int = N_STEPS) -> Settings:
    """The training of a variant: twelve narrow layers continue short repeats, without clipping or a falling rate."""
    from tfmviz.training import Induction, Settings

    return Settings(
        task=Induction(alphabet="letters", shortest=4, longest=6, length=16, distinct=True),
        d_model=32,
        d_ff=64,
        n_heads=2,
        n_layers=N_LAYERS,
        block=variant.block,
        n_steps=n_steps,
        batch_size=16,
        learning_rate=RATE,
        warmup_steps=variant.warmup,
        final_rate=1.0,
        clip_norm=None,
        seed=seed,
    )


def job(seed: int) -> Job[Losses]:
    """The four losses of a seed, being computed or kept since somebody asked."""
    growing = _growing.setdefault(seed, {})
    return _shelf.ask(seed, lambda job: run(job, seed, N_STEPS, growing))


def begin(seed: int) -> None:
    """Ask for a seed's losses, so that they are there later."""
    job(seed)


def is_asked(seed: int) -> bool:
    """Whether somebody asked for a seed, so that it is being computed or kept."""
    return seed in _growing


def so_far(seed: int) -> Losses:
    """The losses up to now; all four grow together."""
    done = job(seed)
    if done.future.done():
        return done.future.result()
    return {name: tuple(values) for name, values in _growing[seed].items()}


def run(job: Job[Losses], seed: int, n_steps: int, into: dict[str, list[float]]) -> Losses:
    """Advance the four trainings in turn, one step each. One that diverges ends where it did: that is a result too."""
    from tfmviz.training import Loop
    from tfmviz.training.threads import limit_this_thread

    limit_this_thread(1)
    into.clear()
    into.update({variant.name: [] for variant in VARIANTS})
    loops = {variant.name: Loop(settings(variant, seed, n_steps)) for variant in VARIANTS}
    began = time.monotonic()
    for done in range(1, n_steps + 1):
        losses = {name: _advance(loop) for name, loop in loops.items()}
        for name, loss in losses.items():  # together, so that whoever looks on never sees one ahead of the others
            if loss is None:
                del loops[name]
            else:
                into[name].append(loss)
        left = (time.monotonic() - began) / done * (n_steps - done)
        seconds = left if done > PACE_AFTER else None
        job.report(Step(what="Training four models", done=done / n_steps, seconds_left=seconds))
    return {name: tuple(values) for name, values in into.items()}


def _advance(loop: Loop) -> float | None:
    """The loss of one more step; None if it is not finite."""
    from tfmviz.errors import TrainingDiverged

    try:
        return loop.advance().loss
    except TrainingDiverged:
        return None

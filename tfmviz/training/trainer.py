"""A training that a visitor holds in hand: start it, watch it, stop it, go on, look back, begin again."""

from __future__ import annotations

import weakref
from collections.abc import Mapping

from tfmviz.nn import AnyTransformer, build
from tfmviz.training.job import Job, Progress
from tfmviz.training.loop import Loop, StepReport
from tfmviz.training.queue import QUEUE, TrainingQueue
from tfmviz.training.settings import Settings
from tfmviz.training.snapshots import Snapshots

LEASE = 90.0  # seconds; a browser lets a hidden tab speak once a minute
N_SNAPSHOTS = 60


class Trainer:
    """One training in a background thread.

    No method waits for a step, except `wait`. A visitor who leaves without a word stops sending heartbeats, and one
    whose session is dropped takes this object along: either ends the thread, and the slot goes to the next in line.

    Args:
        settings: what to train, and how.
        device: where.
        queue: shared by all who train in this process.
        lease: seconds without a `heartbeat` after which the training stops by itself.
        n_threads: cores that a step may use.

    Raises:
        ConfigError: if the settings describe no model.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        device: str = "cpu",
        queue: TrainingQueue = QUEUE,
        lease: float = LEASE,
        n_threads: int = 1,
    ) -> None:
        self._device = device
        self._queue = queue
        self._lease = lease
        self._n_threads = n_threads
        self._begin(settings)

    def _begin(self, settings: Settings) -> None:
        self.settings = settings
        self._snapshots = Snapshots(every=max(1, settings.n_steps // N_SNAPSHOTS), limit=2 * N_SNAPSHOTS)
        loop = Loop(settings, device=self._device, snapshots=self._snapshots)
        self._job = Job(loop, queue=self._queue, lease=self._lease, n_threads=self._n_threads)
        self._end = weakref.finalize(self, self._job.close)

    def start(self) -> None:
        """Begin, or go on where it stopped; waits its turn in the queue."""
        self._job.start()

    def stop(self) -> None:
        """Stop after the present step and give the slot away; `start` goes on from there."""
        self._job.stop()

    def reset(self, settings: Settings | None = None) -> None:
        """Throw away what was learnt and stand ready to begin, with the same settings or new ones."""
        self._end()  # once called, a finalizer lets go of the job and all that hangs on it
        self._begin(settings or self.settings)

    def close(self) -> None:
        """Stop for good."""
        self._end()

    def heartbeat(self) -> None:
        """Say that somebody looks on: call it whenever the page is drawn."""
        self._job.heartbeat()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is under way; whether that is so."""
        return self._job.wait(timeout)

    @property
    def progress(self) -> Progress:
        """How far it has come."""
        return self._job.progress()

    @property
    def history(self) -> tuple[StepReport, ...]:
        """Every step so far, in order."""
        return tuple(self._job.history)

    @property
    def measures(self) -> Mapping[str, float] | None:
        """How well the finished model does on texts it never saw; None before the end."""
        return self._job.measures

    @property
    def snapshot_steps(self) -> tuple[int, ...]:
        """Steps whose weights were kept, 0 and the latest among them."""
        return self._snapshots.steps

    def model_at(self, step: int | None = None) -> AnyTransformer:
        """The model as it was after a step that was kept; the latest such step if none is given. A copy, in eval mode.

        Raises:
            OutOfRange: if no snapshot was kept of the step.
        """
        weights = self._snapshots.at(self.snapshot_steps[-1] if step is None else step)
        model = build(self.settings.config(), seed=None)
        model.load_state_dict(weights)
        return model.eval().requires_grad_(False)

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

"""Attention measured as the text grows: time and peak memory of its three forms, each point in a fresh process.

    call = AttentionCall(n_heads=8, n_kv_heads=8, d_head=64)
    for point in measure(call, lengths=(1024, 2048)):
        print(point.form, point.n, point.peak, point.predicted)

Before each point its need is predicted; what would not fit, or would take longer than is left, is told and not tried.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from tfmviz.analysis.measure_pace import Ahead, Pace, Point
from tfmviz.analysis.memory_peak import FORMS, AttentionCall, peak_bytes
from tfmviz.errors import TfmvizError
from tfmviz.models.device import resolve_device
from tfmviz.models.memory import available_bytes

if TYPE_CHECKING:
    from tfmviz.nn.config import AttentionForm

LENGTHS = tuple(64 << i for i in range(11))
"""64 to 65,536 tokens, each twice the one before."""

THREADS = 1
"""Of the CPU. Each thread has work space of its own in the fused kernel, which on many cores would hide how memory
grows; and one thread leaves the others to whoever else uses the machine."""

SHARE = 0.6  # of what is free may be taken: others use the machine too
_GONE = "The process that measures has ended. Start the measurement again."
_ROOT = Path(__file__).resolve().parents[2]


class MeasurementFailed(TfmvizError):
    """The process that measures is gone: it was closed, or the system ended it."""


class Worker:
    """The process that measures. It is started by the first question and ended by `close`, from any thread.

    Args:
        device: of torch, such as "cpu" or "cuda:0".
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def start(self) -> None:
        """Start the process and wait until it has imported what it needs, so that no point has to.

        Raises:
            MeasurementFailed: if the process is gone.
        """
        self._exchange({})

    def ask(self, call: AttentionCall, form: AttentionForm, n: int) -> dict[str, Any]:
        """Measure one point.

        Returns:
            ``peak`` in bytes and ``seconds``; or ``error``: "memory", or why it failed.

        Raises:
            MeasurementFailed: if the process is gone.
        """
        task = asdict(call) | {"form": form, "n": n, "block": call.block, "device": self.device, "threads": THREADS}
        return self._exchange(task)

    def close(self) -> None:
        """End the process, in the middle of a call too."""
        self._closed = True
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            if os.name == "posix":  # the process that measures a point is a child of this one
                with contextlib.suppress(ProcessLookupError):  # another thread has closed it meanwhile
                    os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(self, task: dict[str, Any]) -> dict[str, Any]:
        try:
            process = self._started()
            asked, answers = cast(IO[str], process.stdin), cast(IO[str], process.stdout)
            asked.write(json.dumps(task) + "\n")
            asked.flush()
            line = answers.readline()
        except (OSError, ValueError) as error:
            raise MeasurementFailed(_GONE) from error
        if not line:
            raise MeasurementFailed(_GONE)
        return dict(json.loads(line))

    def _started(self) -> subprocess.Popen[str]:
        if self._closed:
            raise OSError("it was closed")
        if self._process is None:
            paths = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tfmviz.analysis.measure_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "PYTHONPATH": paths},
                start_new_session=True,
            )
        return self._process


def measure(
    call: AttentionCall,
    *,
    device: str = "auto",
    forms: Sequence[AttentionForm] = FORMS,
    lengths: Sequence[int] = LENGTHS,
    budget_s: float = 60.0,
    limit: int | None = None,
    worker: Worker | None = None,
    report: Callable[[Ahead], None] | None = None,
) -> Iterator[Point]:
    """Measure every form on every length, shortest first, as far as memory and time go.

    Args:
        call: heads, widths, mask.
        device: "auto", "cpu", "cuda", "cuda:1" or "mps".
        forms: which.
        lengths: tokens, ascending.
        budget_s: seconds in all, once the process that measures has started. A point that would take longer than is
            left is not tried.
        limit: bytes a point may take; None for a fair share of what is free on the device before each point.
        worker: the process to measure in, which its owner closes; None for one of its own.
        report: called before each point.

    Yields:
        One point for each form and length, in the order in which they are settled.

    Raises:
        UnknownDevice: if this machine has no such device.
        MeasurementFailed: if the process that measures has ended.
    """
    where = resolve_device(device)
    own, pace = worker or Worker(str(where)), Pace(forms=tuple(forms), lengths=tuple(lengths))
    try:
        own.start()
        began = time.monotonic()
        for n in lengths:
            for form in forms:
                predicted = peak_bytes(form, n, call, device=where.type, n_threads=THREADS)
                most = int(SHARE * available_bytes(where)) if limit is None else limit
                left = budget_s - (time.monotonic() - began)
                if report is not None:
                    report(pace.ahead(form, n, left, budget_s))
                asked = time.monotonic()
                point = _settle(own, call, form, n, predicted, most, left, pace)
                pace.note(point, time.monotonic() - asked)
                yield point
    finally:
        if worker is None:
            own.close()


def _settle(
    worker: Worker,
    call: AttentionCall,
    form: AttentionForm,
    n: int,
    predicted: int,
    most: int,
    left: float,
    pace: Pace,
) -> Point:
    """One point: measured, or why not."""
    expected = pace.seconds(form, n)
    outcome = pace.ended(form)
    if predicted > most:
        outcome = "would not fit"
    elif outcome is None and pace.wall(expected or 0.0) > left:
        outcome = "would take too long"
    if outcome is not None:
        why = "a shorter text failed" if outcome == "failed" else ""
        return Point(form=form, n=n, predicted=predicted, outcome=outcome, seconds=expected, why=why)
    found = worker.ask(call, form, n)
    if "error" in found:
        why = "memory ran out" if found["error"] == "memory" else str(found["error"])
        return Point(form=form, n=n, predicted=predicted, outcome="failed", why=why)
    return Point(
        form=form,
        n=n,
        predicted=predicted,
        outcome="measured",
        peak=int(found["peak"]),
        seconds=float(found["seconds"]),
    )

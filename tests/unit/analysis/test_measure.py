"""Attention measured in processes of its own: powers, predictions, what is not tried, and how it is stopped."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import psutil
import pytest

from tfmviz.analysis import memory_fit
from tfmviz.analysis.measure import MeasurementFailed, Worker, measure
from tfmviz.analysis.measure_pace import START_S, Pace, Point
from tfmviz.analysis.memory_peak import FORMS, AttentionCall
from tfmviz.errors import UnknownDevice
from tfmviz.nn.config import AttentionForm

CALL = AttentionCall(n_heads=4, n_kv_heads=4, d_head=128)
POWERS = {"materialised": (1.9, 2.1), "chunked": (0.9, 1.1), "fused": (0.9, 1.1)}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One process for all, which has imported torch already; each point has a child of it."""
    with Worker("cpu") as started:
        yield started


@pytest.fixture(scope="module")
def points(worker: Worker) -> list[Point]:
    lengths = (1_024, 2_048, 4_096)
    return list(measure(CALL, device="cpu", lengths=lengths, budget_s=600, limit=4 * 10**9, worker=worker))


@pytest.mark.parametrize("form", FORMS)
def test_measured_memory_grows_with_its_power(points: list[Point], form: str) -> None:
    law = memory_fit.fit({p.n: float(p.peak) for p in points if p.form == form and p.peak})
    assert law is not None
    low, high = POWERS[form]
    assert low <= law.power <= high


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [2_048, 4_096])
def test_the_prediction_is_within_a_tenth(points: list[Point], form: str, n: int) -> None:
    (point,) = (p for p in points if p.form == form and p.n == n)
    assert point.peak is not None
    assert point.predicted == pytest.approx(point.peak, rel=0.1)


@pytest.mark.parametrize(
    ("call", "forms"),
    [
        (AttentionCall(n_heads=4, n_kv_heads=2, d_head=64, causal=True), FORMS),
        (AttentionCall(n_heads=4, n_kv_heads=4, d_head=64, backward=True), FORMS),
        # by the formula it is the same as above in numbers of half the size, and takes a processor minutes
        (AttentionCall(n_heads=8, n_kv_heads=8, d_head=64, dtype="bfloat16"), ("chunked", "fused")),
    ],
    ids=["shared keys, causal", "backward", "bfloat16"],
)
def test_so_it_is_for_other_calls(worker: Worker, call: AttentionCall, forms: tuple[AttentionForm, ...]) -> None:
    limit = 4 * 10**9
    for point in measure(call, device="cpu", forms=forms, lengths=(2_048,), budget_s=600, limit=limit, worker=worker):
        assert point.peak is not None, point
        assert point.predicted == pytest.approx(point.peak, rel=0.1), point


def test_what_would_not_fit_is_told_and_not_tried(worker: Worker) -> None:
    lengths = (64, 128, 65_536)
    settled = list(measure(CALL, device="cpu", forms=("materialised",), lengths=lengths, limit=10**8, worker=worker))
    assert [p.outcome for p in settled] == ["measured", "measured", "would not fit"]
    assert settled[-1].predicted > 5 * 4 * 65_536**2 * 4
    assert settled[-1].peak is None


def test_a_point_that_would_take_longer_than_is_left_is_not_tried() -> None:
    began = time.monotonic()
    settled = list(measure(CALL, device="cpu", forms=("fused",), lengths=(512, 262_144), budget_s=30))
    assert [p.outcome for p in settled] == ["measured", "would take too long"]
    assert time.monotonic() - began < 30


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(UnknownDevice):
        next(measure(CALL, device="cuda:77", lengths=(64,)))


def test_a_call_that_fails_says_why_and_not_that_memory_ran_out(worker: Worker) -> None:
    assert "no such form" in worker.ask(CALL, "no such form", 64)["error"]  # type: ignore[arg-type]
    assert worker.ask(CALL, "fused", 64)["seconds"] > 0


def test_a_call_imports_nothing_that_the_process_it_is_forked_from_has_not() -> None:
    code = (
        "import sys; from tfmviz.analysis import measure_worker as worker; worker.prepare(); had = set(sys.modules)\n"
        "task = dict(n=64, n_heads=2, n_kv_heads=1, d_head=8, batch=1, dtype='float32', causal=True, block=128)\n"
        "for form in ('materialised', 'chunked', 'fused'):\n"
        "    worker.measured(task | dict(form=form, device='cpu', threads=1, backward=True))\n"
        "print(len(set(sys.modules) - had))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) < 20


def test_closing_ends_a_call_in_its_middle_and_every_process() -> None:
    worker = Worker("cpu")
    assert worker.ask(CALL, "fused", 64)["seconds"] > 0
    assert worker._process is not None
    mother = psutil.Process(worker._process.pid)
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            worker.ask(CALL, "chunked", 65_536)
        except MeasurementFailed as error:
            failures.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while not (children := mother.children()):
        time.sleep(0.01)
    worker.close()
    asking.join(20)
    assert not asking.is_alive()
    assert len(failures) == 1
    _, alive = psutil.wait_procs(children, timeout=10)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    with pytest.raises(MeasurementFailed):
        worker.ask(CALL, "fused", 64)


def test_the_pace_foretells_four_times_the_seconds_for_twice_the_text() -> None:
    pace = Pace(forms=("fused",), lengths=(64, 128, 256))
    assert pace.seconds("fused", 128) is None
    pace.note(Point(form="fused", n=64, predicted=1, outcome="measured", peak=1, seconds=2.0), took=4.0)
    assert pace.seconds("fused", 128) == 8.0
    ahead = pace.ahead("fused", 128, left=200.0, budget_s=210.0)
    # each point: its process, the call that is watched, the call that is timed
    assert ahead.seconds_left == pytest.approx(2 * START_S + 2 * 8.0 + 2 * 32.0)
    assert ahead.done == pytest.approx(10 / (10 + ahead.seconds_left))


def test_what_does_not_fit_the_budget_is_not_counted_as_left() -> None:
    pace = Pace(forms=("fused",), lengths=(64, 128, 256))
    pace.note(Point(form="fused", n=64, predicted=1, outcome="measured", peak=1, seconds=2.0), took=4.0)
    assert pace.ahead("fused", 128, left=20.0, budget_s=30.0).seconds_left == pytest.approx(START_S + 2 * 8.0)

"""A measurement of one visitor: it grows, it can be stopped, it ends when nobody looks, and one runs at a time."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from tfmviz.ui import live_run
from tfmviz.ui.live_run import LiveRun


def test_points_come_one_by_one_and_then_it_is_finished() -> None:
    run = LiveRun(lambda: iter(range(5)))
    run.start()
    assert run.wait(10)
    assert (run.points, run.state, run.error) == ([0, 1, 2, 3, 4], "finished", None)


def test_a_stop_takes_effect_after_the_point_under_way() -> None:
    reached, go = threading.Event(), threading.Event()

    def points() -> Iterator[int]:
        for i in range(100):
            if i == 3:
                reached.set()
                go.wait(10)
            yield i

    run = LiveRun(points)
    run.start()
    assert reached.wait(10)
    assert run.is_under_way
    run.stop()
    go.set()
    assert run.wait(10)
    assert (run.points, run.state) == ([0, 1, 2, 3], "stopped")


def test_what_a_stopped_measurement_holds_goes_at_once() -> None:
    held: list[str] = []

    def points() -> Iterator[int]:
        held.append("worker")
        try:
            while True:
                run.stop()
                yield 1
        finally:
            held.clear()

    run: LiveRun[int] = LiveRun(points)
    run.start()
    assert run.wait(10)
    assert (run.points, run.state, held) == ([1], "stopped", [])


def test_one_that_nobody_looks_at_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_run, "LEASE_S", 0.2)
    pause = threading.Event()

    def points() -> Iterator[int]:
        while True:
            pause.wait(0.02)
            yield 1

    run = LiveRun(points)
    run.start()
    assert run.wait(10)
    assert run.state == "stopped"


def test_one_that_is_looked_at_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_run, "LEASE_S", 0.5)
    pause = threading.Event()

    def points() -> Iterator[int]:
        for i in range(20):
            pause.wait(0.05)
            run.heartbeat()
            yield i

    run: LiveRun[int] = LiveRun(points)
    run.start()
    assert run.wait(20)
    assert run.state == "finished"


def test_two_do_not_run_at_once() -> None:
    go, at_once, most = threading.Event(), [0], [0]

    def points() -> Iterator[int]:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        go.wait(10)
        yield 1
        at_once[0] -= 1

    runs = [LiveRun(points) for _ in range(3)]
    for run in runs:
        run.start()
    assert runs[1].state == "waiting"
    go.set()
    assert all(run.wait(10) for run in runs)
    assert [run.state for run in runs] == ["finished"] * 3
    assert most == [1]


def test_one_stopped_while_it_waits_never_begins() -> None:
    go, began = threading.Event(), threading.Event()

    def first() -> Iterator[int]:
        go.wait(10)
        yield 1

    def second() -> Iterator[int]:
        began.set()
        yield 1

    one, two = LiveRun(first), LiveRun(second)
    one.start()
    two.start()
    two.stop()
    go.set()
    assert two.wait(10)
    assert two.state == "stopped"
    assert not began.is_set()


def test_what_went_wrong_is_kept() -> None:
    def points() -> Iterator[int]:
        yield 1
        raise ValueError("no")

    run = LiveRun(points)
    run.start()
    assert run.wait(10)
    assert run.points == [1]
    assert run.state == "failed"
    assert isinstance(run.error, ValueError)


def test_what_was_measured_with_is_let_go_once_it_is_over() -> None:
    class Model:
        def points(self) -> Iterator[int]:
            yield 1

    model = Model()
    kept = weakref.ref(model)
    run = LiveRun(model.points)
    del model
    run.start()
    assert run.wait(10)
    gc.collect()
    assert run.points == [1]
    assert kept() is None

"""The shelf: bounded by bytes, each thing made once, errors never kept."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tfmviz.ui.shelf import Job, Shelf, Step, Stopped


def shelf(*, budget: int = 100, most: int = 10) -> Shelf[str, bytes]:
    return Shelf(budget=budget, most=most, weigh=len, workers=2, name="test")


def test_what_was_asked_for_twice_is_made_once_and_is_the_same_thing() -> None:
    made: list[str] = []
    gate = threading.Event()

    def make(job: Job[bytes]) -> bytes:
        gate.wait(5)
        made.append("x")
        return bytes(3)

    store = shelf()
    with ThreadPoolExecutor(8) as pool:
        jobs = list(pool.map(lambda _: store.ask("a", make), range(8)))
        gate.set()
    results = [job.future.result(5) for job in [*jobs, store.ask("a", make)]]
    assert made == ["x"]
    assert all(result is results[0] for result in results)


def test_least_recently_used_goes_first_once_the_bytes_are_spent() -> None:
    store = shelf(budget=100)
    for key in "ab":
        store.ask(key, lambda job: bytes(40)).future.result(5)
    store.ask("a", lambda job: b"not made again").future.result(5)
    store.ask("c", lambda job: bytes(40)).future.result(5)
    assert store.keys() == ["a", "c"]


def test_the_newest_thing_stays_even_if_it_is_over_the_budget() -> None:
    store = shelf(budget=100)
    store.ask("small", lambda job: bytes(10)).future.result(5)
    store.ask("huge", lambda job: bytes(1000)).future.result(5)
    assert store.keys() == ["huge"]


def test_the_number_of_things_is_bounded_too() -> None:
    store = shelf(budget=10**6, most=3)
    for key in "abcdef":
        store.ask(key, lambda job: b"").future.result(5)
    assert store.keys() == ["d", "e", "f"]


def test_an_error_reaches_whoever_waits_and_is_forgotten() -> None:
    store = shelf()

    def fail(job: Job[bytes]) -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        store.ask("a", fail).future.result(5)
    assert store.ask("a", lambda job: b"now").future.result(5) == b"now"


def test_a_job_that_is_stopped_ends_where_it_says_how_far_it_is_and_can_be_asked_for_again() -> None:
    store, gate = shelf(), threading.Event()

    def make(job: Job[bytes]) -> bytes:
        gate.wait(5)
        job.report(Step(what="half of it", done=0.5))
        return b"made"

    job = store.ask("a", make)
    job.stop()
    gate.set()
    with pytest.raises(Stopped):
        job.future.result(5)
    assert store.ask("a", make).future.result(5) == b"made"


def test_a_job_that_nobody_wants_any_more_ends() -> None:
    job: Job[bytes] = Job()
    job.report(Step(what="never said to be wanted: goes on"))
    job.want(60)
    job.want(-1)
    job.report(Step(what="another visitor wants it still"))
    job.wanted_until = 0.0
    with pytest.raises(Stopped):
        job.report(Step(what="nobody does"))

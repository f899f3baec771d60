"""A long wait: the page says how long it takes, a click ends it, and what it was for can be asked for again."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent import futures

import long_job
import pytest
import streamlit as st
from on_page import MAIN, component, words
from streamlit.testing.v1 import AppTest

from tfmviz.analysis import pace
from tfmviz.models import Model
from tfmviz.ui import cache, loading, stoppable
from tfmviz.ui.explore import LAST_GOOD
from tfmviz.ui.requests import ModelRequest, TraceRequest
from tfmviz.ui.shelf import Job, Stopped

TEXT = "The cat sat on the mat, and the dog on the cat."


def page() -> AppTest:
    def script() -> None:
        import long_job

        long_job.draw()

    return AppTest.from_function(script, default_timeout=30)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stoppable, "PATIENCE_S", 0.0)
    monkeypatch.setattr(long_job, "made", [])
    monkeypatch.setattr(long_job, "gate", threading.Event())
    monkeypatch.setattr(long_job, "shelf", long_job.new_shelf())
    yield
    long_job.gate.set()


def bar(at: AppTest) -> str:
    return at.get("progress")[-1].proto.text


def test_a_long_job_is_not_waited_for_in_the_script() -> None:
    at = page().run()
    assert "not yet" in words(at)
    job = long_job.ask("ten")
    job.started -= 5  # of the first second no estimate is shown
    assert bar(at.run()) == "Counting sheep, about 60 s left"
    long_job.gate.set()
    futures.wait([job.future], timeout=10)
    assert "ten sheep" in words(at.run())


def test_a_short_job_is_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stoppable, "MORE_S", 61.0)
    long_job.gate.set()
    assert "ten sheep" in words(page().run())


def test_a_click_ends_it_and_another_begins_anew() -> None:
    at = page().run()
    job = long_job.ask("ten")
    at.button(key="long_stop").click().run()
    futures.wait([job.future], timeout=10)
    assert isinstance(job.future.exception(), long_job.stoppable.Stopped)
    at.run()
    assert "Stopped" in at.info[0].value
    assert not at.get("progress")
    at.button(key="long_again").click()
    long_job.gate.set()
    at.run()
    assert "ten sheep" in words(at)
    assert long_job.made == ["ten"]


def test_what_another_visitor_stops_is_asked_for_again() -> None:
    mine, theirs = page().run(), page().run()
    job = long_job.ask("ten")
    theirs.button(key="long_stop").click().run()
    futures.wait([job.future], timeout=10)
    mine.run()
    assert bar(mine).startswith("Counting sheep")
    assert not mine.info
    assert long_job.ask("ten") is not job


def test_asking_for_something_else_ends_what_was_asked_for() -> None:
    at = page().run()
    job = long_job.ask("ten")
    at.text_input(key="key").set_value("twelve").run()
    futures.wait([job.future], timeout=10)
    assert isinstance(job.future.exception(), long_job.stoppable.Stopped)
    assert bar(at).startswith("Counting sheep")


@pytest.mark.parametrize(
    ("name", "asked", "kept"),
    [
        ("masks", {"layer": "3", "head": "5", "mask": "prefix"}, {"layer": 3, "head": 5}),
        ("inside", {"layer": "3", "head": "5", "step": "output", "temperature": "2.5"}, {"layer": 3, "head": 5}),
    ],
)
def test_no_choice_is_lost_while_a_page_waits(
    name: str, asked: dict[str, str], kept: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = AppTest.from_file(str(MAIN), default_timeout=120)
    at.switch_page(str(MAIN.parents[1] / "pages" / f"{name}.py"))
    for key, value in {"text": TEXT, **asked}.items():
        at.query_params[key] = value
    at.run()
    with monkeypatch.context() as waiting:
        waiting.setattr(stoppable, "_is_soon_done", lambda job, line: False)
        waiting.setattr(stoppable, "_watch", lambda name, key, job: None)
        at.run()
        assert not at.get("plotly_chart")
        assert {key: at.selectbox(key=key).value for key in kept} == kept
    at.run()
    assert at.get("plotly_chart")
    for key, value in asked.items():
        assert value in (at.query_params[key], at.query_params[key][0])
        assert str(at.session_state[key]) == value


def test_a_long_pass_of_explore_can_be_stopped_and_run_again_beside_the_last_picture(
    minilm: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = AppTest.from_file(str(MAIN), default_timeout=120)
    for key, value in {"text": TEXT, "layer": "3", "head": "5"}.items():
        at.query_params[key] = value
    at.run()
    gate, longer = threading.Event(), f"{TEXT} And so on, for a very long time."

    @contextlib.contextmanager
    def slow(model: Model, report: Callable[[float], None], **_: float) -> Iterator[None]:
        yield
        while not gate.wait(0.02):
            report(0.25)

    def is_of(text: str) -> bool:
        chosen = (at.selectbox(key="layer").value, at.selectbox(key="head").value)
        return component(at, "atlas")[0]["tokens"] == [len(minilm.tokenize(text))] * 2 and chosen == (3, 5)

    assert is_of(TEXT)
    monkeypatch.setattr(pace, "paced", slow)
    monkeypatch.setattr(stoppable, "UNTOLD_S", 0.0)
    monkeypatch.setattr(stoppable, "MORE_S", 0.0)
    at.text_area(key="text").set_value(longer).run()
    assert bar(at).startswith("Running the model")
    assert is_of(TEXT)
    assert "the last text that worked" in words(at)
    at.button(key="explore_stop").click().run()
    at.run()
    assert "Stopped" in at.info[0].value
    assert is_of(TEXT)
    gate.set()
    monkeypatch.setattr(stoppable, "PATIENCE_S", 600.0)
    monkeypatch.setattr(stoppable, "UNTOLD_S", 600.0)
    at.button(key="explore_again").click().run()
    assert is_of(longer)
    assert not at.info


def test_what_somebody_else_has_finished_is_shown_though_this_visitor_stopped_it(minilm: Model) -> None:
    at = AppTest.from_file(str(MAIN), default_timeout=120)
    at.query_params["text"] = TEXT
    at.run()
    at.session_state["explore_stopped"] = at.session_state[LAST_GOOD]
    at.run()
    assert component(at, "atlas")[0]["tokens"] == [len(minilm.tokenize(TEXT))] * 2
    assert not at.info


def test_what_another_visitor_stopped_is_made_again_for_one_who_waits_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request = TraceRequest(model=ModelRequest(name="minilm"), text="Two visitors read this, and one of them goes.")
    ask, stopped = cache.trace_job, Job()
    stopped.future.set_exception(Stopped())
    jobs = iter([stopped])
    monkeypatch.setattr(cache, "trace_job", lambda *args: next(jobs, None) or ask(*args))
    assert len(cache.traced(request).trace.tokens) > 10
    jobs = iter([stopped])
    wanted = cache.trace_job
    assert loading.wait_for(lambda: wanted(request, cache.model(request.model)), loading.Line(st.container()))

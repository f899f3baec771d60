"""What a wait says: an estimate only once there is something to estimate from."""

from __future__ import annotations

import re
import time

import pytest

from tfmviz.ui.loading import Stopwatch, how_far
from tfmviz.ui.shelf import Step


def seconds_left(text: str) -> float | None:
    found = re.search(r"about (\d+) s left", text)
    return float(found[1]) if found else None


def test_the_first_bytes_of_a_file_foretell_nothing() -> None:
    assert seconds_left(how_far(Step(what="Reading", done=0.001), 2.0, None)[1]) is None


@pytest.mark.parametrize(("done", "seconds", "left"), [(0.5, 10.0, 10), (0.25, 3.0, 9), (0.05, 1.0, 19)])
def test_the_rest_takes_as_long_as_the_part_that_is_done(done: float, seconds: float, left: float) -> None:
    assert seconds_left(how_far(Step(what="Reading", done=done), seconds, None)[1]) == left


def test_the_makers_own_estimate_comes_first() -> None:
    assert seconds_left(how_far(Step(what="Unpacking", done=0.5, seconds_left=42.0), 10.0, None)[1]) == 42


def test_a_pass_is_foretold_from_the_last_one_of_the_same_model() -> None:
    watch = Stopwatch()
    assert watch.expect("minilm", 100) is None
    watch.note("minilm", 50, time.monotonic() - 1)  # 50 characters took a second
    assert watch.expect("minilm", 100) == pytest.approx(2.0, rel=0.05)
    assert watch.expect("smollm2", 100) is None

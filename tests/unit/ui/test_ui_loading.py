"""What a wait says: an estimate only once there is something to estimate from."""

from __future__ import annotations

import re

import pytest

from tfmviz.ui.loading import how_far
from tfmviz.ui.shelf import Step


def seconds_left(text: str) -> float | None:
    found = re.search(r"about (\d+) s left", text)
    return float(found[1]) if found else None


def test_the_first_bytes_of_a_file_foretell_nothing() -> None:
    assert seconds_left(how_far(Step(what="Reading", done=0.001), 2.0)[1]) is None


@pytest.mark.parametrize(("done", "seconds", "left"), [(0.5, 10.0, 10), (0.25, 3.0, 9), (0.05, 1.0, 19)])
def test_the_rest_takes_as_long_as_the_part_that_is_done(done: float, seconds: float, left: float) -> None:
    assert seconds_left(how_far(Step(what="Reading", done=done), seconds)[1]) == left


def test_the_makers_own_estimate_comes_first() -> None:
    assert seconds_left(how_far(Step(what="Unpacking", done=0.5, seconds_left=42.0), 10.0)[1]) == 42

"""The Compare page: two models on one text, on units that both have, and what differs in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import streamlit as st

from tfmviz.errors import ConfigError, EmptyText, NotEnoughMemory
from tfmviz.text import display
from tfmviz.ui import cache, compare_jobs, compare_picture, compare_sides, errors, loading
from tfmviz.ui.address import Notes
from tfmviz.ui.compare_jobs import SideRequest
from tfmviz.ui.compare_sides import Letter, Side
from tfmviz.ui.requests import TraceRequest

THEORY = Path(__file__).resolve().parents[2] / "assets" / "texts" / "compare.md"


def draw(request: TraceRequest) -> None:
    """The whole page.

    Args:
        request: the sidebar's: the text, and model A.
    """
    line, notes, notices = loading.Line(st.container(key="line")), Notes(), st.container()
    asked = compare_sides.pickers(request, notes)
    notes.say(notices)
    if request.pair or request.target:
        st.caption("Only the first text is compared: two models need not agree on where a second one goes.")
    sides, failed = _load(asked, line)
    _failures(failed, request)
    compare_picture.draw(sides, request)
    if len(sides) == 2:
        a, b = sides["A"], sides["B"]
        line.say(
            f"**A** {display.markdown(a.name)} and **B** {display.markdown(b.name)} read the same text: "
            f"{len(a.traced.trace.tokens):,} and {len(b.traced.trace.tokens):,} tokens."
        )
    else:
        line.say("Both models are needed for a comparison; what works is shown by itself." if sides else "")


def _failures(failed: Mapping[Letter, BaseException], request: TraceRequest) -> None:
    """What went wrong, each on its side. Outside of the fragment: the button that cuts a text draws the whole page."""
    if not failed:
        return
    once = len(failed) == 2 and all(isinstance(error, EmptyText) for error in failed.values())
    for letter, place in zip(compare_sides.KEYS, st.columns(2, gap="medium"), strict=True):
        if letter in failed and not (once and letter == "B"):
            with place:
                # one button for cutting: both sides read the same text
                offers = letter == "A" or "A" not in failed
                errors.show(failed[letter], request=request if offers else None)


def _load(
    asked: dict[Letter, SideRequest | ConfigError], line: loading.Line
) -> tuple[dict[Letter, Side], dict[Letter, BaseException]]:
    """Both models and their passes; a side that fails leaves the other alone."""
    requests: dict[Letter, SideRequest] = {}
    failed: dict[Letter, BaseException] = {}
    for letter, one in asked.items():
        if isinstance(one, SideRequest):
            requests[letter] = one
        else:
            failed[letter] = one
    needs = st.empty()
    failed |= compare_sides.guard(requests, needs)
    jobs = {letter: cache.model_job(one.trace.model) for letter, one in requests.items() if letter not in failed}
    sides: dict[Letter, Side] = {}
    for letter, job in jobs.items():
        try:
            model, one = loading.wait(job, line), requests[letter]
            traced = loading.wait_for(partial(compare_jobs.side_job, one, model), line)
            sides[letter] = Side(letter=letter, request=one, model=model, traced=traced)
        except Exception as error:  # the page's last resort: the other side is still shown
            failed[letter] = error
    if not _needs_stay(failed):
        needs.empty()
    return sides, failed


def _needs_stay(failed: dict[Letter, BaseException]) -> bool:
    """Whether what loading would need stays on the page: where a model was not loaded for it."""
    return any(isinstance(error, NotEnoughMemory) for error in failed.values())


def theory() -> None:
    """What a unit and a distance are, for those who open it."""
    with st.expander("How tokens of two models are compared, and what the distances are", icon=":material/school:"):
        st.markdown(THEORY.read_text(encoding="utf-8"))

"""A page that waits for one job, which foretells a minute and lasts until a test opens the gate."""

from __future__ import annotations

import threading

import streamlit as st

from tfmviz.ui import loading, stoppable
from tfmviz.ui.shelf import Job, Shelf, Step


def new_shelf() -> Shelf[str, str]:
    """An empty one."""
    return Shelf(budget=10**6, most=10, weigh=len, workers=4, name="long")


gate = threading.Event()
made: list[str] = []
shelf = new_shelf()


def ask(key: str) -> Job[str]:
    """The job."""
    opened = gate

    def make(job: Job[str]) -> str:
        while not opened.wait(0.02):
            job.report(Step(what="Counting sheep", done=0.25, seconds_left=60.0))
        made.append(key)
        return f"{key} sheep"

    return shelf.ask(key, make)


def draw() -> None:
    """The page."""
    line = loading.Line(st.container())
    key = st.text_input("Key", "ten", key="key")
    try:
        st.markdown(stoppable.wait("long", key, lambda: ask(key), line))
    except stoppable.Unfinished:
        st.caption("not yet")

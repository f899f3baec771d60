"""Another run of the script when the page turns light or dark, so that charts get the ink that goes with it."""

from __future__ import annotations

import streamlit as st

from tfmviz.components.bundle import script

_watch = st.components.v2.component("tfmviz.theme_watch", js=script("theme_watch.js"))


def theme_watch(*, key: str = "theme_watch") -> None:
    """Look out for another theme. Shows nothing; belongs on a page once, outside of every fragment.

    Args:
        key: the widget key.
    """
    _watch(key=key, data={"watch": True}, on_turned_change=_nothing)


def _nothing() -> None:
    """The run itself is all that is wanted: it brings the new theme along."""

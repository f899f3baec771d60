"""Explore: every head of one model on one text, and one head closely."""

from __future__ import annotations

import streamlit as st

from tfmviz.ui import explore, picture

frame = explore.frame()
shown = explore.trace(st.session_state["request"], frame)
if shown is not None:
    with frame.picture:
        picture.draw(shown)
explore.theory()
if shown is not None:
    picture.annotate(shown)

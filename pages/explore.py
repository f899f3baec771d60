"""Explore: every head of one model on one text, and one head closely."""

from __future__ import annotations

import streamlit as st

from tfmviz.ui import explore, picture

line, place = explore.frame()
shown = explore.trace(st.session_state["request"], line=line, place=place)
if shown is not None:
    with place:
        picture.draw(shown)

"""Positions: how order gets into a model, scheme by scheme, and what is lost without it."""

from __future__ import annotations

import streamlit as st

from tfmviz.ui import positions_page

positions_page.draw(st.session_state["request"])
positions_page.theory()

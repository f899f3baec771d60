"""Masks: who may look at whom, and what each rule does to the same text."""

from __future__ import annotations

import streamlit as st

from tfmviz.ui import masks_page

masks_page.draw(st.session_state["request"])
masks_page.theory()

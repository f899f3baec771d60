"""Compare: two models on one text, even when they cut it differently."""

from __future__ import annotations

import streamlit as st

from tfmviz.ui import compare_page

compare_page.draw(st.session_state["request"])
compare_page.theory()

"""Memory: what attention takes as the text grows, measured here and worked out."""

from __future__ import annotations

import streamlit as st

from tfmviz.ui import memory_page

memory_page.draw(st.session_state["request"])
memory_page.theory()

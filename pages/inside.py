"""Inside a layer: one head step by step, from queries, keys and values to what it adds to the residual stream."""

from __future__ import annotations

import streamlit as st

from tfmviz.ui import inside_page

inside_page.draw(st.session_state["request"])
inside_page.theory()

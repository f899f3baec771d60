"""Architectures: encoder-only, decoder-only and encoder-decoder side by side, and what the place of the norm does."""

from __future__ import annotations

import streamlit as st

from tfmviz.ui import architectures_page

architectures_page.draw(st.session_state["request"])
architectures_page.theory()

"""The least that Streamlit can put on screen: one text box. What a cold start takes with nothing of ours in it."""

from __future__ import annotations

import streamlit as st

st.text_area("Text", key="text")

"""Hostile texts through every way out of the display module."""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from tfmviz.text import display

for i, text in enumerate(json.loads(Path(__file__).with_name("hostile.json").read_text(encoding="utf-8"))):
    with st.container(key=f"markdown{i}"):
        st.markdown(display.markdown(text))
    with st.container(key=f"code{i}"):
        st.markdown(display.code(text))
    with st.container(key=f"error{i}"):
        st.error(display.markdown(text))
    with st.container(key=f"label{i}"):
        st.checkbox(display.markdown(text), key=f"box{i}")
    with st.container(key=f"html{i}"):
        st.html(f'<p title="{display.html(text)}">{display.html(text)}</p>')
st.write("all there")

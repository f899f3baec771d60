"""Where the bytes go, by arithmetic: the textbook rows, worked out again and explained."""

from __future__ import annotations

import streamlit as st

from tfmviz.analysis import memory
from tfmviz.ui import loading, memory_words
from tfmviz.ui.requests import TraceRequest


def draw(request: TraceRequest) -> None:
    """The whole view."""
    del request  # the arithmetic knows no text
    loading.Line(st.container(key="line")).say(memory_words.BYTES_LINE)
    rows = [
        (n, memory.attention_weights(n, n_heads=memory_words.TEXTBOOK_HEADS), memory.attention_bytes(n, n_heads=8))
        for n in memory_words.TEXTBOOK_LENGTHS
    ]
    st.markdown(memory_words.textbook(rows))

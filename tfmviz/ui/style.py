"""The little CSS that Streamlit's theme has no option for."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

STYLESHEET = Path(__file__).resolve().parents[2] / "assets" / "page.css"


def apply() -> None:
    """Put the page's style sheet on the page. It holds nothing that came from a visitor."""
    st.html(STYLESHEET)

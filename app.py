"""The launcher: ``streamlit run app.py``.

The page itself is ``tfmviz/main.py``. It is started through ``st.App`` so that security headers, fonts and a health
route stand beside it, and so that ``pages/`` is read by ``st.navigation`` alone: beside the main script that folder
would switch on Streamlit's older way of finding pages, which opens deep links without the sidebar.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from threading import Timer

# Before torch is ever imported: OpenMP threads that spin while they wait take a shared machine's cores from the server
# (MiniLM, 16 tokens: 17 ms waiting quietly, 500 ms spinning).
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import streamlit as st
from starlette.middleware import Middleware

from tfmviz.ui.server import SecurityHeaders, on_script_error, routes

app = st.App(
    Path(__file__).resolve().parent / "tfmviz" / "main.py",
    middleware=[Middleware(SecurityHeaders)],
    routes=routes(),
    on_script_error=on_script_error,
)


def _read_ahead() -> None:
    """Import what the first page needs: the server has nothing to do while the browser reads Streamlit's scripts."""
    for name in ("PIL.Image", "tfmviz.ui.explore"):  # the first is Streamlit's, for the page's icon
        import_module(name)


ahead = Timer(0.2, _read_ahead)  # once the server answers, which an import beside it would delay
ahead.daemon = True
ahead.start()

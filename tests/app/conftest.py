"""The app without a browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from on_page import MAIN
from streamlit.testing.v1 import AppTest

from tfmviz.ui import stoppable


@pytest.fixture(autouse=True)
def everything_is_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here no timer draws a page again, as a browser's does: a job that takes long on a busy machine is waited for."""
    monkeypatch.setattr(stoppable, "PATIENCE_S", 600.0)
    monkeypatch.setattr(stoppable, "UNTOLD_S", 600.0)


@pytest.fixture
def explore() -> Callable[..., AppTest]:
    """Open the Explore page with these parameters in its address."""

    def open_page(**query: str | list[str]) -> AppTest:
        at = AppTest.from_file(str(MAIN), default_timeout=120)
        for name, value in query.items():
            at.query_params[name] = value
        return at.run()

    return open_page

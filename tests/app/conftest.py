"""The app without a browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from on_page import MAIN
from streamlit.testing.v1 import AppTest


@pytest.fixture
def explore() -> Callable[..., AppTest]:
    """Open the Explore page with these parameters in its address."""

    def open_page(**query: str | list[str]) -> AppTest:
        at = AppTest.from_file(str(MAIN), default_timeout=120)
        for name, value in query.items():
            at.query_params[name] = value
        return at.run()

    return open_page

"""The app without a browser, and what the page ought to show, asked of the package itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tfmviz.components.payload import unpack

MAIN = Path(__file__).resolve().parents[2] / "tfmviz" / "main.py"


@pytest.fixture
def explore() -> Callable[..., AppTest]:
    """Open the Explore page with these parameters in its address."""

    def open_page(**query: str | list[str]) -> AppTest:
        at = AppTest.from_file(str(MAIN), default_timeout=120)
        for name, value in query.items():
            at.query_params[name] = value
        return at.run()

    return open_page


def figure_of(at: AppTest) -> dict[str, Any]:
    """The head's map as Plotly gets it."""
    charts = at.get("plotly_chart")
    assert len(charts) == 1
    return json.loads(charts[0].proto.spec)


def map_weights(at: AppTest) -> np.ndarray:
    """The numbers in the head's map; masked cells are NaN."""
    z = figure_of(at)["data"][0]["z"]
    if isinstance(z, dict):
        import base64

        flat = np.frombuffer(base64.b64decode(z["bdata"]), dtype=np.dtype(z["dtype"]))
        return flat.reshape([int(size) for size in str(z["shape"]).split(",")])
    return np.array([[np.nan if value is None else value for value in row] for row in z], dtype=np.float32)


def component(at: AppTest, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a canvas component gets: header and arrays."""
    for element in at.get("bidi_component"):
        if element.proto.bytes:
            header, arrays = unpack(bytes(element.proto.bytes))
            if header.get("key") == key:
                return header, arrays
    raise AssertionError(f"no component {key!r} on the page")


def words(at: AppTest) -> str:
    """Every Markdown text and caption of the page."""
    return "\n".join([element.value for element in at.markdown] + [element.value for element in at.caption])

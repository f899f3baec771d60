"""What a page of the app holds, read from AppTest: figures, what components were sent, words."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from tfmviz.components.payload import unpack

MAIN = Path(__file__).resolve().parents[2] / "tfmviz" / "main.py"


def figure_of(at: AppTest) -> dict[str, Any]:
    """The head's map as Plotly gets it."""
    charts = at.get("plotly_chart")
    assert len(charts) == 1
    return json.loads(charts[0].proto.spec)


def map_weights(at: AppTest) -> np.ndarray:
    """The numbers in the head's map; masked cells are NaN."""
    z = figure_of(at)["data"][0]["z"]
    if isinstance(z, dict):
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

"""The Compare page, opened without a browser, and the numbers of its figures."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from on_page import MAIN
from streamlit.testing.v1 import AppTest

PAGE = MAIN.parents[1] / "pages" / "compare.py"
TEXT = "The cat sat on the mat."


def compare_page(**query: str) -> AppTest:
    """Open the page with these parameters in its address."""
    at = AppTest.from_file(str(MAIN), default_timeout=120)
    at.switch_page(str(PAGE))
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def numbers(at: AppTest, key: str, trace: int, name: str) -> np.ndarray:
    """Some numbers of one of a figure's traces."""
    chart = next(chart for chart in at.get("plotly_chart") if chart.proto.id.endswith(f"-{key}"))
    values: Any = json.loads(chart.proto.spec)["data"][trace][name]
    if not isinstance(values, dict):
        return np.array(values, float)
    flat = np.frombuffer(base64.b64decode(values["bdata"]), dtype=np.dtype(values["dtype"]))
    return flat.reshape([int(size) for size in str(values["shape"]).split(",")]) if "shape" in values else flat

"""Two heads on the units of one text: A, B and B − A as maps that are lit and moved together, and the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from tfmviz.components.bundle import script, styles
from tfmviz.components.colours import palettes
from tfmviz.components.payload import pack
from tfmviz.errors import ConfigError

if TYPE_CHECKING:
    from tfmviz.analysis.difference import Difference

MAX_HEIGHT = 660  # CSS pixels of one map
# A difference smaller than this anywhere has no colours of its own: rounding would look like a finding.
LEAST_REACH = 1e-6

_head_pair = st.components.v2.component(
    "tfmviz.head_pair", js=script("head_pair.js"), css=styles("base.css", "token_map.css", "head_pair.css")
)


def head_pair(
    found: Difference,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    titles: tuple[str, str, str],
    said: Sequence[tuple[str, str]] = (),
    key: str = "head_pair",
) -> None:
    """Show two heads beside each other, what differs, and under each unit of the text how far its two rows are apart.

    What is pointed at in one picture, a cell or a name, is lit in all of them, with its three numbers; a click keeps
    it, Escape lets it go. The maps zoom and move together, by the wheel, a dragged box, two fingers, keys or buttons.
    Everything happens in the browser: nothing is sent, and no page is drawn again.

    Args:
        found: both heads on the same units, [rows, columns].
        rows, columns: a name for each, as plain text.
        titles: plain text above A, above B and above B − A.
        said: paragraphs beside the maps, each what it begins with and the rest; plain text.
        key: the widget key.

    Raises:
        ConfigError: if the shapes do not agree.
    """
    _head_pair(key=key, data=message(found, rows, columns, titles=titles, said=said, key=key))


def message(
    found: Difference,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    titles: tuple[str, str, str],
    said: Sequence[tuple[str, str]] = (),
    key: str = "head_pair",
) -> bytes:
    """What the browser is sent for :func:`head_pair`, which has the same arguments.

    The colours of B − A reach to its own largest value on both sides.

    Raises:
        ConfigError: if the shapes do not agree.
    """
    expected = (len(rows), len(columns))
    if found.signed.shape != expected or len(found.distance) != len(rows):
        raise ConfigError(
            f"the heads have shape {found.signed.shape} with {len(found.distance)} distances, {expected} expected: "
            "one row and one distance a unit"
        )
    header = {
        "key": key,
        "rows": len(rows),
        "cols": len(columns),
        "query": list(rows),
        "keys": list(columns),
        "titles": list(titles),
        "said": [list(paragraph) for paragraph in said],
        "reach": max(float(np.abs(found.signed).max(initial=0)), LEAST_REACH),
        "colours": palettes(),
        "max_height": MAX_HEIGHT,
    }
    arrays = {name: getattr(found, name).astype(np.float32) for name in ("a", "b", "signed", "distance")}
    return pack(header, **arrays)

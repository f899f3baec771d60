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
    from tfmviz.analysis.unit_window import UnitWindow

MAX_HEIGHT = 660  # CSS pixels of one map
# A difference smaller than this anywhere has no colours of its own: rounding would look like a finding.
LEAST_REACH = 1e-6

_head_pair = st.components.v2.component(
    "tfmviz.head_pair", js=script("head_pair.js"), css=styles("base.css", "token_map.css", "head_pair.css")
)


def head_pair(
    shown: UnitWindow,
    units: Sequence[str],
    *,
    titles: tuple[str, str, str],
    said: Sequence[tuple[str, str]] = (),
    key: str = "head_pair",
) -> None:
    """Show two heads beside each other, what differs, and under each unit of the text how far its two rows are apart.

    What is pointed at in one picture, a cell or a name, is lit in all of them, with its three numbers; a click keeps
    it, Escape lets it go. The maps zoom and move together: by buttons, a dragged box, two fingers, keys, and by the
    wheel of who clicked on one. Everything happens in the browser: nothing is sent, and no page is drawn again.

    Args:
        shown: both heads on the same units.
        units: a name for each, as plain text.
        titles: plain text above A, above B and above B − A.
        said: paragraphs beside the maps, each what it begins with and the rest; plain text.
        key: the widget key.

    Raises:
        ConfigError: if there is not one name a unit.
    """
    _head_pair(key=key, data=message(shown, units, titles=titles, said=said, key=key))


def message(
    shown: UnitWindow,
    units: Sequence[str],
    *,
    titles: tuple[str, str, str],
    said: Sequence[tuple[str, str]] = (),
    key: str = "head_pair",
) -> bytes:
    """What the browser is sent for :func:`head_pair`, which has the same arguments.

    The colours of B − A reach to its own largest value on both sides.

    Raises:
        ConfigError: if there is not one name a unit.
    """
    if len(units) != len(shown.units):
        raise ConfigError(f"There are {len(units)} names for {len(shown.units)} units. Give one name a unit.")
    found = shown.found
    header = {
        "key": key,
        "rows": len(units),
        "cols": len(units) + len(shown.apart),
        "query": list(units),
        "keys": [*units, *shown.apart],
        "first": shown.rows.start,
        "titles": list(titles),
        "said": [list(paragraph) for paragraph in said],
        "reach": max(float(np.abs(found.signed).max(initial=0)), LEAST_REACH),
        "colours": palettes(),
        "max_height": MAX_HEIGHT,
    }
    arrays = {name: getattr(found, name).astype(np.float32) for name in ("a", "b", "signed", "distance")}
    may_look = {f"open_{name}": look.astype(np.uint8) for name, look in zip("ab", shown.may_look, strict=True)}
    return pack(header, **arrays, **may_look)

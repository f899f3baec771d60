"""What the Compare page says of two heads: who looks more, at what, and nothing that is not so."""

from __future__ import annotations

import numpy as np

from tfmviz.analysis.alignment import align
from tfmviz.analysis.difference import difference
from tfmviz.analysis.unit_window import UnitWindow, unit_window, window_rows
from tfmviz.text import Token
from tfmviz.ui.compare_words import seen

HEADS = ((1, 2), (3, 4))


def shown(a: np.ndarray, b: np.ndarray, *, first: int = 0, most: int = 96) -> tuple[UnitWindow, list[str]]:
    """Two heads on "a", "<b>", "a", and what the units are called."""
    text = "a <b> a"
    places = (("a", 0), ("<b>", 2), ("a", 6))
    tokens = [Token(id=0, text=word, start=start, end=start + len(word)) for word, start in places]
    alignment = align(text, tokens, tokens)
    rows = window_rows(alignment, first, most)
    anywhere = np.ones((len(rows), 5), bool)
    window = unit_window(alignment, rows, difference(a, b), (anywhere, anywhere))
    return window, [unit.text.strip() for unit in window.units]


def weights(*rows: tuple[float, float, float]) -> np.ndarray:
    """Three units across, then the two columns that stand apart."""
    return np.pad(np.array(rows), ((0, 0), (0, 2)))


def test_the_unit_that_is_read_most_differently_is_named_with_who_looks_more_and_where() -> None:
    a = weights((1, 0, 0), (0.4, 0.6, 0), (0.5, 0.5, 0))
    b = weights((1, 0, 0), (0.1, 0.15, 0.75), (0.5, 0.5, 0))
    (lead, said), (_, tip) = seen(*shown(a, b), HEADS)
    assert lead == "What you see"
    assert said.startswith("A L1 H2 and B L3 H4: rows are ")
    assert "“<b>” is read most differently" in said
    assert said.endswith("B looks 0.75 more at “a” (2).")  # there are two of it
    assert len(said.split()) <= 60
    assert tip


def test_the_other_way_round_it_is_a_that_looks_more() -> None:
    a = weights((1, 0, 0), (0, 0.2, 0.8), (0, 0, 1))
    b = weights((1, 0, 0), (0.5, 0.3, 0.2), (0, 0, 1))
    assert seen(*shown(a, b), HEADS)[0][1].endswith("A looks 0.60 more at “a” (2).")


def test_heads_that_look_alike_are_said_to() -> None:
    a = weights((1, 0, 0), (0, 1, 0), (0, 0, 1))
    assert "look at the same things" in seen(*shown(a, a), HEADS)[0][1]


def test_of_a_part_of_a_text_only_what_the_maps_show_is_said() -> None:
    a = weights((1, 0, 0), (0, 1, 0), (0, 0, 1))
    b = weights((0, 0, 1), (0.3, 0.7, 0), (0, 0.1, 0.9))
    said = seen(*shown(a, b, first=1, most=2), HEADS)[0][1]
    assert "rows in units 1 to 2 are" in said
    assert "“<b>” is read most differently" in said

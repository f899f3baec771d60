"""What the Compare page says of two heads: who looks more, at what, and nothing that is not so."""

from __future__ import annotations

import numpy as np

from tfmviz.analysis.alignment import align
from tfmviz.analysis.difference import difference
from tfmviz.text import Token
from tfmviz.ui.compare_words import seen

TEXT = "a <b> c"
TOKENS = tuple(
    Token(id=at, text=text, start=start, end=start + len(text))
    for at, (text, start) in enumerate((("a", 0), ("<b>", 2), ("c", 6)))
)
ALIGNED = align(TEXT, TOKENS, TOKENS)
HEADS = ((1, 2), (3, 4))


def weights(*rows: tuple[float, float, float]) -> np.ndarray:
    """Three units across, then the two columns that stand apart."""
    return np.pad(np.array(rows), ((0, 0), (0, 2)))


def test_the_unit_that_is_read_most_differently_is_named_with_who_looks_more_and_where() -> None:
    a = weights((1, 0, 0), (0.4, 0.6, 0), (0.5, 0.5, 0))
    b = weights((1, 0, 0), (0.1, 0.15, 0.75), (0.5, 0.5, 0))
    (lead, said), (_, tip) = seen(difference(a, b), ALIGNED, HEADS)
    assert lead == "What you see"
    assert said.startswith("A L1 H2 and B L3 H4: rows are ")
    assert "“<b>” is read most differently" in said
    assert said.endswith("B looks 0.75 more at “c”.")
    assert len(said.split()) <= 60
    assert tip


def test_the_other_way_round_it_is_a_that_looks_more() -> None:
    a = weights((1, 0, 0), (0, 0.2, 0.8), (0, 0, 1))
    b = weights((1, 0, 0), (0.5, 0.3, 0.2), (0, 0, 1))
    assert seen(difference(a, b), ALIGNED, HEADS)[0][1].endswith("A looks 0.60 more at “c”.")


def test_heads_that_look_alike_are_said_to() -> None:
    a = weights((1, 0, 0), (0, 1, 0), (0, 0, 1))
    assert "look at the same things" in seen(difference(a, a), ALIGNED, HEADS)[0][1]

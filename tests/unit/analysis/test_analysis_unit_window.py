"""A part of a long text: rows sum to 1 still, and what is masked is known from the tokens' own masks."""

from __future__ import annotations

import numpy as np
import pytest

from tfmviz.analysis.alignment import align, unit_visible, unit_weights
from tfmviz.analysis.difference import difference
from tfmviz.analysis.unit_window import UnitWindow, unit_window, window_rows
from tfmviz.models import Model

TEXT = "The unbelievable antidisestablishmentarianism of it all, and then some more words to fill the rest."
HEADS = ((1, 3), (7, 2))


def window(minilm: Model, smollm2: Model, first: int, most: int) -> UnitWindow:
    stacks = [model.trace(TEXT)["self"] for model in (minilm, smollm2)]
    alignment = align(TEXT, *(stack.query_tokens for stack in stacks))
    rows = window_rows(alignment, first, most)
    sides = [(stack, unit_of, *head) for stack, unit_of, head in zip(stacks, alignment.unit_of, HEADS, strict=True)]
    a, b = (unit_weights(*side) for side in sides)
    may_a, may_b = (unit_visible(*side, rows=rows) for side in sides)
    return unit_window(alignment, rows, difference(a, b), (may_a, may_b))


@pytest.mark.parametrize(("first", "most"), [(0, 96), (0, 4), (5, 6), (9, 1)])
def test_rows_sum_to_1_with_what_lies_elsewhere(minilm: Model, smollm2: Model, first: int, most: int) -> None:
    shown = window(minilm, smollm2, first, most)
    for weights in (shown.found.a, shown.found.b):
        assert np.abs(weights.sum(axis=1) - 1).max() < 1e-5
    assert ("elsewhere" in shown.apart) == (not shown.is_whole)
    assert shown.found.a.shape == (len(shown.units), len(shown.units) + len(shown.apart))
    assert [look.shape for look in shown.may_look] == [shown.found.a.shape] * 2


def test_what_lies_elsewhere_is_what_the_whole_has_there(minilm: Model, smollm2: Model) -> None:
    whole, part = window(minilm, smollm2, 0, 96), window(minilm, smollm2, 4, 3)
    outside = [at for at in range(len(whole.units)) if at not in range(4, 7)]
    assert part.found.b[:, 3] == pytest.approx(whole.found.b[4:7][:, outside].sum(axis=1), abs=1e-6)


def test_a_causal_model_may_not_look_ahead_and_an_encoder_may(minilm: Model, smollm2: Model) -> None:
    shown = window(minilm, smollm2, 0, 96)
    n_units = len(shown.units)
    encoder, decoder = shown.may_look
    assert encoder[:, :n_units].all()
    assert np.array_equal(decoder[:, :n_units], np.tril(np.ones((n_units, n_units), bool)))
    assert not shown.found.b[:, :n_units][~decoder[:, :n_units]].any()

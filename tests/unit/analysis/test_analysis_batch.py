"""Many texts: means and spreads are those of the single texts, and one bad text spoils no other."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from tfmviz.analysis import batch
from tfmviz.analysis.alignment import align, unit_weights
from tfmviz.analysis.batch import Measured, Reader, as_csv, measure, summaries, with_cosines
from tfmviz.analysis.difference import jensen_shannon
from tfmviz.analysis.outputs import cosines, log_probabilities, relative_entropy
from tfmviz.models import ScratchModel
from tfmviz.models.scratch_load import byte_model
from tfmviz.nn import TransformerConfig, build
from tfmviz.trace import Trace

TEXTS = ("ab ab", "one two three", "zz top 9")
HEAD = (1, 2)


def small(seed: int, **changes: Any) -> ScratchModel:
    fields: dict[str, Any] = {"architecture": "decoder", "vocab_size": 259, "d_model": 32, "n_heads": 4, "n_layers": 2}
    return byte_model(build(TransformerConfig(**(fields | changes)), seed=seed), name=f"small-{seed}")


def reader(model: ScratchModel, **changes: Any) -> Reader:
    return Reader(read=lambda text: model.trace(text, hidden_states=True), head=HEAD, **changes)


A, B = small(1), small(2)


def test_each_number_of_a_text_is_that_of_the_single_comparison() -> None:
    found = measure(TEXTS, reader(A), reader(B), one_vocabulary=True)
    for text, one in zip(TEXTS, found, strict=True):
        a, b = A.trace(text), B.trace(text)
        units = align(text, a.tokens, b.tokens)
        rows = [unit_weights(trace["self"], units.unit_of[at], *HEAD) for at, trace in enumerate((a, b))]
        assert one.values[batch.ROWS_APART] == pytest.approx(float(jensen_shannon(*rows).mean()))
        assert one.values[f"A {batch.TOKENS}"] == len(text) + 1
        assert one.values[batch.ENTROPIES[0]] == pytest.approx(
            relative_entropy(log_probabilities(a), log_probabilities(b))
        )


def test_the_cosine_with_the_others_is_the_mean_of_the_row_without_itself() -> None:
    refused = Measured(text="d", fault="Too long.")
    found = with_cosines((refused, *measure(TEXTS, reader(A), reader(B))))
    assert found[0] == refused
    states = [A.trace(text, hidden_states=True).hidden_states for text in TEXTS]
    table = cosines(np.stack([state[-1].mean(0).numpy() for state in states if state]))
    for at, one in enumerate(found[1:]):
        expected = (table[at].sum() - 1) / 2
        assert one.values[f"A {batch.COSINE}"] == pytest.approx(expected, abs=1e-5)


def test_a_model_with_itself_is_at_0_on_every_text() -> None:
    for one in measure(TEXTS, reader(A), reader(A), one_vocabulary=True):
        assert [one.values[name] for name in batch.DISTANCES] == [0, 0, 0, 0]


def test_a_silenced_head_is_as_far_as_can_be() -> None:
    for one in measure(TEXTS, reader(A), reader(A, silenced=[HEAD])):
        assert one.values[batch.HEADS_APART] == pytest.approx(1)
        assert one.values[f"B {batch.ENTROPY}"] == 0


def test_mean_and_spread_are_over_the_texts_that_have_the_number() -> None:
    found = (Measured(text="a", values={batch.HEADS_APART: 0.2}), Measured(text="b", values={batch.HEADS_APART: 0.6}))
    (one,) = summaries((*found, Measured(text="c", fault="No.")))
    assert (one.n, one.mean, one.spread) == (2, pytest.approx(0.4), pytest.approx(np.sqrt(2) * 0.2))
    assert np.isnan(summaries(found[:1])[0].spread)


def test_a_text_that_one_of_them_refuses_is_said_and_the_others_go_on() -> None:
    short = small(3, max_positions=8, position="learned")
    found = tuple(measure(("ab", "much too long for it", "cd"), reader(A), reader(short)))
    assert [bool(one.values) for one in found] == [True, False, True]
    assert "20" not in found[0].fault
    assert "tokens" in found[1].fault
    assert summaries(found)[0].n == 2


def test_no_text_is_read_before_it_is_asked_for() -> None:
    read: list[str] = []

    def noted(text: str) -> Trace:
        read.append(text)
        return A.trace(text, hidden_states=True)

    points = measure(TEXTS, Reader(read=noted, head=HEAD), reader(B))
    assert [next(points).text, next(points).text] == list(TEXTS[:2])
    assert read == list(TEXTS[:2])


def test_the_csv_has_a_line_a_text_with_its_numbers() -> None:
    found = (*measure(('a, "b"', "c d"), reader(A), reader(B)), Measured(text="e", fault="Too long."))
    rows = list(csv.DictReader(io.StringIO(as_csv(found))))
    assert [row["text"] for row in rows] == ['a, "b"', "c d", "e"]
    assert float(rows[1][batch.ROWS_APART]) == found[1].values[batch.ROWS_APART]
    assert rows[2]["problem"] == "Too long."
    assert rows[2][batch.ROWS_APART] == ""

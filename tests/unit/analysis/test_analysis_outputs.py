"""What comes next and how alike sentences are: against the formulas, and against PyTorch's own functions."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np
import pytest
import torch
from torch.nn import functional

from tfmviz.analysis.outputs import (
    cosines,
    log_probabilities,
    next_pieces,
    pooled,
    relative_entropy,
    similarities,
    spellings,
)
from tfmviz.errors import ConfigError, UnsupportedModel
from tfmviz.models import Model
from tfmviz.text import Token
from tfmviz.trace import MemoryUse, Trace

NAMES = ("a", "b", "c", "d")
P, Q = np.array([0.5, 0.25, 0.125, 0.125]), np.array([0.25, 0.25, 0.25, 0.25])


def test_relative_entropies_are_the_formulas() -> None:
    found = next_pieces(np.log(P), np.log(Q), NAMES, NAMES)
    assert found.a_from_b == pytest.approx(0.5 * math.log2(2) + 2 * 0.125 * math.log2(0.5))
    assert found.b_from_a == pytest.approx(0.25 * math.log2(0.5) + 2 * 0.25 * math.log2(2))
    assert (found.entropy_a, found.entropy_b) == (pytest.approx(1.75), pytest.approx(2))


def test_the_likeliest_pieces_of_either_come_first() -> None:
    found = next_pieces(np.log(P), np.log(Q[[3, 2, 1, 0]]), NAMES, NAMES, k=2)
    assert found.pieces == ("a", "b")
    assert found.a.tolist() == [0.5, 0.25]


def test_a_model_with_itself_is_at_0() -> None:
    found = next_pieces(np.log(P), np.log(P), NAMES, NAMES)
    assert (found.a_from_b, found.b_from_a, found.distance) == (0, 0, 0)


def test_a_piece_without_probability_adds_nothing() -> None:
    log_p = np.array([0.0, -np.inf])
    assert relative_entropy(log_p, np.log([0.25, 0.75])) == pytest.approx(2)


def test_with_two_vocabularies_pieces_meet_by_their_spelling_and_there_is_no_entropy() -> None:
    found = next_pieces(np.log(P), np.log([0.6, 0.1, 0.3]), NAMES, ("b", "xy", "b"), k=2)
    assert (found.a_from_b, found.b_from_a, found.distance) == (None, None, None)
    row = dict(zip(found.pieces, zip(found.a, found.b, strict=True), strict=True))
    assert row["b"] == (pytest.approx(0.25), pytest.approx(0.9))
    assert np.isnan(row["a"][1])
    assert np.isnan(row["xy"][0])


def test_probabilities_are_those_of_the_trace(smollm2: Model) -> None:
    trace = smollm2.trace("The capital of France is")
    found = np.exp(log_probabilities(trace))
    logits = trace.predictions.logits[-1].numpy().astype(float)  # type: ignore[union-attr]
    assert np.abs(found - np.exp(logits) / np.exp(logits).sum()).max() < 1e-12
    names = spellings(trace)
    assert len(names) == len(found)
    assert [names[at] for at in np.argsort(-found)[:5]] == [name for name, _ in trace.next_token(5)]


def test_an_encoder_says_nothing_of_what_comes_next(minilm: Model) -> None:
    with pytest.raises(UnsupportedModel, match="no decoder"):
        log_probabilities(minilm.trace("A cat."))


def planted(hidden: np.ndarray, kinds: str, kind: str = "encoder") -> Trace:
    """A pass whose tokens are special (s), typed (t) or padding (p)."""
    tokens = tuple(Token(id=0, text="", start=0, end=0, is_special=one == "s", is_padding=one == "p") for one in kinds)
    return Trace(
        text="",
        model="planted",
        kind=kind,
        tokens=tokens,
        stacks=MappingProxyType({}),
        memory=MemoryUse.of([]),
        hidden_states=(torch.from_numpy(hidden),),
    )


def test_pooling_leaves_padding_out() -> None:
    hidden = np.array([[1.0, 0], [3, -4], [100, 100]], np.float32)
    found = pooled(planted(hidden, "stp"))
    assert {name: vector.tolist() for name, vector in found.items()} == {"mean": [2, -2], "CLS": [1, 0], "max": [3, 0]}


def test_there_is_no_cls_where_no_special_token_stands_in_front() -> None:
    hidden = np.ones((2, 2), np.float32)
    assert set(pooled(planted(hidden, "tt"))) == {"mean", "max"}
    assert set(pooled(planted(hidden, "st", kind="decoder"))) == {"mean", "max"}


def test_cosines_are_those_of_pytorch() -> None:
    rows = np.random.default_rng(0).normal(size=(4, 7))
    table = torch.from_numpy(rows)
    expected = functional.cosine_similarity(table[:, None], table[None], dim=-1).numpy()
    assert np.abs(cosines(rows) - expected).max() < 1e-12


def test_a_paraphrase_is_more_alike_than_another_matter(minilm: Model) -> None:
    sentences = ("A cat sleeps on the sofa.", "The kitten naps on the couch.", "Taxes are due in April.")
    found = similarities(lambda text: minilm.trace(text, hidden_states=True), sentences)
    assert set(found) == {"mean", "CLS", "max"}
    assert found["mean"][0, 1] > 0.4 > found["mean"][0, 2]
    states = [minilm.trace(one, hidden_states=True).hidden_states for one in sentences[:2]]
    by_hand = functional.cosine_similarity(*(state[-1].mean(0) for state in states if state), dim=0)
    assert found["mean"][0, 1] == pytest.approx(float(by_hand), abs=1e-6)


def test_one_sentence_is_alike_to_nothing(minilm: Model) -> None:
    with pytest.raises(ConfigError, match="takes two"):
        similarities(minilm.trace, ("One.",))

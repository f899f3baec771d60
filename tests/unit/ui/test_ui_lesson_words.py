"""Sentences of Inside, Masks and Positions at their edges: one of a thing, none of it, and rules in words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tfmviz.analysis.head_view import HeadView
from tfmviz.analysis.masks import Leakage, PaddingEffect
from tfmviz.text import Token
from tfmviz.ui import inside_closer, masks_words, positions_words


def tokens(*texts: str) -> tuple[Token, ...]:
    return tuple(Token(id=i, text=text, start=i, end=i + 1) for i, text in enumerate(texts))


def leak(at: int, before: float) -> Leakage:
    movement = torch.zeros(2, 3)
    movement[:, :at] = before
    movement[:, at] = 1.0
    return Leakage(tokens=tokens("a", "b", "c"), changed=tokens("a", "b", "c"), at=at, movement=movement)


@pytest.mark.parametrize(
    ("at", "before", "said", "short"),
    [
        (0, 0.0, "there is no token before the changed one", "no token stands before the change"),
        (1, 0.0, "mask the token before it did not change, in any layer", "the token before the change did not move"),
        (1, 0.5, "mask the token before it changed, by up to 0.5 of its length", "the token before the change moved"),
        (2, 0.0, "none of the 2 tokens before it changed", "0 of 2 tokens before the change moved"),
        (2, 0.5, "2 of the 2 tokens before it changed, by up to 0.5 of their", "2 of 2 tokens before the change moved"),
    ],
)
def test_one_token_before_the_change_is_one(at: int, before: float, said: str, short: str) -> None:
    assert said in masks_words.leakage({"causal": leak(at, before)})
    assert masks_words.moved(leak(at, before)) == short


def test_one_padding_token_is_one() -> None:
    one = torch.ones(1)
    effect = PaddingEffect(
        tokens=tokens("a"), n_padding=1, side="left", leak=0 * one, leak_open=one / 4, cosine=one, cosine_open=one
    )
    said = masks_words.padding(effect)
    assert "1 padding token on the left. Hidden, it draws 0 %" in said
    assert "Not hidden, it draws 25 %" in said


def test_one_row_is_no_count_of_rows() -> None:
    row, seen = np.array([[0.9, 0.1]]), np.ones((1, 2), dtype=bool)
    assert inside_closer.agreement(row, row, seen) == "The key of the largest weight is the one that brings most."
    assert "is not the one that brings most" in inside_closer.agreement(row, row[:, ::-1], seen)
    assert inside_closer.agreement(np.eye(2), np.eye(2), np.ones((2, 2), dtype=bool)).startswith("In 2 of 2 rows")


def test_a_radian_is_one() -> None:
    from tfmviz.analysis import positions

    assert "Pair 0 turns by 1 radian a position" in positions_words.rotary(positions.turns(64), 4)


def view(weights: list[list[float]]) -> HeadView:
    return HeadView(
        weights=np.array(weights, np.float32),
        visible=None,
        query_tokens=tokens("a", "b"),
        key_tokens=tokens("x", "y"),
        part_share=1.0,
        special_share=0.0,
        sink_share=0.0,
    )


def test_the_closer_look_names_who_feels_the_mask_most_and_where_it_looked_before() -> None:
    own = view([[0.5, 0.5], [0.2, 0.8]])
    said = masks_words.closely("causal", view([[0.4, 0.6], [0.9, 0.1]]), own, 4, 3)
    assert "“b” feels it most: 70\u00a0% of its attention" in said.replace(" %", "\u00a0%")
    assert "Most of that was on “y”" in said
    assert "no token's attention" in masks_words.closely("causal", own, own, 4, 3)


@pytest.mark.parametrize(
    ("pattern", "window", "prefix", "said"),
    [
        ("sliding", 1, 0, "A token sees itself alone."),
        ("sliding", 2, 0, "A token sees itself and 1 token before it."),
        ("sliding", 4, 0, "A token sees itself and 3 tokens before it."),
        ("prefix", 1, 0, "A prefix of no tokens"),
        ("prefix", 1, 1, "The first token is seen by all"),
        ("prefix", 1, 3, "The first 3 tokens are seen by all"),
    ],
)
def test_a_rule_counts_what_it_allows(pattern: str, window: int, prefix: int, said: str) -> None:
    own = view([[0.5, 0.5], [0.2, 0.8]])
    assert said in masks_words.closely(pattern, own, own, window, prefix)

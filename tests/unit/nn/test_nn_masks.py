"""Masks as rules: each block is the matching part of the matrix one would write down by hand."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from nn_cases import masks

from tfmviz.errors import UnknownMask
from tfmviz.nn import Bidirectional, Causal, Document, Mask, Padding, Prefix, SlidingWindow, parse

ALL = torch.arange(5)


def drawn(rule: Mask, n: int = 5) -> list[str]:
    """The mask as rows of x (seen) and . (hidden)."""
    block = rule.block(torch.arange(n), torch.arange(n))
    return ["".join("x" if cell else "." for cell in row) for row in block.reshape(n, n).tolist()]


def test_patterns_are_those_of_the_papers() -> None:
    assert drawn(Bidirectional()) == ["xxxxx"] * 5
    assert drawn(Causal()) == ["x....", "xx...", "xxx..", "xxxx.", "xxxxx"]
    assert drawn(SlidingWindow(2)) == ["x....", "xx...", ".xx..", "..xx.", "...xx"]
    assert drawn(Prefix(3)) == ["xxx..", "xxx..", "xxx..", "xxxx.", "xxxxx"]
    assert drawn(Padding(torch.tensor([True, True, False, True, False]))) == ["xx.x."] * 5
    assert drawn(Document(torch.tensor([0, 0, 1, 1, 1]))) == ["xx...", "xx...", "..xxx", "..xxx", "..xxx"]


def test_and_shows_what_both_rules_show() -> None:
    rule = Causal() & Document(torch.tensor([0, 0, 1, 1, 1]))
    assert drawn(rule) == ["x....", "xx...", "..x..", "..xx.", "..xxx"]


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_any_block_is_a_part_of_the_whole(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    rule = data.draw(masks(2, n))
    rows, cols = (torch.tensor(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=6))) for _ in range(2))
    whole = rule.block(torch.arange(n), torch.arange(n))
    assert torch.equal(rule.block(rows, cols), whole[..., rows, :][..., cols])


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_reach_tells_the_truth(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    first = data.draw(st.integers(0, n - 1))
    n_queries = data.draw(st.integers(1, n - first))
    rule = data.draw(masks(1, n))
    block = rule.block(torch.arange(first, first + n_queries), torch.arange(n)).reshape(n_queries, n)
    reach = rule.reach(n_queries, n, first)
    if reach == "all":
        assert block.all()
    if reach == "causal":
        assert first == 0
        assert torch.equal(block, torch.ones(n_queries, n).tril().bool())


def test_padding_of_a_batch_stands_beside_heads() -> None:
    keys = torch.tensor([[True, False], [True, True]])
    assert (Causal() & Padding(keys)).block(torch.arange(2), torch.arange(2)).shape == (2, 1, 2, 2)


def test_rules_cost_nothing_until_asked() -> None:
    rule = parse("causal & sliding:1000")
    far = torch.tensor([10**12])
    assert rule.block(far, torch.tensor([10**12 - 999, 10**12 - 1000, 10**12 + 1])).tolist() == [[True, False, False]]


@pytest.mark.parametrize("rule", ["causal", "bidirectional", "sliding:8", "prefix:4", "causal & sliding:4"])
def test_words_come_back_as_they_were_said(rule: str) -> None:
    assert str(parse(rule)) == rule


@pytest.mark.parametrize(
    "rule", ["", "banded", "sliding", "sliding:", "sliding:-3", "sliding:0", "sliding:²", "causal:2"]
)
def test_unknown_rule_is_named_with_those_that_exist(rule: str) -> None:
    with pytest.raises(UnknownMask) as error:
        parse(rule)
    assert rule in str(error.value)

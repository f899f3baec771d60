"""Easier and harder forms of induction: what each option changes in the texts, and when the easier form is trained."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tfmviz.errors import ConfigError
from tfmviz.text.byte_vocabulary import START
from tfmviz.training import Batch, Induction, Loop, Settings, make_task
from tfmviz.training.task import IGNORED

EASY = Induction(alphabet="letters", shortest=3, longest=5, length=24)
HARD = Induction(alphabet="printable", shortest=8, longest=10, length=40)


def texts(batch: Batch) -> list[bytes]:
    """The bytes that a decoder reads behind its start sign."""
    assert (batch.tokens[:, 0] == START).all()
    return [bytes(row) for row in batch.tokens[:, 1:].tolist()]


def period_of(text: bytes) -> int:
    """The shortest distance at which a text repeats itself to its end."""
    return next(p for p in range(1, len(text)) if text[p:] == text[:-p])


@pytest.mark.parametrize("distinct", [True, False])
def test_distinct_blocks_have_no_character_twice_and_others_do(distinct: bool) -> None:
    task = Induction(alphabet="letters", shortest=10, longest=20, length=64, distinct=distinct)
    blocks = [text[: period_of(text)] for text in texts(task.sample(200, np.random.default_rng(0)))]
    assert {len(block) for block in blocks} >= {10, 15, 20}
    repeated = sum(len(set(block)) < len(block) for block in blocks)
    assert repeated == 0 if distinct else repeated > 150


def test_longer_lengths_come_as_often_as_the_first_with_as_many_tokens_a_batch() -> None:
    task = Induction(length=64, longer=(128, 320))
    shapes = [tuple(task.sample(20, np.random.default_rng(seed)).tokens.shape) for seed in range(300)]
    assert set(shapes) == {(20, 64), (10, 128), (4, 320)}
    assert min(shapes.count(shape) for shape in set(shapes)) > 70  # 100 each, give or take


def test_every_length_has_room_for_three_copies_of_its_longest_block() -> None:
    task = Induction(alphabet="printable", shortest=5, longest=40, length=64, longer=(120,), lead=4)
    longest = {64: 0, 120: 0}
    for seed in range(60):
        batch = task.sample(16, np.random.default_rng(seed))
        first = (batch.labels != IGNORED).int().argmax(1)  # one token into the second copy, behind the lead
        longest[batch.tokens.shape[1]] = max(longest[batch.tokens.shape[1]], int(first.max()) - 1)
    assert longest[64] <= (64 - 4) // 3 + 4
    assert (64 - 4) // 3 < longest[120] <= (120 - 4) // 3 + 4


def test_half_of_the_texts_have_a_lead_of_at_most_that_many_tokens() -> None:
    task = Induction(alphabet="letters", shortest=5, longest=5, length=40, lead=8)
    batch = task.sample(2000, np.random.default_rng(4))
    leads = (batch.labels != IGNORED).int().argmax(1) - 6
    assert set(leads.tolist()) == set(range(9))
    # every second text has one of 0 to 8 tokens, each length as often as another
    assert float((leads > 0).float().mean()) == pytest.approx(0.5 * 8 / 9, abs=0.04)


def test_slips_are_as_frequent_as_asked_and_no_label_is_a_slip() -> None:
    task = Induction(alphabet="printable", shortest=10, longest=10, length=80, slip=0.05)
    slips = counted = 0
    for tokens, labels in zip(*_rows(task.sample(400, np.random.default_rng(2))), strict=True):
        for i in range(11, 79):
            slipped = tokens[i + 1] != tokens[i - 9]
            slips, counted = slips + slipped, counted + 1
            assert labels[i] == IGNORED if slipped else labels[i] in (IGNORED, tokens[i - 9])
    assert slips / counted == pytest.approx(0.05, abs=0.005)


def _rows(batch: Batch) -> tuple[list[list[int]], list[list[int]]]:
    return batch.tokens.tolist(), batch.labels.tolist()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"alphabet": "letters", "distinct": True, "longest": 27}, "longest=27"),
        ({"distinct": True}, "alphabet"),
        ({"length": 17, "lead": 8}, "length=17"),
        ({"shortest": 1}, "shortest=1"),
        ({"shortest": 9, "longest": 8}, "longest=8"),
    ],
)
def test_a_form_that_has_no_texts_is_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        Induction(**options)


@pytest.fixture
def two_forms(tiny: Settings) -> Settings:
    return replace(tiny, task=HARD, first_task=EASY, first_steps=3)


def test_the_first_steps_train_the_first_form_and_the_rest_the_task(two_forms: Settings) -> None:
    assert [two_forms.task_at(step) for step in range(5)] == [EASY, EASY, EASY, HARD, HARD]
    loop = Loop(two_forms)
    for step in range(5):
        form = EASY if step < 3 else HARD
        expected = _loss(loop, form.sample(two_forms.batch_size, np.random.default_rng([two_forms.seed, 0, step])))
        assert loop.advance().loss == pytest.approx(expected, rel=1e-5)


def _loss(loop: Loop, batch: Batch) -> float:
    """The mean of -log p of each label, term by term."""
    with torch.no_grad():
        logits = loop.model(batch.tokens).double()
    terms = [
        math.log(logits[b, i].exp().sum().item()) - logits[b, i, label].item()
        for b, row in enumerate(batch.labels.tolist())
        for i, label in enumerate(row)
        if label != IGNORED
    ]
    return sum(terms) / len(terms)


def test_a_loop_goes_on_across_the_change_of_form_to_the_last_bit(two_forms: Settings) -> None:
    straight = list(Loop(two_forms).steps())
    first = Loop(two_forms)
    for _ in range(2):
        first.advance()
    second = Loop(two_forms)
    second.restore(first.state())
    assert list(second.steps()) == straight[2:]


def test_without_a_first_form_its_steps_mean_nothing(tiny: Settings) -> None:
    assert replace(tiny, first_steps=5).task_at(0) == tiny.task


def test_a_card_says_both_forms_and_they_are_made_again_from_it(two_forms: Settings) -> None:
    values = json.loads(json.dumps(two_forms.to_dict()))
    made = {}
    for field in ("task", "first_task"):
        options = values[field]
        made[field] = make_task(options.pop("name"), options)
    assert made == {"task": HARD, "first_task": EASY}
    assert values["first_steps"] == 3


@pytest.mark.parametrize("lengths", [(), (128, 320)])
def test_lengths_read_from_json_are_those_that_were_written(lengths: tuple[int, ...]) -> None:
    task = Induction(longer=lengths)
    assert make_task("induction", json.loads(json.dumps(task.options()))) == task

"""The tasks: what may be known is labelled and nothing else; held-out means held out; dates mean one day."""

from __future__ import annotations

import re
from datetime import date

import numpy as np
import pytest
import torch
from dateutil import parser

from tfmviz.errors import ConfigError
from tfmviz.text.byte_vocabulary import END, PADDING, START
from tfmviz.training import TASKS, Copy, Dates, Induction, Settings, Sort, make_task
from tfmviz.training.task import IGNORED
from tfmviz.training.tasks.dates import FORMS, is_held_out, written
from tfmviz.training.tasks.induction import repeats


def test_every_label_of_a_repeat_is_the_byte_one_period_before() -> None:
    rng = np.random.default_rng(0)
    blocks = [bytes(rng.permutation(256)[:period].tolist()) for period in range(5, 41)]
    batch = repeats(blocks, 100, rng, slip=0.0, lead=np.zeros(len(blocks), int))
    for row, block in enumerate(blocks):
        text = (block * 20)[:100]
        assert batch.tokens[row].tolist() == [START, *text[:-1]]
        # labels[i] is text[i]; the first that can be known is the second byte of the second copy
        expected = [IGNORED] * (len(block) + 1) + list(text[len(block) + 1 :])
        assert batch.labels[row].tolist() == expected


def test_a_slip_is_never_asked_for_and_later_copies_repeat_it() -> None:
    rng = np.random.default_rng(1)
    block = b"abcdefghij"
    batch = repeats([block] * 50, 80, rng, slip=0.05, lead=np.zeros(50, int))
    n_slips = 0
    for tokens, labels in zip(batch.tokens.tolist(), batch.labels.tolist(), strict=True):
        text = [*tokens[1:], None]
        for i in range(11, 79):
            if text[i] != text[i - 10]:
                n_slips += 1
                assert labels[i] == IGNORED
            elif labels[i] != IGNORED:
                assert labels[i] == text[i] == text[i - 10]
    assert n_slips > 50


def test_a_lead_moves_the_repeats_and_their_labels() -> None:
    batch = repeats([b"abcde"], 20, np.random.default_rng(0), slip=0.0, lead=np.array([3]))
    assert bytes(batch.tokens[0, 4:].tolist()) == (b"abcde" * 4)[:16]
    assert (batch.labels[0] == IGNORED).tolist() == [True] * 9 + [False] * 11


@pytest.mark.parametrize("form", FORMS)
def test_a_written_date_means_what_another_parser_reads(form: str) -> None:
    rng = np.random.default_rng(FORMS.index(form))
    for ordinal in rng.integers(date(1900, 1, 1).toordinal(), date(2099, 12, 31).toordinal(), 40):
        day = date.fromordinal(int(ordinal))
        text = written(day, form)
        # the other parser knows no "21. March" and no "the"
        plain = re.sub(r"^(\d+)\. (?=[A-Z])", r"\1 ", text).replace("the ", "")
        assert parser.parse(plain).date() == day, text


def test_a_year_of_two_digits_is_that_of_strptime() -> None:
    from datetime import datetime

    for year in range(1969, 2069):
        text = written(date(year, 3, 5), "{d} {mon} {y}", short_year=True)
        assert datetime.strptime(text, "%d %b %y").year == year
    assert written(date(1950, 3, 5), "{d} {mon} {y}", short_year=True) == "5 Mar 1950"


def test_a_date_in_numbers_alone_begins_with_its_year() -> None:
    rng = np.random.default_rng(3)
    numeric = 0
    for _ in range(5000):
        pair = Dates().pair(date.fromordinal(int(rng.integers(700_000, 760_000))), rng)
        if not re.search("[A-Za-z]", pair.source):
            numeric += 1
            assert pair.source.lstrip().startswith(pair.target[:4])
    assert numeric > 500


def test_noise_changes_case_and_blanks_and_nothing_else() -> None:
    rng = np.random.default_rng(5)
    clean: set[str] = set()
    day = date(2021, 3, 5)
    for _ in range(4000):
        clean.add(re.sub(r"\s", "", Dates(noise=0.0).pair(day, rng).source).lower())
    for _ in range(1000):
        assert re.sub(r"\s", "", Dates(noise=1.0).pair(day, rng).source).lower() in clean


def test_training_never_draws_a_held_out_day_and_held_out_texts_are_only_those() -> None:
    task = Dates()
    for pair in task.held_out(500, seed=3):
        assert is_held_out(date.fromisoformat(pair.target))
    batch = task.sample(2000, np.random.default_rng(0))
    for row in batch.labels.tolist():
        day = bytes(label for label in row if 0 <= label < 256).decode()
        assert not is_held_out(date.fromisoformat(day))


def test_a_batch_of_pairs_shows_the_decoder_what_came_before_and_hides_padding() -> None:
    batch = Sort(shortest=2, longest=6).sample(8, np.random.default_rng(0))
    assert batch.source is not None
    assert batch.visible is not None
    for source, visible, tokens, labels in zip(
        batch.source.tolist(), batch.visible.tolist(), batch.tokens.tolist(), batch.labels.tolist(), strict=True
    ):
        word = bytes(source[: source.index(END)])
        n = len(word)
        assert visible == [True] * (n + 1) + [False] * (len(source) - n - 1)
        assert set(source[n + 1 :]) <= {PADDING}
        assert labels[: n + 1] == [*sorted(word), END]
        assert set(labels[n + 1 :]) <= {IGNORED}
        assert tokens[: n + 1] == [START, *sorted(word)]


@pytest.mark.parametrize("task", [Induction(), Dates(), Copy(), Sort()])
def test_the_generator_decides_the_batch(task: Induction | Dates | Copy | Sort) -> None:
    one, two, other = (task.sample(6, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.tokens, two.tokens)
    assert torch.equal(one.labels, two.labels)
    assert one.tokens.shape != other.tokens.shape or not torch.equal(one.labels, other.labels)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_made_again_from_its_name_and_options(name: str) -> None:
    task = Settings(task=TASKS[name](), d_model=16).task
    assert make_task(task.name, task.options()) == task


def test_an_unknown_task_or_option_is_an_error_that_lists_what_there_is() -> None:
    with pytest.raises(ConfigError, match="induction, dates, copy, sort"):
        make_task("translate")
    with pytest.raises(ConfigError, match="noise"):
        make_task("dates", {"loudness": 1})

"""The models in the repository can do what their cards say, measured here on texts of our own."""

from __future__ import annotations

import hashlib
import json
import random
import string
from datetime import date

import pytest
import torch

from tfmviz import load_model
from tfmviz.models.scratch_checkpoint import read_card, read_checkpoint
from tfmviz.models.sources import CHECKPOINTS
from tfmviz.training.pairs import write
from tfmviz.training.presets import SHIPPED
from tfmviz.training.task import VOCABULARY, one_stack
from tfmviz.training.tasks.dates import is_held_out

NAMES = [f"scratch-{task}" for task in SHIPPED]
PRINTABLE = string.digits + string.ascii_letters + string.punctuation + " "


@pytest.mark.parametrize("name", NAMES)
def test_the_card_describes_the_file_beside_it(name: str) -> None:
    card = read_card(CHECKPOINTS, name)
    data = (CHECKPOINTS / f"{name}.safetensors").read_bytes()
    model, _ = read_checkpoint(CHECKPOINTS, name)
    assert card.sha256 == hashlib.sha256(data).hexdigest()
    assert card.n_parameters == sum(weights.numel() for weights in model.parameters())
    settings = SHIPPED[card.task]
    assert card.settings == json.loads(json.dumps(settings.to_dict()))
    assert card.steps == settings.n_steps


def test_together_they_are_small() -> None:
    assert sum(path.stat().st_size for path in CHECKPOINTS.iterdir()) < 8_000_000


def repeated(seed: int) -> list[tuple[str, int]]:
    """Texts of three equal parts, with the length of a part: any printable characters, 5 to 40 of them."""
    chance = random.Random(seed)
    periods = [chance.randint(5, 40) for _ in range(150)]
    return [("".join(chance.choices(PRINTABLE, k=period)) * 3, period) for period in periods]


def test_induction_knows_what_follows_on_second_and_third_copies_of_what_it_never_saw() -> None:
    model, _ = read_checkpoint(CHECKPOINTS, "scratch-induction")
    right = counted = 0
    for text, period in repeated(seed=77):
        tokens = torch.tensor([[VOCABULARY.start, *text.encode()]])
        guesses = one_stack(model)(tokens)[0].argmax(-1).tolist()
        for i in range(period + 1, len(text)):  # the first character of a second copy cannot be foreseen
            right += guesses[i] == ord(text[i])  # row i holds what comes after character i - 1
            counted += 1
    assert right / counted >= 0.95


def test_a_second_layer_head_looks_at_what_followed_last_time() -> None:
    model = load_model("scratch-induction")
    weight, rows = torch.zeros(model.n_heads), 0
    for text, period in repeated(seed=78)[:60]:
        stack = model.trace(text)["self"]
        at = torch.arange(period + 1, len(text))  # token t is character t - 1; its next was t + 1 - period
        for head in range(model.n_heads):
            weight[head] += stack.weights(1, head)[at, at + 1 - period].sum()
        rows += len(at)
    assert weight.max() / rows >= 0.8


def written_days(count: int) -> list[tuple[str, str]]:
    """Days that training never draws, in the forms of everyday letters, written by the standard library."""
    chance = random.Random(5)
    forms = ["%B {d}, %Y", "{d} %b %Y", "the {th} of %B, %Y", "%Y/{m}/{d}", "%d-%b-%Y", "%A, %B {d}, %Y", "%Y-%m-%d"]
    out: list[tuple[str, str]] = []
    while len(out) < count:
        day = date.fromordinal(chance.randint(date(1900, 1, 1).toordinal(), date(2099, 12, 31).toordinal()))
        if not is_held_out(day):
            continue
        ending = "th" if day.day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
        text = day.strftime(chance.choice(forms)).format(d=day.day, m=day.month, th=f"{day.day}{ending}")
        text = chance.choice([str, str, str.lower, str.upper])(text)
        out.append((text.replace(" ", "  ", 1) if chance.random() < 0.2 else text, day.isoformat()))
    return out


def test_dates_are_read_in_any_of_many_forms() -> None:
    model, _ = read_checkpoint(CHECKPOINTS, "scratch-dates")
    days = written_days(2000)
    answers = write(model, [text for text, _ in days], most=11)
    wrong = [(text, answer) for (text, right), answer in zip(days, answers, strict=True) if answer != right]
    assert len(wrong) / len(days) <= 0.01, wrong[:10]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("March 5, 2021", "2021-03-05"),
        ("5 Mar 21", "2021-03-05"),
        ("the 5th of March, 2021", "2021-03-05"),
        ("2021/3/5", "2021-03-05"),
        ("  THE 5TH  of march,2021 ", "2021-03-05"),
    ],
)
def test_the_forms_that_were_promised(text: str, answer: str) -> None:
    model, _ = read_checkpoint(CHECKPOINTS, "scratch-dates")
    assert write(model, [text], most=11) == [answer]


def test_while_the_year_is_written_cross_attention_rests_on_the_year_in_the_text() -> None:
    model = load_model("scratch-dates")
    shares = []
    for text, answer in written_days(60):
        begin = text.find(answer[:4])
        stack = model.trace(text, target=answer)["cross"]
        layer = stack.n_layers - 1
        heads = torch.stack(
            [stack.weights(layer, head)[:4, begin : begin + 4].sum(-1) for head in range(stack.n_heads)]
        )
        shares.append(heads.mean(1))
    mean = torch.stack(shares).mean(0)
    assert mean.max() >= 0.8, mean  # of the head that does it
    assert mean.mean() >= 0.5, mean  # of all heads, where chance would be some 0.25

"""Dates: read a date in one of many written forms and write it as 2021-03-05.

The forms are English. A date in numbers alone begins with its year (2021/3/5): forms such as 5/3/21, which mean one
day in London and another in New York, do not occur. A year of two digits is 1969 to 2068, as in POSIX ``strptime``.
A year of four digits is 1900 to 2099, so that even its first two digits must be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, ClassVar, Literal

import numpy as np

from tfmviz.nn import AnyTransformer
from tfmviz.training.pairs import Pair, batch_of, exact_match
from tfmviz.training.task import Batch, Example
from tfmviz.training.tasks.year_attention import year_weight

FIRST, LAST = date(1900, 1, 1).toordinal(), date(2099, 12, 31).toordinal()
HELD_OUT_EVERY = 20
"""Every 20th day is never drawn for training, in whatever form."""

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# d 5, dd 05, th 5th; m 3, mm 03, mon Mar, month March; y 2021 or 21, yyyy 2021, apostrophe '21 or 2021
FORMS = (
    "{month} {d}, {y}", "{month} {th}, {y}", "{month} {d} {y}", "{month} {th} {y}", "{month} the {th}, {y}",
    "{mon} {d}, {y}", "{mon} {d} {y}", "{mon}. {d}, {y}", "{mon} {th}, {y}",
    "{d} {month} {y}", "{d} {month}, {y}", "{th} {month} {y}", "{d}. {month} {y}",
    "{d} {mon} {y}", "{dd} {mon} {y}", "{d} {mon} {apostrophe}", "{d}{mon}{y}",
    "{d}-{mon}-{y}", "{dd}-{mon}-{y}", "{d}/{mon}/{y}",
    "the {th} of {month}, {y}", "the {th} of {month} {y}", "{th} of {month}, {y}", "{th} of {mon} {y}",
    "{yyyy}/{m}/{d}", "{yyyy}-{m}-{d}", "{yyyy}.{m}.{d}", "{yyyy} {m} {d}",
    "{yyyy}/{mm}/{dd}", "{yyyy}-{mm}-{dd}", "{yyyy}.{mm}.{dd}", "{yyyy}{mm}{dd}",
    "{yyyy} {month} {d}", "{yyyy}, {month} {d}", "{yyyy} {mon} {d}", "{yyyy}-{mon}-{dd}",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Dates:
    """Written dates and their ISO form.

    Attributes:
        noise: share of texts with changed case, and share with blanks added or left out.
    """

    noise: float = 0.5

    name: ClassVar[str] = "dates"
    architecture: ClassVar[Literal["encoder-decoder"]] = "encoder-decoder"
    example: ClassVar[Example] = Example(text="the 5th of March, 2021", target="2021-03-05")
    max_positions: ClassVar[int] = 512

    def options(self) -> Mapping[str, Any]:
        return asdict(self)

    def sample(self, size: int, rng: np.random.Generator) -> Batch:
        return batch_of([self.pair(_draw(rng, held_out=False), rng) for _ in range(size)])

    def held_out(self, size: int, seed: int) -> list[Pair]:
        """Written dates of days that training never draws."""
        rng = np.random.default_rng([seed, 1])
        return [self.pair(_draw(rng, held_out=True), rng) for _ in range(size)]

    def pair(self, day: date, rng: np.random.Generator) -> Pair:
        """One day in a random form."""
        text = written(day, FORMS[int(rng.integers(len(FORMS)))], short_year=bool(rng.random() < 0.4))
        if rng.random() < 0.15 and not text[0].isdigit() and not text.startswith("the"):
            weekday = WEEKDAYS[day.weekday()]
            text = f"{weekday if rng.random() < 0.5 else weekday[:3]}, {text}"
        return Pair(source=self._disturbed(text, rng), target=day.isoformat())

    def _disturbed(self, text: str, rng: np.random.Generator) -> str:
        if rng.random() < self.noise:
            change = (str.lower, str.upper, str.swapcase, str.title)[int(rng.integers(4))]
            text = change(text)
        if rng.random() < self.noise:
            text = _stray_blanks(text, rng)
        return text

    def measure(self, model: AnyTransformer, size: int, seed: int) -> Mapping[str, float]:
        """Exact match on held-out dates, and the share of cross-attention that year digits put on the written year."""
        pairs = self.held_out(size, seed)
        return {"accuracy": exact_match(model, pairs), **year_weight(model, pairs)}


def written(day: date, form: str, *, short_year: bool = False) -> str:
    """A day in one of `FORMS`. ``short_year`` writes a year of two digits where the form allows it and it is clear."""
    century = "th" if 10 < day.day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    short = short_year and 1969 <= day.year <= 2068
    month = MONTHS[day.month - 1]
    return form.format(
        d=day.day,
        dd=f"{day.day:02}",
        th=f"{day.day}{century}",
        m=day.month,
        mm=f"{day.month:02}",
        mon="Sept" if month == "September" and day.day % 2 else month[:3],
        month=month,
        y=f"{day.year % 100:02}" if short else day.year,
        yyyy=day.year,
        apostrophe=f"'{day.year % 100:02}" if short else day.year,
    )


def is_held_out(day: date) -> bool:
    """Whether training never draws this day."""
    return day.toordinal() % HELD_OUT_EVERY == 0


def _draw(rng: np.random.Generator, *, held_out: bool) -> date:
    while True:
        day = date.fromordinal(int(rng.integers(FIRST, LAST + 1)))
        if is_held_out(day) == held_out:
            return day


def _stray_blanks(text: str, rng: np.random.Generator) -> str:
    """Blanks doubled, put before or behind a mark, or left out behind a comma; and blanks around the text."""
    out = []
    for i, character in enumerate(text):
        if character == " ":
            after_comma = i > 0 and text[i - 1] == ","
            out.append("" if after_comma and rng.random() < 0.3 else " " * int(rng.choice([1, 1, 1, 2, 3])))
        elif character in ",-/." and rng.random() < 0.3:
            out.append(f"{' ' * int(rng.integers(0, 2))}{character}{' ' * int(rng.integers(0, 2))}")
        else:
            out.append(character)
    before, behind = (" " * int(count) for count in rng.choice([0, 0, 1, 2, 4], 2))
    return before + "".join(out) + behind

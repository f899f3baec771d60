"""Texts that come with the app."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "assets" / "texts" / "samples.toml"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A text worth looking at.

    Attributes:
        title: its name in the menu.
        text: the text itself.
        pair: a second sentence, for encoders; empty for a single text.
        target: what the decoder of an encoder-decoder reads; empty for other models.
        why: one thing to try with it.
    """

    title: str
    text: str
    pair: str = ""
    target: str = ""
    why: str = ""


@cache
def samples() -> tuple[Sample, ...]:
    """The texts in the order of the menu; the first one opens the app."""
    entries = tomllib.loads(SAMPLES.read_text(encoding="utf-8"))["sample"]
    return tuple(Sample(**{**entry, "text": entry["text"].strip("\n")}) for entry in entries)


def of_text(text: str) -> Sample | None:
    """The sample with exactly this text."""
    return next((sample for sample in samples() if sample.text == text), None)

"""Trainings by name: those to watch live, and those that make the models we ship."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tfmviz.training.settings import Settings
from tfmviz.training.tasks import Copy, Dates, Induction, Sort


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """A training that shows something within a minute or two on two cores.

    Attributes:
        title: its name on screen.
        shows: what to look for, in one sentence.
        settings: the training.
    """

    title: str
    shows: str
    settings: Settings


PRESETS: Mapping[str, Preset] = {
    "induction": Preset(
        title="Induction heads",
        shows="The loss lies still, then falls at once: a head that looks one back and a head that uses it have met.",
        settings=Settings(
            task=Induction(alphabet="letters", longest=20, length=64),
            # Alibi's steepest heads look near from the start, so that the two heads meet within some 250 steps.
            position="alibi",
            d_model=128,
            n_heads=8,
            d_ff=128,
            n_steps=450,
            batch_size=16,
            learning_rate=3e-3,
            warmup_steps=100,
            final_rate=1.0,
        ),
    ),
    "dates": Preset(
        title="Dates",
        shows="Month names become numbers one after the other, and cross-attention finds year, month and day.",
        settings=Settings(task=Dates(noise=0.0), n_decoder_layers=1, n_steps=800, learning_rate=3e-3),
    ),
    "copy": Preset(
        title="Copy",
        shows="Cross-attention becomes a diagonal: each letter written looks at its own place in the source.",
        settings=Settings(task=Copy(), n_layers=1, n_steps=400, learning_rate=3e-3),
    ),
    "sort": Preset(
        title="Sort",
        shows="Cross-attention looks for the next letter of the alphabet, wherever it stands in the source.",
        settings=Settings(task=Sort(), n_layers=1, n_steps=800, learning_rate=3e-3),
    ),
}

SHIPPED: Mapping[str, Settings] = {
    "induction": Settings(
        # slips make the latest copy the one to look at: with a quarter of them no head rested on it by more than 0.8
        task=Induction(length=64, longer=(128, 320), slip=0.08, lead=8),
        # rotary and without this, the loss still lay on its plateau after 1,300 steps
        first_task=Induction(alphabet="letters", longest=20, length=64),
        first_steps=300,
        position="alibi",
        d_model=128,
        n_heads=8,
        d_ff=128,
        n_steps=7000,
        batch_size=16,
        learning_rate=3e-3,
        warmup_steps=100,
        final_rate=0.02,
    ),
    "dates": Settings(
        task=Dates(),
        d_model=96,
        n_decoder_layers=1,
        d_ff=192,
        n_steps=3000,
        batch_size=64,
        learning_rate=2e-3,
        warmup_steps=200,
    ),
}
"""What makes ``scratch-induction`` and ``scratch-dates``."""

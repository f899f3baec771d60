"""What to train and how: the controls of the Training page. Their keys are the names in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from tfmviz.ui import address, pickers
from tfmviz.ui.address import Notes

if TYPE_CHECKING:
    from tfmviz.nn.config import BlockOrder
    from tfmviz.training import Settings

T = TypeVar("T")

WIDTHS = (16, 32, 64, 96, 128)
LAYERS = (1, 2, 3, 4, 6)
HEADS = (1, 2, 4, 8)
BLOCKS: tuple[BlockOrder, ...] = ("pre-norm", "post-norm")
RATES = (3e-4, 1e-3, 2e-3, 3e-3, 4e-3, 1e-2, 3e-2)
MOST_STEPS = 5000
MOST_TEXT = 120
# Widgets whose choice a new task brings along.
_OF_TASK = ("width", "n_layers", "n_heads", "block", "rate", "warmup", "steps", "watch", "watch_target")


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """The text on which attention is watched.

    Attributes:
        text: what the model reads.
        target: what an encoder-decoder's decoder reads; None for a decoder.
    """

    text: str
    target: str | None


def task_choice(notes: Notes, *, disabled: bool) -> str:
    """Which task; another one brings its own settings along."""
    from tfmviz.training import PRESETS

    names = list(PRESETS)
    notes.add(address.settle("task", names, names[0], what="task", among=f"There are {', '.join(names)}"))
    task = st.segmented_control(
        "Task",
        names,
        default=names[0],
        key="task",
        bind="query-params",
        persist_state="session",
        required=True,
        disabled=disabled,
        on_change=_take_preset,
    )
    return task if task in names else names[0]


def settings(task: str, notes: Notes, *, disabled: bool) -> Settings:
    """Width, layers, heads and the rest, beginning with what shows the task best."""
    from tfmviz.training import PRESETS

    preset = PRESETS[task].settings
    left, right = st.columns(2)
    with left:
        width = _pick("Width", "width", _with(WIDTHS, preset.d_model), preset.d_model, notes, disabled)
        layers = _pick("Layers", "n_layers", _with(LAYERS, preset.n_layers), preset.n_layers, notes, disabled)
        heads = _pick("Heads", "n_heads", _with(HEADS, preset.n_heads), preset.n_heads, notes, disabled)
        block = _pick("Norm", "block", BLOCKS, preset.block, notes, disabled)
    with right:
        rate = _pick("Learning rate", "rate", _with(RATES, preset.learning_rate), preset.learning_rate, notes, disabled)
        warmup = pickers.whole_number("Warm-up steps", "warmup", 0, 1000, preset.warmup_steps, notes, disabled=disabled)
        steps = pickers.whole_number("Steps", "steps", 20, MOST_STEPS, preset.n_steps, notes, disabled=disabled)
        seed = pickers.whole_number("Seed", "seed", 0, 2**31, preset.seed, notes, disabled=disabled)
    return replace(
        preset,
        d_model=width,
        d_ff=preset.d_ff * width // preset.d_model,
        n_layers=layers,
        n_decoder_layers=min(preset.n_decoder_layers, layers),
        n_heads=heads,
        block=block,
        learning_rate=rate,
        warmup_steps=warmup,
        n_steps=steps,
        seed=seed,
    )


def watched(task: str) -> Watched:
    """The text on which attention is watched while it forms; anything typed runs."""
    from tfmviz.training import TASKS

    example = TASKS[task].example
    if example.target is None:
        return Watched(text=_text("Text to watch", "watch", example.text), target=None)
    left, right = st.columns(2)
    with left:
        text = _text("Text to read", "watch", example.text)
    with right:
        target = _text("Text to write", "watch_target", example.target)
    return Watched(text=text, target=target)


def _take_preset() -> None:
    """Forget what was set for another task, so that each widget begins with the new task's own."""
    from tfmviz.training import PRESETS, TASKS

    preset, example = PRESETS[st.session_state["task"]].settings, TASKS[st.session_state["task"]].example
    values = (
        *(preset.d_model, preset.n_layers, preset.n_heads, preset.block, preset.learning_rate),
        *(preset.warmup_steps, preset.n_steps, example.text, example.target or ""),
    )
    st.session_state.update(dict(zip(_OF_TASK, values, strict=True)))


def _with(options: Sequence[T], own: T) -> tuple[T, ...]:
    return tuple(sorted({*options, own}))  # type: ignore[type-var]


def _pick(label: str, key: str, options: Sequence[T], default: T, notes: Notes, disabled: bool) -> T:
    among = f"There are {', '.join(map(str, options))}"
    notes.add(address.settle(key, options, default, what=label.lower(), among=among))
    value = st.selectbox(
        label,
        options,
        index=list(options).index(default),
        key=key,
        bind="query-params",
        persist_state="session",
        disabled=disabled,
    )
    return value if value in options else default


def _text(label: str, key: str, default: str) -> str:
    text = st.text_input(label, default, max_chars=MOST_TEXT, key=key, bind="query-params", persist_state="session")
    return text[:MOST_TEXT]

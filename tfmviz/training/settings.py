"""Every choice of one training: the task, the model, the optimizer. Two equal settings give equal models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tfmviz.errors import ConfigError
from tfmviz.nn import TransformerConfig
from tfmviz.nn.config import BlockOrder, Position
from tfmviz.training.task import VOCABULARY, Task

# Visitors share one process: what one of them may ask for is bounded.
_BOUNDS: dict[str, tuple[float, float]] = {
    "d_model": (8, 512),
    "n_layers": (1, 12),
    "n_decoder_layers": (0, 12),
    "n_heads": (1, 16),
    "d_ff": (0, 2048),
    "n_steps": (1, 100_000),
    "batch_size": (1, 1024),
    "first_steps": (0, 100_000),
    "warmup_steps": (0, 100_000),
    "learning_rate": (1e-7, 1.0),
    "final_rate": (0.0, 1.0),
    "weight_decay": (0.0, 10.0),
    "clip_norm": (1e-3, 1e6),
    "seed": (0, 2**32 - 1),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What to train, and how.

    Attributes:
        task: what to learn.
        first_task: an easier form of it to begin with; None: none.
        first_steps: steps of that form.
        position: how order gets in; empty: rotary in a decoder, sinusoidal in an encoder-decoder, whose
            cross-attention sees only positions that are part of the vectors.
        d_ff: width of the feed-forward layers; 0: four times the width.
        n_decoder_layers: of an encoder-decoder; 0: as many as the encoder has.
        learning_rate: the highest, reached after the warm-up.
        warmup_steps: the rate rises in a line from 0 over these steps.
        final_rate: share of the learning rate that is left at the last step; the rate falls to it along a cosine.
        clip_norm: a gradient longer than this is shortened to it; None: never.
        seed: decides the first weights and every batch.

    Raises:
        ConfigError: if a number is out of its bounds, or the heads do not divide the width.
    """

    task: Task
    first_task: Task | None = None
    first_steps: int = 0
    d_model: int = 64
    n_layers: int = 2
    n_decoder_layers: int = 0
    n_heads: int = 4
    d_ff: int = 0
    block: BlockOrder = "pre-norm"
    position: Position | str = ""
    n_steps: int = 1000
    batch_size: int = 32
    learning_rate: float = 1e-3
    warmup_steps: int = 50
    final_rate: float = 0.1
    weight_decay: float = 0.01
    clip_norm: float | None = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (low, high) in _BOUNDS.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise ConfigError(f"{name}={value} is out of bounds. Use a number from {low:g} to {high:g}.")
        self.config()

    def config(self) -> TransformerConfig:
        """The model to train."""
        paired = self.task.architecture == "encoder-decoder"
        position = self.position or ("sinusoidal" if paired else "rotary")
        return TransformerConfig(
            architecture=self.task.architecture,
            vocab_size=VOCABULARY.size,
            d_model=self.d_model,
            n_heads=self.n_heads,
            d_ff=self.d_ff,
            n_layers=self.n_layers,
            n_decoder_layers=self.n_decoder_layers if paired else 0,
            max_positions=self.task.max_positions,
            block=self.block,
            position=position,  # type: ignore[arg-type]
            # token vectors as large as the sinusoids that are added to them (Vaswani et al. 2017, section 3.4)
            embedding_scale=math.sqrt(self.d_model) if position == "sinusoidal" else 1.0,
        )

    def task_at(self, step: int) -> Task:
        """What a step trains, counted from 0."""
        return self.first_task if self.first_task is not None and step < self.first_steps else self.task

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        past = (step - self.warmup_steps) / max(1, self.n_steps - self.warmup_steps)
        fall = 0.5 * (1 + math.cos(math.pi * min(1.0, past)))
        return self.learning_rate * (self.final_rate + (1 - self.final_rate) * fall)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, fit for JSON; a task as its name and options."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        tasks = {
            name: task and {"name": task.name, **task.options()} for name, task in values.items() if "task" in name
        }
        return values | tasks

"""The training loop: one step after another, each a pure function of the settings, the weights and the step's number.

The batch of step k is drawn from (seed, k) alone. So a loop that goes on from a kept state does exactly what it would
have done had it never stopped: on a CPU, with the same number of threads, to the last bit.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tfmviz.errors import TrainingDiverged
from tfmviz.nn import AnyTransformer, build
from tfmviz.training.settings import Settings
from tfmviz.training.snapshots import Snapshots
from tfmviz.training.task import IGNORED


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReport:
    """One step, on a batch the model had never seen.

    Attributes:
        step: its number, from 1.
        loss: mean cross-entropy over the tokens that count, in nats, before the update.
        accuracy: share of those tokens that were guessed right.
        learning_rate: the rate of this step.
        gradient_norm: length of the whole gradient before clipping.
    """

    step: int
    loss: float
    accuracy: float
    learning_rate: float
    gradient_norm: float


@dataclass(frozen=True, kw_only=True, slots=True)
class LoopState:
    """All that a loop needs to go on from where it was: a copy, safe from later steps."""

    step: int
    weights: dict[str, Tensor]
    optimizer: dict[str, Any]


class Loop:
    """A model in training.

    Args:
        settings: what to train, and how.
        device: where.
        snapshots: keeper of weights to look back at; None: keep none.
    """

    def __init__(self, settings: Settings, *, device: str = "cpu", snapshots: Snapshots | None = None) -> None:
        self.settings = settings
        self.device = device
        self.snapshots = snapshots
        self.model: AnyTransformer = build(settings.config(), seed=settings.seed).to(device)
        self.optimizer = torch.optim.AdamW(_groups(self.model, settings.weight_decay), betas=(0.9, 0.98), fused=True)
        self.step = 0
        if snapshots is not None:
            snapshots.take(0, self.model)

    def steps(self) -> Iterator[StepReport]:
        """The steps that are left, each done when it is asked for. Stop asking and the loop stands still."""
        while self.step < self.settings.n_steps:
            yield self.advance()

    def advance(self) -> StepReport:
        """Do one step.

        Raises:
            TrainingDiverged: if the loss or a gradient is no longer a number; the weights stay as they were.
        """
        settings = self.settings
        rng = np.random.default_rng([settings.seed, 0, self.step])
        batch = settings.task_at(self.step).sample(settings.batch_size, rng).to(self.device)
        self.model.train()
        counts = batch.labels != IGNORED
        labels = batch.labels[counts]
        logits = self.model.logits(batch.hidden(self.model)[counts])
        loss = F.cross_entropy(logits, labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip_norm or torch.inf)
        if not (loss.isfinite() and norm.isfinite()):
            raise TrainingDiverged(self.step + 1, settings.learning_rate)
        rate = settings.rate_at(self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.step += 1
        if self.snapshots is not None:
            self.snapshots.offer(self.step, self.model, last=self.step == settings.n_steps)
        return StepReport(
            step=self.step,
            loss=loss.item(),
            accuracy=(logits.argmax(-1) == labels).float().mean().item(),
            learning_rate=rate,
            gradient_norm=norm.item(),
        )

    def state(self) -> LoopState:
        """Where the loop stands."""
        return LoopState(
            step=self.step,
            weights={name: value.detach().clone() for name, value in self.model.state_dict().items()},
            optimizer=copy.deepcopy(self.optimizer.state_dict()),
        )

    def restore(self, state: LoopState) -> None:
        """Go back, or on, to a state of a loop with the same settings."""
        self.model.load_state_dict(state.weights)
        self.optimizer.load_state_dict(copy.deepcopy(state.optimizer))
        self.step = state.step


def _groups(model: AnyTransformer, weight_decay: float) -> list[dict[str, Any]]:
    """Matrices decay; norms and biases do not (Loshchilov and Hutter 2019)."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]

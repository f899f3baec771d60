"""Small trainings of the from-scratch transformer: tasks, the loop, a background trainer, checkpoints.

    from tfmviz.training import PRESETS, Trainer

    with Trainer(PRESETS["induction"].settings) as trainer:
        trainer.start()
        trainer.wait()
        model = trainer.model_at()

`task` says what a task is and `tasks` has four; `settings` lists every choice, `loop` is the training itself, `job` and
`trainer` run it in a thread, `queue` says whose turn it is. ``python -m tfmviz.training`` makes the shipped models.
"""

from __future__ import annotations

from tfmviz.training.checkpoint import card_of
from tfmviz.training.job import Progress, State
from tfmviz.training.loop import Loop, LoopState, StepReport
from tfmviz.training.presets import PRESETS, SHIPPED, Preset
from tfmviz.training.queue import QUEUE, TrainingQueue
from tfmviz.training.settings import Settings
from tfmviz.training.snapshots import Snapshots
from tfmviz.training.task import Batch, Example, Task
from tfmviz.training.tasks import TASKS, Copy, Dates, Induction, Sort, make_task
from tfmviz.training.trainer import Trainer

__all__ = [
    "PRESETS",
    "QUEUE",
    "SHIPPED",
    "TASKS",
    "Batch",
    "Copy",
    "Dates",
    "Example",
    "Induction",
    "Loop",
    "LoopState",
    "Preset",
    "Progress",
    "Settings",
    "Snapshots",
    "Sort",
    "State",
    "StepReport",
    "Task",
    "Trainer",
    "TrainingQueue",
    "card_of",
    "make_task",
]

"""What a small transformer can be trained for here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfmviz.errors import ConfigError
from tfmviz.training.task import Task
from tfmviz.training.tasks.copying import Copy
from tfmviz.training.tasks.dates import Dates
from tfmviz.training.tasks.induction import Induction
from tfmviz.training.tasks.sorting import Sort

TASKS: Mapping[str, type[Induction | Dates | Copy | Sort]] = {
    kind.name: kind for kind in (Induction, Dates, Copy, Sort)
}


def make_task(name: str, options: Mapping[str, Any] | None = None) -> Task:
    """The task of a name, with its options as a checkpoint's card has them.

    Raises:
        ConfigError: if there is no such task or no such option.
    """
    if name not in TASKS:
        raise ConfigError(f"task={name!r} is unknown. Use one of {', '.join(TASKS)}.")
    try:
        return TASKS[name](**(options or {}))
    except TypeError:
        known = ", ".join(TASKS[name].__dataclass_fields__) or "none"
        raise ConfigError(f"task_options={dict(options or {})} do not fit {name!r}. It has: {known}.") from None


__all__ = ["TASKS", "Copy", "Dates", "Induction", "Sort", "make_task"]

"""Who may train now, and who waits: first come, first served, over the whole process."""

from __future__ import annotations

import os
import threading

from tfmviz.errors import ConfigError


class Ticket:
    """A place in the queue."""


class TrainingQueue:
    """A set number of slots. The lock is held for the time it takes to look at a list, never during a training.

    Args:
        slots: trainings that may run at once.
    """

    def __init__(self, slots: int) -> None:
        if slots < 1:
            raise ConfigError(f"slots={slots} would let nobody train. Use 1 or more.")
        self.slots = slots
        self._line: list[Ticket] = []  # in order of arrival; the first ``slots`` have a slot
        self._changed = threading.Condition()

    def enter(self) -> Ticket:
        """Join the end of the line."""
        ticket = Ticket()
        with self._changed:
            self._line.append(ticket)
        return ticket

    def place(self, ticket: Ticket) -> int:
        """0 for a ticket with a slot, 1 for the next to get one, and so on; 0 too for one that has left."""
        with self._changed:
            return self._place(ticket)

    def wait(self, ticket: Ticket, timeout: float) -> bool:
        """Wait for a slot; whether there is one by now."""
        with self._changed:
            return self._changed.wait_for(lambda: self._place(ticket) == 0, timeout)

    def leave(self, ticket: Ticket) -> None:
        """Give the slot, or the place in the line, to whoever comes next."""
        with self._changed:
            if ticket in self._line:
                self._line.remove(ticket)
                self._changed.notify_all()

    def _place(self, ticket: Ticket) -> int:
        return max(0, self._line.index(ticket) + 1 - self.slots) if ticket in self._line else 0


def _default_slots() -> int:
    """``TFMVIZ_TRAININGS``, or half of the cores: a training takes one, the others stay with the visitors."""
    asked = os.environ.get("TFMVIZ_TRAININGS", "")
    if asked and not (asked.isascii() and asked.isdigit()):
        raise ConfigError(f"TFMVIZ_TRAININGS={asked!r} is not a number. Set it to the trainings that may run at once.")
    return int(asked) if asked else max(1, (os.cpu_count() or 2) // 2)


QUEUE = TrainingQueue(_default_slots())
"""The queue of this process."""

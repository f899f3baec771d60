"""How many cores torch may take in one thread of ours, without taking them from the other threads."""

from __future__ import annotations

import threading

import torch


def limit_this_thread(n_threads: int) -> None:
    """Let torch use ``n_threads`` cores in the calling thread and leave all other threads as they are.

    `torch.set_num_threads` sets the number of the calling thread and the one that threads yet to come will start with.
    A passing thread puts the latter back, as it may not touch ours.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    passing = threading.Thread(target=torch.set_num_threads, args=(before,), name="tfmviz-threads")
    passing.start()
    passing.join()

"""Logits at the places wanted alone: a head over a whole text makes n x vocabulary numbers that nobody reads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor


@contextlib.contextmanager
def speaking_at(
    module: Any, tensors: dict[str, Tensor], positions: tuple[int, ...], *, takes_positions: bool
) -> Iterator[tuple[dict[str, Tensor], bool]]:
    """Let a model's head see only some positions during a pass.

    Args:
        module: the model.
        tensors: its inputs.
        positions: where logits are wanted; none of them leaves the pass as it is.
        takes_positions: whether ``forward`` has ``logits_to_keep``.

    Yields:
        The inputs to run with, and whether the logits will be those at ``positions`` alone.
    """
    where = torch.tensor(positions, dtype=torch.long, device=module.device)
    if not positions:
        yield tensors, False
    elif takes_positions:
        yield {**tensors, "logits_to_keep": where}, True
    else:
        with _only(module, where) as cut:
            yield tensors, cut


@contextlib.contextmanager
def _only(module: Any, positions: Tensor) -> Iterator[bool]:
    """Cut down what the body hands to the head; yields whether that is possible.

    The body of a masked language model ends in its last hidden state, on which the head works place by place.
    """
    body = module.base_model
    if body is module:
        yield False
        return

    def cut(_: Any, __: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (output[0][:, positions], *output[1:])
        output["last_hidden_state"] = output["last_hidden_state"][:, positions]
        return output

    handle = body.register_forward_hook(cut)
    try:
        yield True
    finally:
        handle.remove()

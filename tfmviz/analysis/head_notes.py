"""What every head of a stack does, in numbers: its role and its strongest pair. For a glance over all heads at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfmviz.analysis.head_roles import HeadRole, head_roles

if TYPE_CHECKING:
    from tfmviz.trace import AttentionStack
    from tfmviz.trace.stack import Link

# The strongest pair is looked for among all weights: beyond this many tokens that takes longer than a glance.
LONGEST = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadNotes:
    """One entry a layer and head; layers without attention have an empty tuple.

    Attributes:
        roles: measured on at most 128 rows of a long text.
        strongest: the pair with the most weight; None in texts longer than ``LONGEST``.
    """

    roles: tuple[tuple[HeadRole, ...], ...]
    strongest: tuple[tuple[Link | None, ...], ...]


def head_notes(stack: AttentionStack) -> HeadNotes:
    """Measure every head of a stack."""
    short = max(len(stack.query_tokens), len(stack.key_tokens)) <= LONGEST
    roles: list[tuple[HeadRole, ...]] = []
    strongest: list[tuple[Link | None, ...]] = []
    for index in range(stack.n_layers):
        heads = range(stack.layer(index).n_heads)
        roles.append(tuple(head_roles(stack, index, heads)) if heads else ())
        strongest.append(tuple(next(iter(stack.strongest(index, head, 1)), None) if short else None for head in heads))
    return HeadNotes(roles=tuple(roles), strongest=tuple(strongest))

"""Sentences and a table that read the Compare page's picture: plain words for numbers that were just computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfmviz.charts.memory_numbers import bytes_text
from tfmviz.text import display, word_spans

if TYPE_CHECKING:
    from tfmviz.analysis.matching import Head, HeadDistances, Match
    from tfmviz.analysis.unit_window import UnitWindow
    from tfmviz.ui.compare_sides import Side

SEEN = "What you see"
_LONGEST = 20
_FLOAT = 4  # bytes


def number(n: int) -> str:
    """A whole number with narrow blanks between its thousands."""
    return f"{n:,}".replace(",", "\u202f")


def short(n: float) -> str:
    """Two digits that count, never as a power of ten: 0.042, 4.2, 42, 420, 4\u202f200."""
    return f"{n:.2g}" if abs(n) < 99.5 else number(int(round(n, 1 - int(np.log10(abs(n))))))


def apart(side: Side) -> str:
    """Which tokens stand apart from the text's units."""
    names = list(dict.fromkeys(token.text for token in side.stack.query_tokens if token.is_special))
    if not names:
        return "No special tokens."
    shown = ", ".join(display.markdown(display.label(name)) for name in names)
    return f"Apart from the text: {shown}. The column “special” holds what goes to them."


def seen(shown: UnitWindow, units: Sequence[str], heads: tuple[Head, Head]) -> list[tuple[str, str]]:
    """*What you see*, in at most 60 words, and *Try*: each with what follows it, as plain text.

    Args:
        shown: both heads, as far as they are shown.
        units: what the maps call the units.
        heads: layer and head of A and of B.
    """
    found, names = shown.found, f"A {_head(heads[0])} and B {_head(heads[1])}"
    part = "" if shown.is_whole else f" in units {shown.rows.start} to {shown.rows.stop - 1}"
    if found.distance.max() < 1e-3:
        return [(SEEN, f"{names} look at the same things{part}: no row differs by more than 0.001.")]
    most = int(found.distance.argmax())
    row = found.signed[most, : len(units)]
    key = int(np.abs(row).argmax())
    who = "B" if row[key] > 0 else "A"
    return [
        (
            SEEN,
            f"{names}: rows{part} are {found.distance.mean():.2f} apart on average (Jensen-Shannon, 0 to 1). "
            f"{_unit(shown, units, most)} is read most differently ({found.distance[most]:.2f}): {who} looks "
            f"{abs(row[key]):.2f} more at {_unit(shown, units, key)}.",
        ),
        ("Try", "Point at a cell or a word: the other pictures light up the same pair."),
    ]


def matching(found: HeadDistances, pairs: tuple[Match, ...], kind: str) -> str:
    """What the matching says, in a sentence."""
    if not pairs:
        return "No head of A has a head of B in its place."
    close = sum(pair.distance < 0.2 for pair in pairs)
    mean = float(np.mean([pair.distance for pair in pairs]))
    best, worst = pairs[0], pairs[-1]
    return (
        f"{len(found.heads_a):,} × {len(found.heads_b):,} heads. Matched {kind}, {close:,} of {len(pairs):,} pairs are "
        f"closer than 0.2; the mean distance is {mean:.2f}. Most alike: A {_head(best.a)} with B {_head(best.b)} "
        f"({best.distance:.2f}). Least: A {_head(worst.a)} with B {_head(worst.b)} ({worst.distance:.2f})."
    )


def table(a: Side, b: Side, text: str, seconds: tuple[float, float]) -> str:
    """Facts of both models, as a Markdown table.

    Args:
        a, b: the sides.
        text: what both have read.
        seconds: what a pass over it took each of them.
    """
    words = max(len(word_spans(text)), 1)
    rows = [("", *(f"**{one.letter}** {display.markdown(one.name)}" for one in (a, b)))]
    facts: dict[str, Callable[[Side], str]] = {
        "kind": lambda one: one.model.kind,
        "parameters": lambda one: number(one.model.n_parameters),
        "layers × heads": lambda one: f"{one.model.n_layers} × {one.model.n_heads}",
        "heads of keys and values": lambda one: str(one.model.n_kv_heads),
        "width": lambda one: number(one.model.d_model),
        "longest text, tokens": lambda one: (
            "no limit" if one.model.max_tokens is None else number(one.model.max_tokens)
        ),
        "tokens of this text": lambda one: number(len(one.traced.trace.tokens)),
        "tokens a word": lambda one: short(_typed(one) / words),
        "time of a pass over it": lambda one: _seconds(seconds["AB".index(one.letter)]),
        "memory of its weights": lambda one: bytes_text(_FLOAT * one.model.n_parameters),
        "queries and keys kept": lambda one: bytes_text(one.traced.trace.memory.kept),
        "device": lambda one: display.markdown(one.model.device),
    }
    rows += [(name, read(a), read(b)) for name, read in facts.items()]
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([lines[0], "|---|---|---|", *lines[1:]])


def _typed(side: Side) -> int:
    return sum(not token.is_special for token in side.traced.trace.tokens)


def _seconds(seconds: float) -> str:
    return f"{short(seconds)} s" if seconds >= 1 else f"{short(1000 * seconds)} ms"


def _head(head: Head) -> str:
    return f"L{head[0]} H{head[1]}"


def _unit(shown: UnitWindow, units: Sequence[str], at: int) -> str:
    """What a unit is called; where others are called the same, with its number."""
    number = f" ({shown.rows.start + at})" if units.count(units[at]) > 1 else ""
    return f"“{display.label(units[at], _LONGEST)}”{number}"

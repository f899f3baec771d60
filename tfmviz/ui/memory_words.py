"""Sentences that read the pictures of the Memory page: plain words for numbers that were just computed."""

from __future__ import annotations

from collections.abc import Sequence

BYTES_LINE = "Where the **bytes** of a transformer go as its text grows, by arithmetic."
TEXTBOOK_HEADS = 8
TEXTBOOK_LENGTHS = (1_024, 2_048, 4_096, 32_768)


def textbook(rows: Sequence[tuple[int, int, int]]) -> str:
    """The rows that textbooks give for one layer of eight heads, as Markdown.

    Args:
        rows: tokens, weights, and bytes of the weights in float32.
    """
    lines = [f"| {n:,} | {_count(weights)} | {decimal_bytes(size)} |" for n, weights, size in rows]
    head = "| tokens | weights of one layer, 8 heads | in float32 |\n|---:|---:|---:|"
    return "\n".join([head, *lines])


def _count(n: int) -> str:
    """A number in millions or billions, two significant digits where it is small."""
    for size, unit in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if n >= size:
            value = n / size
            return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    return str(n)


def decimal_bytes(n: float) -> str:
    """Bytes in kB, MB, GB or TB (powers of 1,000), three significant digits at most."""
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n >= size:
            value = n / size
            return f"{value:.1f} {unit}" if value < 100 else f"{value:,.0f} {unit}"
    return f"{n:.0f} B"

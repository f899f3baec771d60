"""Bytes, seconds, tokens and powers as they are written on pictures of memory and beside them."""

from __future__ import annotations

_SUPERSCRIPT = str.maketrans("0123456789.-", "⁰¹²³⁴⁵⁶⁷⁸⁹·⁻")


def bytes_text(n: float) -> str:
    """Bytes in kB, MB, GB and so on (powers of 1,000), two significant digits."""
    for size, unit in ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n >= 0.9995 * size:
            return f"{_two(n / size)} {unit}"
    return f"{n:.0f} B"


def count_text(n: float) -> str:
    """A number in thousands, millions or billions, two significant digits, three from a hundred on."""
    for size, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k")):
        if n >= 0.9995 * size:
            return f"{_two(n / size)} {unit}"
    return f"{n:.0f}"


def seconds_text(seconds: float) -> str:
    """Seconds in µs, ms, s, min or h, two significant digits."""
    if seconds < 1e-3:
        return f"{_two(seconds * 1e6)} µs"
    if seconds < 1:
        return f"{_two(seconds * 1e3)} ms"
    if seconds < 100:
        return f"{_two(seconds)} s"
    return f"{_two(seconds / 60)} min" if seconds < 6000 else f"{_two(seconds / 3600)} h"


def power_text(power: float) -> str:
    """``n²·⁰`` for 2.0."""
    return "n" + f"{power:.1f}".translate(_SUPERSCRIPT)


def short_length(n: int) -> str:
    """A length in binary thousands, which powers of 2 come to without a rest: 512, 16k, 1M."""
    for size, unit in ((1 << 20, "M"), (1 << 10, "k")):
        if n >= size:
            return f"{n / size:g}{unit}"
    return str(n)


def _two(value: float) -> str:
    """Two significant digits, and all digits before the point."""
    if value >= 99.5:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"

"""Numbers as they stand in sentences."""

from __future__ import annotations

import math

# From the first on and below the second, a number is written out.
SMALLEST, LARGEST = 1e-3, 1e6
_TIMES = "\u00a0×\u00a0"  # no line breaks there
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def counted(n: int, what: str) -> str:
    """``1 token``, ``1,024 tokens``, for what takes an s in the plural."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def significant(value: float, digits: int = 2) -> str:
    """``0.25``, ``−1,300``, ``1.2 × 10⁻⁷``: with so many digits that count, as a power of ten where it is very small
    or very large. No zeros are added at the end.
    """
    rounded = float(f"{value:.{digits}g}")
    if rounded == 0 or not math.isfinite(rounded):
        return f"{abs(rounded):g}" if rounded == 0 else f"{rounded:g}".replace("-", "−").replace("inf", "∞")
    power = math.floor(math.log10(abs(rounded)))
    if not SMALLEST <= abs(rounded) < LARGEST:
        first, power_text = f"{rounded:.{digits - 1}e}".split("e")
        return f"{_short(first)}{_TIMES}10{str(int(power_text)).translate(_RAISED)}".replace("-", "−")
    return _short(f"{rounded:,.{max(0, digits - 1 - power)}f}").replace("-", "−")


def percent(share: float) -> str:
    """A share with two significant digits; 0 only where it is none."""
    if share == 0:
        return "0 %"
    if share < 5e-5:
        return "under 0.01 %"
    return f"{significant(100 * share)} %"


def _short(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number

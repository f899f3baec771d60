"""The power with which something measured grows: a straight line through its points on log-log axes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

FROM = 1_024
"""Shortest text whose point counts in a fit: below, constant costs hide the power."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerLaw:
    """y = scale · n ** power.

    Attributes:
        power: the slope on log-log axes.
        scale: y at n = 1.
    """

    power: float
    scale: float

    def at(self, n: float) -> float:
        """Y on this line."""
        return float(self.scale * n**self.power)


def fit(points: Mapping[int, float]) -> PowerLaw | None:
    """The power law nearest to some points, by least squares of the logarithms.

    Args:
        points: y by n, all above 0.

    Returns:
        The law; None with fewer than two points.
    """
    if len(points) < 2:
        return None
    x, y = [math.log(n) for n in points], [math.log(value) for value in points.values()]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    along = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    power = along / sum((a - mean_x) ** 2 for a in x)
    return PowerLaw(power=power, scale=math.exp(mean_y - power * mean_x))


def tail(points: Mapping[int, float], start: int = FROM) -> dict[int, float]:
    """The points that a fit should go by: those from ``start`` tokens on."""
    return {n: y for n, y in points.items() if n >= start}

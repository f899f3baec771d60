"""From measured points to what the two charts draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from tfmviz.analysis import memory_fit
from tfmviz.analysis.memory_fit import PowerLaw
from tfmviz.analysis.memory_peak import FORMS, peak_bytes
from tfmviz.charts.memory_growth import Growth
from tfmviz.charts.memory_numbers import power_text

if TYPE_CHECKING:
    from tfmviz.analysis.measure_pace import Point
    from tfmviz.nn.config import AttentionForm
    from tfmviz.ui.memory_measure_run import Asked

_SYMBOLS: dict[str, Literal["circle", "square", "diamond"]] = {
    "materialised": "square",
    "chunked": "diamond",
    "fused": "circle",
}
_DASHES: dict[str, Literal["solid", "dash", "dot"]] = {"materialised": "solid", "chunked": "dash", "fused": "dot"}


def memory_growths(asked: Asked, points: Sequence[Point], free: int) -> list[Growth]:
    """Peak memory: the formula as far as it stays in reach, measured points, and what would not fit."""
    out = []
    for colour, form in enumerate(FORMS):
        dots = peaks(points, form)
        law = memory_law(points, form)
        refused = {p.n: float(p.predicted) for p in points if p.form == form and p.outcome == "would not fit"}
        # the formula reaches to the right end from the beginning: dots grow into it, and the axis stays
        predicted = {n: float(peak_bytes(form, n, asked.call)) for n in asked.lengths}
        predicted |= {p.n: float(p.predicted) for p in points if p.form == form}
        # two lengths beyond what fits tell the story; the rest would squeeze the measured points into a corner
        beyond = [n for n, size in predicted.items() if size > free][:2]
        line = {n: size for n, size in predicted.items() if not beyond or n <= beyond[-1]}
        out.append(
            Growth(
                name=named(form, law),
                colour=colour,
                line=line,
                dots=dots,
                refused={n: size for n, size in refused.items() if n in line},
                dash=_DASHES[form],
                symbol=_SYMBOLS[form],
            )
        )
    return out


def time_growths(points: Sequence[Point]) -> list[Growth]:
    """Seconds: measured points, and the power law through those of the longer texts."""
    out = []
    for colour, form in enumerate(FORMS):
        dots = {p.n: p.seconds for p in points if p.form == form and p.outcome == "measured" and p.seconds}
        law = memory_fit.fit(memory_fit.tail(dots))
        through = list(memory_fit.tail(dots)) if law else []
        line = {n: law.at(n) for n in through} if law else {}
        out.append(
            Growth(
                name=named(form, law), colour=colour, line=line, dots=dots, dash=_DASHES[form], symbol=_SYMBOLS[form]
            )
        )
    return out


def peaks(points: Sequence[Point], form: AttentionForm) -> dict[int, float]:
    """Measured bytes by tokens."""
    return {p.n: float(p.peak) for p in points if p.form == form and p.outcome == "measured" and p.peak}


def memory_law(points: Sequence[Point], form: AttentionForm) -> PowerLaw | None:
    """The power law of a form's memory; None before there is one."""
    return memory_fit.fit(memory_fit.tail(peaks(points, form)))


def named(form: AttentionForm, law: PowerLaw | None) -> str:
    """A form with its power, once there is one."""
    return form if law is None else f"{form} {power_text(law.power)}"

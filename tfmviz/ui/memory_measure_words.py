"""Sentences that read a live measurement: plain words for numbers that were just measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmviz.analysis.memory_fit import FROM
from tfmviz.analysis.memory_peak import FORMS
from tfmviz.charts.memory_numbers import bytes_text, power_text, seconds_text
from tfmviz.text import display
from tfmviz.ui import live_run
from tfmviz.ui.memory_measure_picture import memory_law

if TYPE_CHECKING:
    from tfmviz.analysis.measure_pace import Point
    from tfmviz.analysis.memory_peak import AttentionCall
    from tfmviz.ui.live_run import LiveRun
    from tfmviz.ui.memory_measure_run import Asked, Measurement

CHECKED_FROM = 2_048
HOW = (
    "How it is measured: each dot is one layer's attention in a process of its own. On the CPU one thread "
    "computes; the peak is the kernel's highest mark of resident memory (VmHWM, reset before the call) less what "
    "was resident before, with an allocator that gives freed blocks back at once. Where there is no such mark, a "
    "thread looks every millisecond. On CUDA it is the allocator's own peak, on MPS what the driver holds. "
    "Queries, keys and values are counted. Time is the fastest of up to five calls. The chunked form works in "
    "blocks of 128 x 128, or of 256 x 256 with gradients."
)


def line(device: str, call: AttentionCall) -> str:
    """What the view shows, in one line."""
    shared = "" if not call.is_shared else f" on {call.n_kv_heads} KV heads"
    both = "forward and backward" if call.backward else "forward"
    return (
        f"**One layer's attention**, {call.n_heads} heads{shared} of width {call.d_head}, {both}, run on this "
        f"machine's **{display.markdown(device)}** with longer and longer texts, in three forms."
    )


def progress(run: LiveRun[Point] | None, measurement: Measurement | None, points: Sequence[Point]) -> tuple[float, str]:
    """How far a measurement is, 0 to 1, and that in words."""
    if run is None or measurement is None:
        return 0.0, "The lines are the formulas. Press Measure: each dot is a call that has run here"
    if run.state == "waiting":
        return 0.0, live_run.WAITING
    step = measurement.ahead
    done = step.done if step else 0.0
    if measurement.is_stopped or run.state == "stopped":  # by the visitor, or because nobody looked on
        return done, "Stopped: what was measured stays"
    if run.state == "failed":
        return done, "Failed: what was measured stays"
    if run.state == "running":
        if step is None:
            return 0.0, "Starting the process that measures"
        left = f"about {max(step.seconds_left, 1):.0f} s left"
        return done, f"Measuring {step.form} on {step.n:,} tokens, {left}"
    n_measured = sum(point.outcome == "measured" for point in points)
    return 1.0, f"Measured as far as memory and time went: {n_measured} of {len(points)} points"


def seen(asked: Asked, points: Sequence[Point], free: int) -> str:
    """*What you see* and *Try*, as Markdown."""
    measured = [p for p in points if p.outcome == "measured"]
    if not measured:
        return (
            "**What you see** Twice the text takes four times the memory where the n × n matrix is *materialised*, and "
            "twice where it is worked through in blocks (*chunked*, *fused*).\n\n"
            "**Try** Press *Measure*, and watch the dots land on the lines."
        )
    laws = {form: memory_law(points, form) for form in FORMS}
    grows = ", ".join(f"*{form}* as {power_text(law.power)}" for form, law in laws.items() if law)
    parts = [f"Memory grows: {grows}." if grows else "", _errors(measured), _refused(points), _ratio(measured)]
    tries = (
        "Halve *KV heads*: keys shrink, the matrix does not."
        if not asked.call.is_shared
        else "Switch *Backward* on: gradients need the matrix again."
    )
    first = f"The first dots. From {FROM:,} tokens on, a power says how memory grows."
    return f"**What you see** {' '.join(filter(None, parts)) or first}\n\n**Try** {tries}"


def error_of(point: Point) -> float:
    """Predicted over measured peak, less 1."""
    return point.predicted / point.peak - 1 if point.peak else 0.0


def _errors(measured: Sequence[Point]) -> str:
    long = [abs(error_of(p)) for p in measured if p.n >= CHECKED_FROM]
    if not long:
        return ""
    return f"From {CHECKED_FROM:,} tokens on the formula is within {100 * max(long):.1f} % of what was measured."


def _refused(points: Sequence[Point]) -> str:
    first = next((p for p in points if p.outcome == "would not fit"), None)
    if first is None:
        return ""
    return f"At {first.n:,} tokens *{first.form}* would need {bytes_text(first.predicted)}: not tried."


def _ratio(measured: Sequence[Point]) -> str:
    """How much the matrix costs where both forms were measured."""
    by = {(p.form, p.n): p for p in measured}
    both = [n for form, n in by if form == "materialised" and ("fused", n) in by]
    if not both:
        return ""
    stored, fused = by["materialised", max(both)], by["fused", max(both)]
    if not (stored.peak and fused.peak and stored.seconds and fused.seconds):
        return ""
    return (
        f"At {max(both):,} tokens *fused* takes {bytes_text(fused.peak)} against {bytes_text(stored.peak)}, and is "
        f"{stored.seconds / fused.seconds:.2g} times as fast."
    )


def table(points: Sequence[Point]) -> str:
    """Every point, as a Markdown table."""
    head = "| tokens | form | measured peak | formula | formula ÷ measured | one call |\n|---:|---|---:|---:|---:|---:|"
    return "\n".join([head, *map(_row, points)])


def _row(point: Point) -> str:
    cells = [f"{point.n:,}", point.form]
    if point.outcome == "measured" and point.peak:
        ratio = f"{point.predicted / point.peak:.3f}" if point.n >= FROM else ":gray[short]"
        cells += [bytes_text(point.peak), bytes_text(point.predicted), ratio, seconds_text(point.seconds or 0)]
    else:
        why = {
            "would not fit": f"would need {bytes_text(point.predicted)}",
            "would take too long": "would take " + (seconds_text(point.seconds) if point.seconds else "too long"),
            "failed": display.markdown(point.why),
        }
        cells += [":gray[not tried]", bytes_text(point.predicted), "", why.get(point.outcome, "")]
    return "| " + " | ".join(cells) + " |"

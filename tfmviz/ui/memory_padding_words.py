"""Sentences and a table that read the picture of padded batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tfmviz.charts.memory_numbers import bytes_text, seconds_text
from tfmviz.text import display
from tfmviz.ui import live_run
from tfmviz.ui.counting import percent

if TYPE_CHECKING:
    from tfmviz.analysis.padding_times import BatchTime
    from tfmviz.analysis.padding_waste import Batching, Method
    from tfmviz.models import Model
    from tfmviz.models.memory import PassShape
    from tfmviz.ui.live_run import LiveRun

# The lines that textbooks take: computed below, as everything else is.
TEXTBOOK_LINE, TEXTBOOK_LENGTH = 64, 512


def line(model: Model, n_lines: int, n_typed: int) -> str:
    """What the view shows, as Markdown."""
    name = display.markdown(model.name)
    if n_lines == 1:
        return (
            f"Your text is **one line**, which needs no padding: put more lines in the text box, and they make a "
            f"batch. Here is the one, as **{name}** reads it."
        )
    left_out = f" The first {n_lines:,} of {n_typed:,} are taken." if n_typed > n_lines else ""
    return (
        f"The {n_lines:,} lines of your text as **one batch** for **{name}**: a rectangle, filled up with padding "
        f"that is computed and thrown away.{left_out}"
    )


def title(batching: Batching, max_length: int, bucket: int) -> str:
    """What one picture shows, as Markdown."""
    name = {
        "fixed": f"**max_length = {max_length:,}**",
        "dynamic": "**Dynamic**: to the longest line",
        "bucketed": f"**Buckets** of {bucket}, sorted by length",
    }[batching.method]
    return f"{name}  \n:small[:gray[{percent(batching.padding_share)} of it padding, hatched]]"


def state(run: LiveRun[BatchTime], done: int, whole: int, n_rounds: int) -> str:
    """How far the measurement is, for the bar."""
    rounds = f"median of {n_rounds} rounds" if n_rounds > 1 else "one round"
    match run.state:
        case "waiting":
            return live_run.WAITING
        case "running":
            left = f", about {max(1, round(run.seconds * (whole - done) / done))} s left" if done else ""
            return f"{done:,} of {whole:,} tokens{left}"
        case "finished":
            return f"Measured here just now, {rounds}"
        case "stopped":
            return f"Stopped after {done:,} of {whole:,} tokens"
        case _:
            return f"Failed after {done:,} of {whole:,} tokens"


def table(batchings: Sequence[Batching], n_heads: int, shape: PassShape, seconds: Mapping[Method, float]) -> str:
    """Every number of the three ways, as a Markdown table."""
    names = {"fixed": "max_length", "dynamic": "dynamic", "bucketed": "buckets"}
    rows = [
        ("batches", [f"{len(one.batches):,}" for one in batchings]),
        ("tokens computed", [f"{one.n_tokens:,}" for one in batchings]),
        ("of them padding", [f"{one.n_padding:,}" for one in batchings]),
        ("attention matrix of a layer", [bytes_text(one.matrix_bytes(n_heads)) for one in batchings]),
        ("× the lines alone", [times(one.matrix_ratio) for one in batchings]),
        ("the same, at once", [bytes_text(one.largest_matrix_bytes(n_heads)) for one in batchings]),
        ("activations of a layer, at once", [bytes_text(one.activation_bytes(shape)) for one in batchings]),
        ("time of all lines", [seconds_text(seconds[m]) if (m := one.method) in seconds else "–" for one in batchings]),
    ]
    head = "| | " + " | ".join(names[one.method] for one in batchings) + " |\n|:---|" + "---:|" * len(batchings)
    return "\n".join([head, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows)])


def seen(batchings: Sequence[Batching], max_length: int, n_heads: int, seconds: Mapping[Method, float]) -> str:
    """*What you see* and *Try*, as Markdown."""
    by_method = {one.method: one for one in batchings}
    padded, loose, sorted_ = (by_method[method] for method in ("fixed", "dynamic", "bucketed"))
    alone = sum(length**2 for length in padded.lengths) / padded.cells
    wasted = padded.matrix_bytes(n_heads) * (1 - alone)
    shortest, longest = min(padded.lengths), max(padded.lengths)
    lines = f"Lines of {shortest:,} to {longest:,} tokens" if shortest < longest else f"Lines of {longest:,} tokens"
    said = (
        f"**What you see** {lines}. Padded to "
        f"{max_length:,}, the attention matrix of a layer is **{times(padded.matrix_ratio)}** that of the lines alone, "
        f"{bytes_text(wasted)} of it wasted where it is stored. Dynamic padding takes {times(loose.matrix_ratio)}, "
        f"buckets {times(sorted_.matrix_ratio)}.{_time(seconds)}"
    )
    return f"{said}\n\n{_try(len(padded.lengths))}\n\n:small[:gray[{textbook()}]]"


def _time(seconds: Mapping[Method, float]) -> str:
    if len(seconds) < 3:
        return ""
    return (
        f" Measured, max_length takes {seconds['fixed'] / seconds['dynamic']:.2g} × as long as dynamic padding and "
        f"{seconds['fixed'] / seconds['bucketed']:.2g} × as long as buckets."
    )


def _try(n_lines: int) -> str:
    if n_lines == 1:
        return "**Try** A second, longer line in the text box."
    return "**Try** One very long line among short ones: dynamic padding pays for it in all of them, buckets do not."


def textbook() -> str:
    """The well-known example, worked out by the same code."""
    from tfmviz.analysis.padding_waste import fixed

    ratio = fixed([TEXTBOOK_LINE], TEXTBOOK_LENGTH).matrix_ratio
    return (
        f"The same computation for lines of {TEXTBOOK_LINE} tokens padded to {TEXTBOOK_LENGTH}: {times(ratio)} the "
        "matrix. Bytes are of float32 weights. Fused attention computes these cells and never stores them; the "
        "activations are the widest moment of one layer, 8 d_model + 3 d_ff numbers a token."
    )


def times(ratio: float) -> str:
    """A ratio, as ``64 ×``: two significant digits, whole from 10 on."""
    return f"{ratio:,.0f} ×" if ratio >= 9.95 else f"{ratio:.1f} ×"

"""The schemes by themselves, for any size: sinusoids, rotary pairs, ALiBi's slopes and T5's buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from tfmviz.charts import curves_layout, position_curves
from tfmviz.charts.position_curves import Line
from tfmviz.ui import address, loading, pickers, positions_words
from tfmviz.ui.address import Notes
from tfmviz.ui.requests import TraceRequest

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

WIDEST, LONGEST = 1024, 4096
MOST_HEADS = 32
BASES = (2, 10, 100, 1_000, 10_000, 100_000, 500_000, 1_000_000)


def number(label: str, key: str, low: int, high: int, default: int, notes: Notes, step: int = 1) -> int:
    """A whole number from a slider, within its bounds whatever the address says."""
    notes.add(address.settle_number(key, low, high, default, what=f"{label.lower()} of"))
    return min(max(int(st.slider(label, low, high, default, step, key=key, bind="query-params", width=260)), low), high)


def _base(notes: Notes, default: int = 10_000) -> int:
    notes.add(address.settle("base", BASES, default, what="base", among=f"There are {', '.join(map(str, BASES))}"))
    chosen = st.select_slider("Base", BASES, default, key="base", bind="query-params", width=260)
    return chosen if chosen in BASES else default


def chart(figure: Figure, key: str, alt: str) -> None:
    """A line chart or heatmap, without Plotly's theme of its own."""
    config: dict[str, Any] = curves_layout.config(f"tfmviz {key}")
    st.plotly_chart(figure, key=key, theme=None, config=config, alt=alt)


def sinusoids(request: TraceRequest, line: loading.Line) -> None:
    """Curves by dimension, the encoding as a heatmap, and dot products against distance."""
    from tfmviz.analysis import positions

    del request  # the formula knows no text
    notes, notices = Notes(), st.container()
    with st.container(horizontal=True, gap="small"):
        d_model = number("Width d_model", "d_model", 1, WIDEST, 64, notes)
        length = number("Positions", "positions", 1, LONGEST, 128, notes)
        base = _base(notes)
    notes.say(notices)
    table = positions.encoding(length, d_model, base)
    waves = positions.wavelengths(d_model, base)
    line.say(
        "Every position gets a vector of **sines and cosines**: fast waves in the first dimensions, slow ones in the "
        "last."
    )
    at, dark = np.arange(length, dtype=np.float32), pickers.is_dark()
    left, right = st.columns(2, gap="medium")
    with left:
        title = f"encoding, {length:,} positions × {d_model:,} dimensions"
        figure = position_curves.heat(table.numpy(), x_title="dimension", y_title="position", title=title, dark=dark)
        chart(figure, "encoding", "The encoding: one row a position, one column a dimension")
    with right:
        shown = sorted({0, min(1, d_model - 1), d_model // 4, d_model // 2, d_model - 1})
        curves = [Line(name=f"dim {i}", x=at, y=table[:, i].numpy()) for i in shown]
        figure = position_curves.lines(curves, x_title="position", title="value of some dimensions", dark=dark)
        chart(figure, "curves", "Some dimensions of the encoding against the position")
    dots = positions.dots_by_distance(table)
    figure = position_curves.lines(
        [Line(name="sinusoids", x=at, y=dots.numpy())],
        x_title="distance in positions",
        title="dot product of two encodings, as a share of its most",
        dark=dark,
    )
    chart(figure, "dots", "Dot product of two encodings against their distance")
    st.markdown(positions_words.sinusoids(dots, waves, length))


def rotary(request: TraceRequest, line: loading.Line) -> None:
    """Pairs as hands of clocks, their speeds, and scores against distance, plain and scaled."""
    from tfmviz.analysis import positions

    notes, notices = Notes(), st.container()
    with st.container(horizontal=True, gap="small"):
        pairs = number("Pairs in a head", "pairs", 1, 128, 32, notes)
        base = _base(notes)
        trained = number("Trained length", "trained", 16, 8192, 2048, notes, 16)
        factor = number("Longer by a factor", "factor", 1, 16, 4, notes)
        position = number("Position", "position", 0, 8192, 5, notes)
    notes.say(notices)
    made = {
        scaling: positions.turns(2 * pairs, base=base, scaling=scaling, factor=factor, trained_length=trained)
        for scaling in positions.SCALINGS
    }
    plain = made["none"]
    line.say(
        "Queries and keys are **turned** by an angle that grows with their position: a score then depends on the "
        "difference of positions alone."
    )
    dark = pickers.is_dark()
    shown = sorted({round(i * (pairs - 1) / 7) for i in range(8)})
    angles = plain.angles(position)
    figure = position_curves.clocks(
        [float(angles[i]) for i in shown],
        [f"pair {i}" for i in shown],
        title=f"where pairs stand at position {position:,}",
        dark=dark,
    )
    chart(figure, "clocks", f"Angle of some pairs at position {position}")
    left, right = st.columns(2, gap="medium")
    index = np.arange(pairs, dtype=np.float32)
    with left:
        figure = position_curves.lines(
            [Line(name=_name(scaling), x=index, y=one.wavelength.numpy()) for scaling, one in made.items()],
            x_title="pair",
            title="positions until a pair has come round (log axis)",
            log_y=True,
            dark=dark,
        )
        chart(figure, "speeds", "Wavelength of every pair, plain and scaled")
    with right:
        distances = np.unique(np.geomspace(1, trained * factor, 400).round()).astype(np.float32)
        figure = position_curves.lines(
            [Line(name=_name(scaling), x=distances, y=_scores(one, distances)) for scaling, one in made.items()],
            x_title="distance in positions (log axis); dashed: trained length",
            title="what is left of a score between equal vectors",
            log_x=True,
            mark=trained,
            dark=dark,
        )
        chart(figure, "scores", "Score against distance, plain and scaled")
    st.markdown(positions_words.rotary(plain, factor))


def _name(scaling: str) -> str:
    return "plain" if scaling == "none" else scaling


def _scores(one: Any, distances: np.ndarray) -> np.ndarray:
    import torch

    from tfmviz.analysis import positions

    scores: np.ndarray = positions.score_by_distance(one, torch.from_numpy(distances)).numpy()
    return scores


def biases(request: TraceRequest, line: loading.Line) -> None:
    """ALiBi's slopes and biases, and T5's buckets."""
    from tfmviz.analysis import positions

    del request
    notes, notices = Notes(), st.container()
    with st.container(horizontal=True, gap="small"):
        n_heads = number("Heads", "n_heads", 1, MOST_HEADS, 8, notes)
        length = number("Positions", "positions", 2, LONGEST, 128, notes)
        n_buckets = number("T5 buckets", "buckets", 4, 128, 32, notes)
        reach = number("T5 largest distance", "reach", 65, 512, 128, notes)
    notes.say(notices)
    slopes, bias = positions.alibi(n_heads, length)
    distance, bucket = positions.buckets(length, n_buckets, reach)
    line.say(
        "Two schemes that leave queries and keys alone and **add a number to each score**, which depends on the "
        "distance."
    )
    dark, at = pickers.is_dark(), np.arange(length, dtype=np.float32)
    shown = sorted({round(i * (n_heads - 1) / 7) for i in range(8)})
    left, right = st.columns(2, gap="medium")
    with left:
        curves = [Line(name=f"head {i}", x=at[1:], y=-bias[i, 1:].numpy()) for i in shown]
        figure = position_curves.lines(
            curves,
            x_title="distance in positions",
            title="ALiBi: what is taken off the score (log axis)",
            log_y=True,
            dark=dark,
        )
        chart(figure, "alibi", "ALiBi's bias of some heads against distance")
    with right:
        curves = [Line(name="both directions", x=distance.numpy().astype(np.float32), y=bucket.numpy())]
        figure = position_curves.lines(
            curves, x_title="key position − query position", title="T5: number of the bucket", dark=dark
        )
        chart(figure, "buckets_chart", "T5's bucket against distance")
    st.markdown(positions_words.biases(slopes, bucket, length))

"""What stands beside the picture: one query's row, why the root of d is there, and other readings of the same pairs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from tfmviz.charts import curves_layout, saturation, stage_map
from tfmviz.errors import NoAttention
from tfmviz.ui import inside_row, pickers
from tfmviz.ui.counting import significant
from tfmviz.ui.inside_view import InsideView

if TYPE_CHECKING:
    from tfmviz.analysis.inside_softmax import Saturation, Spread


def draw(kind: str, step: str, view: InsideView) -> None:
    """One of the views of ``inside_inputs.CLOSER``."""
    match kind:
        case "why √d":
            _why(view)
        case "value-weighted":
            _value_weighted(view)
        case "cosine":
            _cosine(view)
        case "rotary":
            _rotary(view)
        case _:
            st.markdown(inside_row.heading(view))
            inside_row.draw(step, view)


def spreads(view: InsideView) -> tuple[Spread, Spread]:
    """How the rows are spread out by the model's formula, and by the changed one. Rows of one key tell nothing."""
    import torch

    from tfmviz.analysis.inside_softmax import spread

    telling = view.own.visible.sum(-1) > 1
    both = []
    for stages in (view.own, view.found):
        rows = torch.cat([stages.weights, stages.sink[:, None]], -1)
        both.append(spread(rows[telling] if bool(telling.any()) else rows))
    return both[0], both[1]


def _why(view: InsideView) -> None:
    own, found = spreads(view)
    lines = ["| mean over rows | this model | changed |", "|---|---|---|"]
    for name, one, other, unit in (
        ("entropy", own.entropy, found.entropy, " bits"),
        ("largest weight", own.largest, found.largest, ""),
        ("gradient through the softmax", own.gradient, found.gradient, ""),
    ):
        lines.append(
            f"| {name} | {significant(float(one.mean()), 3)}{unit} | {significant(float(other.mean()), 3)}{unit} |"
        )
    st.markdown("\n".join(lines))
    measured = _measured()
    widths = sorted({one.d for one in measured})
    figure = saturation.figure(
        widths,
        _series(measured, "variance"),
        _series(measured, "largest"),
        _series(measured, "gradient"),
        here=view.found.query.shape[1],
        dark=pickers.is_dark(),
    )
    alt = "Variance of the scores, largest weight and gradient through the softmax by the width of the head"
    st.plotly_chart(figure, key="why_chart", theme=None, config=curves_layout.config("tfmviz root of d"), alt=alt)
    st.caption(
        "Measured on random vectors, 256 queries with 64 keys each. The dotted line is the law that the variance is d; "
        f"the thin line marks this model's d = {view.found.query.shape[1]}."
    )


@cache
def _measured() -> tuple[Saturation, ...]:
    from tfmviz.analysis.inside_softmax import saturation as measure

    return tuple(measure())


def _series(measured: tuple[Saturation, ...], what: str) -> list[saturation.WidthSeries]:
    return [
        saturation.WidthSeries(
            name="divided by √d" if scaled else "undivided",
            values=[getattr(one, what) for one in measured if one.scaled == scaled],
            scaled=scaled,
        )
        for scaled in (False, True)
    ]


def _value_weighted(view: InsideView) -> None:
    from tfmviz.analysis.inside import value_weighted

    try:
        lengths = value_weighted(view.inside, view.place.head, view.found)
    except NoAttention as error:
        st.info(str(error), icon=":material/block:")
        return
    st.markdown(
        "**What each key brings**: the length of weight × value through the head's slice of $W_O$. A large weight on a "
        "short value is little."
    )
    _map(view.cut(lengths), view, "length", unsigned=True)
    # over all keys: in a long text the largest weight may lie outside of the picture
    st.markdown(agreement(view.found.weights.numpy(), lengths.numpy(), view.found.visible.numpy()))


def agreement(weights: np.ndarray, lengths: np.ndarray, visible: np.ndarray) -> str:
    """How often the largest weight is also what brings most."""
    live = visible.any(axis=1)
    same = int((weights.argmax(1) == lengths.argmax(1))[live].sum())
    if int(live.sum()) == 1:
        return f"The key of the largest weight is {'' if same else 'not '}the one that brings most."
    return f"In {same} of {int(live.sum())} rows the key of the largest weight is the one that brings most."


def _cosine(view: InsideView) -> None:
    from tfmviz.analysis.inside import cosines

    cosine = view.cut(cosines(view.found))
    st.markdown(
        "**Cosine of the same pairs**: the dot product without the lengths of query and key. Where the two maps "
        "differ, a long key draws attention whatever it is asked."
    )
    _map(cosine, view, "cosine", highest=1.0)
    lengths = np.linalg.norm(view.found.key.numpy(), axis=-1)
    shortest, longest = significant(float(lengths.min()), 3), significant(float(lengths.max()), 3)
    st.markdown(
        f"Here q · k = {significant(float(view.found.scores[view.row, view.key]), 4)} and the cosine is "
        f"{cosine[view.row, view.column]:.3f}. Keys are {shortest} to {longest} long."
    )


def _rotary(view: InsideView) -> None:
    from tfmviz.analysis.inside import Turns, head_stages

    turns = Turns(scaled=view.turns.scaled, temperature=view.turns.temperature, rotated=view.changes.unrotated)
    other = head_stages(view.inside, view.place.head, rows=view.rows, turns=turns)
    here, there = ("without", "with") if view.changes.unrotated else ("with", "without")
    st.markdown(f"**The same head {there} its rotation by position**; the picture beside it is {here}.")
    _map(view.cut(other.weights), view, "weight", unsigned=True, highest=1.0)
    moved = 0.5 * np.abs(view.found.weights.numpy() - other.weights.numpy()).sum(1)
    st.markdown(f"Rotation moves {100 * float(moved.mean()):.0f} % of the attention of a row, on average.")


def _map(
    values: np.ndarray, view: InsideView, unit: str, *, unsigned: bool = False, highest: float | None = None
) -> None:
    figure = stage_map.figure(
        values,
        view.query_tokens,
        view.key_tokens,
        unit=unit,
        visible=view.visible,
        unsigned=unsigned,
        highest=highest,
        ring=(view.row, view.column),
        dark=pickers.is_dark(),
    )
    alt = f"{unit} of every query and key of {view.place.name}"
    config = stage_map.config(f"tfmviz {view.place.name} {unit}")
    st.plotly_chart(figure, key="closer_map", theme=None, config=config, alt=alt)

"""Two models with the same tokens, layers and heads: do they compute the same, number by number?"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.charts import curves_layout
from tfmviz.charts import same_weights as chart
from tfmviz.text import display
from tfmviz.ui import compare_jobs, loading, pickers

if TYPE_CHECKING:
    from tfmviz.analysis.same_weights import LargestDifferences
    from tfmviz.ui.compare_sides import Side

_HEIGHT = 400  # px, of the picture and at most of its numbers


def draw(a: Side, b: Side) -> None:
    """The largest differences, layer by layer, or why there are none to be had."""
    from tfmviz.analysis.same_weights import MOST_WEIGHT, comparable

    if not comparable(a.stack, b.stack) or a.model.d_model != b.model.d_model:
        st.info(
            f"{display.markdown(a.name)} and {display.markdown(b.name)} do not have the same tokens, layers, heads and "
            "width, so there are no numbers to lay over each other. Take a model and the one written here with the "
            "same weights: minilm with scratch-minilm, or smollm2 with scratch-smollm2.",
            icon=":material/block:",
        )
        return
    line = loading.Line(st.container())
    found = loading.wait(compare_jobs.same_job((a.request, b.request), a.model, b.model), line)
    line.say(words(found, is_one=a.request.trace.model == b.request.trace.model))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.plotly_chart(
            chart.figure(found, bound=MOST_WEIGHT, dark=pickers.is_dark()),
            key="same_weights",
            theme=None,
            config=curves_layout.config("tfmviz number by number"),
            alt="Largest difference of attention weights and hidden states in each layer, on a log axis",
        )
    with right:
        _numbers(found)


def words(found: LargestDifferences, *, is_one: bool = False) -> str:
    """What the picture says.

    Args:
        found: the differences.
        is_one: both sides are one and the same model in memory, whose agreement proves nothing.
    """
    logits = "" if found.logits is None else f", logits of the next token by at most {_size(found.logits)}"
    verdict = "The two compute the same" if found.is_kept else "The two do not compute the same"
    said = (
        f"**Number by number** {verdict}: attention weights differ by at most {_size(found.weight)}, hidden states by "
        f"at most {_size(float(found.hidden.max()))}{logits}."
    )
    if is_one:
        return f"{said} A and B are one model in memory here, so this proves nothing about its code."
    if found.is_exact:
        return (
            f"{said} Not one bit differs: two models, each with its own copy of the weights, hand the same numbers to "
            "the same kernels in the same order."
        )
    return said


def _numbers(found: LargestDifferences) -> None:
    """Every number of the picture."""
    import pandas as pd

    layers = range(len(found.weights))
    st.dataframe(
        pd.DataFrame(
            {
                "": ["embedding", *(f"L{layer}" for layer in layers)],
                "attention weights": ["–", *("none" if isnan(size) else _size(size) for size in found.weights)],
                "hidden states": [_size(size) for size in found.hidden],
            }
        ),
        key="same_numbers",
        hide_index=True,
        height=min(38 + 36 * (1 + len(found.weights)), _HEIGHT),
    )


def _size(number: float) -> str:
    return "0" if number == 0 else f"{number:.1e}"

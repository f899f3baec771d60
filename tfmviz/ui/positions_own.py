"""The rotation or the biases of the loaded model itself, as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from tfmviz.charts import position_curves
from tfmviz.charts.position_curves import Line
from tfmviz.ui import pickers, positions_words
from tfmviz.ui.positions_schemes import chart

if TYPE_CHECKING:
    from tfmviz.analysis.positions_own import OwnBias, OwnRotation

MOST_HEADS = 8
_POINTS = 400


def rotations(found: Sequence[OwnRotation]) -> None:
    """How fast every pair turns, and what that leaves of a score by distance."""
    dark = pickers.is_dark()
    left, right = st.columns(2, gap="medium")
    with left:
        speeds = [
            Line(name=_named(one), x=_index(one), y=one.turns.wavelength.numpy(), dots=len(_index(one)) == 1)
            for one in found
        ]
        figure = position_curves.lines(
            speeds, x_title="pair", title="positions until a pair has come round (log axis)", log_y=True, dark=dark
        )
        chart(figure, "own_speeds", "Wavelength of every pair of the loaded model")
    with right:
        trained = found[0].turns.trained_length
        distances = np.unique(np.geomspace(1, 2 * trained, _POINTS).round()).astype(np.float32)
        scores = [Line(name=_named(one), x=distances, y=_scores(one, distances)) for one in found]
        figure = position_curves.lines(
            scores,
            x_title="distance in positions (log axis); dashed: the most it takes",
            title="what is left of a score between equal vectors",
            log_x=True,
            mark=trained,
            dark=dark,
        )
        chart(figure, "own_scores", "Score against distance with the loaded model's own rotation")
    st.markdown(positions_words.own_rotations(found))


def _named(one: OwnRotation) -> str:
    return one.layers or "all layers"


def _index(one: OwnRotation) -> np.ndarray:
    return np.arange(len(one.turns.radians), dtype=np.float32)


def _scores(one: OwnRotation, distances: np.ndarray) -> np.ndarray:
    import torch

    from tfmviz.analysis import positions

    scores: np.ndarray = positions.score_by_distance(one.turns, torch.from_numpy(distances)).numpy()
    return scores


def biases(found: Sequence[OwnBias]) -> None:
    """What each head adds to its scores by distance, one picture a stack."""
    for one, place in zip(found, st.columns(len(found), gap="medium"), strict=True):
        with place:
            _bias(one)
    st.markdown(positions_words.own_biases(found))


def _bias(one: OwnBias) -> None:
    n_heads = len(one.bias)
    shown = sorted({round(i * (n_heads - 1) / max(MOST_HEADS - 1, 1)) for i in range(MOST_HEADS)})
    options: dict[str, Any] = {"x_title": "key position − query position", "dark": pickers.is_dark()}
    at = one.distance.numpy().astype(np.float32)
    figure = position_curves.lines(
        [Line(name=f"head {i}", x=at, y=one.bias[i].numpy()) for i in shown],
        title=f"{positions_words.stack_name(one.stack)}: added to the score",
        mark=0,
        **options,
    )
    chart(figure, f"own_bias_{one.stack}", f"Bias of some heads against distance, {one.stack}")

"""Each step of a head as a picture: its numbers, its shape, its formula and its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from tfmviz.charts import stage_map
from tfmviz.errors import NoAttention
from tfmviz.ui import pickers
from tfmviz.ui.counting import significant
from tfmviz.ui.inside_view import MOST_DIMENSIONS, InsideView

if TYPE_CHECKING:
    from tfmviz.text import Token

TITLES = {
    "query": "Queries: what each token looks for",
    "key": "Keys: what each token answers to",
    "value": "Values: what each token has to give",
    "scores": "Scores: every query meets every key",
    "scaled": "Scaled scores",
    "masked": "Masked scores: what may not be seen is out",
    "weights": "Weights: each row sums to 1",
    "output": "Output: values in the shares of the weights",
    "projection": "Through the head's slice of the output projection",
    "residual": "Added to the residual stream",
}
STREAM = "stream after"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StepPicture:
    """One step.

    Attributes:
        values: [rows, columns] of the window.
        shape: of the step over the whole text.
        formula: KaTeX.
        unit: what a number is.
        rows: the tokens down the side.
        rows_are: whose colour they have.
        columns: the tokens across; None for dimensions.
        visible: False for masked cells.
        is_weight: whether the numbers go from 0 to 1.
        ring: the followed row or cell.
    """

    values: np.ndarray
    shape: tuple[int, int]
    formula: str
    unit: str
    rows: Sequence[Token]
    rows_are: stage_map.Role
    columns: Sequence[Token] | None = None
    visible: np.ndarray | None = None
    is_weight: bool = False
    ring: tuple[int, int | None] | None = None

    @property
    def highest(self) -> float | None:
        """Where the colours end. A stream has a few dimensions a hundred times as large as the rest, so it is where 99
        of 100 numbers are below; None for the largest.
        """
        if self.is_weight:
            return 1.0
        return float(np.quantile(np.abs(self.values), 0.99)) if self.unit == STREAM else None

    @property
    def span(self) -> tuple[float, float]:
        """Smallest and largest number that is not masked."""
        shown = self.values if self.visible is None else self.values[self.visible]
        return (float(shown.min()), float(shown.max())) if shown.size else (0.0, 0.0)


def picture(step: str, view: InsideView) -> StepPicture:
    """The picture of a step.

    Raises:
        NoAttention: if the model's output projection or residual addition was not found.
    """
    if step in ("query", "key", "value"):
        return _vectors(step, view)
    if step in ("scores", "scaled", "masked", "weights"):
        return _map(step, view)
    return _mixed(step, view)


def _vectors(step: str, view: InsideView) -> StepPicture:
    found, letter = view.found, step[0].upper()
    turned = step != "value" and view.inside.unrotated is not None and not view.changes.unrotated
    turn = rf",\quad \text{{turned by position: }} {step[0]}_i \leftarrow R_i\,{step[0]}_i" if turned else ""
    rows = view.rows if step == "query" else view.cols
    whole = {"query": found.query, "key": found.key[rows], "value": found.value[rows]}[step]
    n = view.inside.source.n_queries if step == "query" else view.inside.source.n_keys
    return StepPicture(
        values=whole.numpy(),
        shape=(n, whole.shape[1]),
        formula=rf"{letter} = X\,W_{letter}^{{(h)}}{turn}",
        unit=step,
        rows=view.query_tokens if step == "query" else view.key_tokens,
        rows_are={"query": "query", "key": "key", "value": "value"}[step],  # type: ignore[arg-type]
        ring=(view.row if step == "query" else view.column, None),
    )


def _map(step: str, view: InsideView) -> StepPicture:
    found = view.found
    values = {"scores": found.scores, "scaled": found.scaled, "masked": found.biased, "weights": found.weights}[step]
    return StepPicture(
        values=view.cut(values),
        shape=(view.inside.source.n_queries, view.inside.source.n_keys),
        formula=formula(step, view),
        unit={"scores": "q · k", "scaled": "score", "masked": "score", "weights": "weight"}[step],
        rows=view.query_tokens,
        rows_are="query",
        columns=view.key_tokens,
        visible=view.visible if step in ("masked", "weights") else None,
        is_weight=step == "weights",
        ring=(view.row, view.column),
    )


def formula(step: str, view: InsideView) -> str:
    """KaTeX of a step between queries and weights, with this model's numbers."""
    found, d = view.found, view.found.query.shape[1]
    match step:
        case "scores":
            return rf"S = Q K^\top,\qquad S_{{ij}} = \textstyle\sum_{{c=1}}^{{{d}}} q_{{ic}}\,k_{{jc}}"
        case "scaled":
            plain = abs(found.scale - d**-0.5) < 1e-6
            inner = rf"\frac{{S}}{{\sqrt{{{d}}}}}" if plain else rf"{found.scale:.4g}\; S"
            if found.softcap is None:
                return rf"\tilde S = {inner}"
            return rf"\tilde S = c\,\tanh\!\left({inner}\,/\,c\right),\quad c = {found.softcap:g}"
        case "masked":
            bias = r" + b_{ij}" if found.has_bias else ""
            return (
                rf"M_{{ij}} = \tilde S_{{ij}}{bias}\ \text{{ if }} i \text{{ may look at }} j, \text{{ else }} -\infty"
            )
        case _:
            sink = r"e^{\,\text{sink}} + " if view.inside.source.sink is not None else ""
            return rf"A_{{ij}} = \frac{{e^{{M_{{ij}}}}}}{{{sink}\sum_{{j'}} e^{{M_{{ij'}}}}}}"


def _mixed(step: str, view: InsideView) -> StepPicture:
    from tfmviz.analysis.inside import contribution

    n = view.inside.source.n_queries
    if step == "output":
        values, text = view.found.output, r"O = A\,V,\qquad o_i = \textstyle\sum_j A_{ij}\,v_j"
    elif step == "projection":
        values, text = contribution(view.inside, view.place.head, view.found), r"C^{(h)} = O\,W_O^{(h)}"
        if view.inside.projection is not None and view.inside.projection.changed:
            text = r"C^{(h)} = O'\,W_O^{(h)},\qquad O' = \text{what this model makes of } O"
    else:
        residual = view.inside.residual
        if residual is None:
            raise NoAttention(" ".join(view.inside.missing))
        values = residual.after[view.rows]
        bias = " + b_O" if view.inside.projection is not None and view.inside.projection.bias is not None else ""
        text = rf"x_i \leftarrow x_i + \textstyle\sum_h C^{{(h)}}_i{bias}"
        if residual.changed > 0:
            text = rf"x_i \leftarrow x_i + f\!\left(\textstyle\sum_h C^{{(h)}}_i{bias}\right)"
        if not residual.alone:
            text += r" + \text{a parallel branch}"
    unit = {"output": "output", "projection": "added by this head", "residual": STREAM}[step]
    return StepPicture(
        values=values[:, :MOST_DIMENSIONS].numpy(),
        shape=(n, values.shape[1]),
        formula=text,
        unit=unit,
        rows=view.query_tokens,
        rows_are="query" if step == "output" else "plain",
        ring=(view.row, None),
    )


def draw(step: str, view: InsideView) -> None:
    """Title, formula, shape and range, and the picture."""
    try:
        made = picture(step, view)
    except NoAttention as error:
        st.info(str(error), icon=":material/block:")
        return
    changed = "" if view.turns.is_the_models else ", **changed**"
    low, high = map(significant, made.span)
    st.markdown(
        f"**{TITLES[step]}** &nbsp; {view.place.name}{changed}\n\n$${made.formula}$$\n\n"
        f":small[{made.shape[0]:,} × {made.shape[1]:,} numbers, {low} to {high}{_part(made, view)}]"
    )
    figure = stage_map.figure(
        made.values,
        made.rows,
        made.columns,
        unit=made.unit,
        rows_are=made.rows_are,
        visible=made.visible,
        unsigned=made.is_weight,
        highest=made.highest,
        ring=made.ring,
        dark=pickers.is_dark(),
    )
    alt = f"{TITLES[step]} of {view.place.name}: {made.shape[0]} rows, {made.shape[1]} columns"
    name = f"tfmviz {view.place.name} {step}"
    with st.container(key="map"):
        st.plotly_chart(figure, key="step_map", theme=None, config=stage_map.config(name), alt=alt)


def _part(made: StepPicture, view: InsideView) -> str:
    """What of a large step the picture shows."""
    rows, columns = made.values.shape
    parts = []
    if rows < made.shape[0]:
        first = view.rows.start if made.rows is view.query_tokens else view.cols.start
        parts.append(f"rows {first:,} to {first + rows - 1:,}")
    if columns < made.shape[1]:
        first = 0 if made.columns is None else view.cols.start
        what = "dimensions" if made.columns is None else "columns"
        parts.append(f"{what} {first:,} to {first + columns - 1:,}")
    shown = f". Shown: {', '.join(parts)}" if parts else ""
    return shown if made.unit != STREAM else f"{shown}. Colours end at ±{significant(made.highest or 0.0)}"

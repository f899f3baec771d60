"""One query followed alone: the numbers of its row at the step on the screen, as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from tfmviz.charts import bars, curves_layout
from tfmviz.charts.bars import BarPanel
from tfmviz.text import display
from tfmviz.ui import pickers
from tfmviz.ui.counting import significant
from tfmviz.ui.inside_view import InsideView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfmviz.text import Token


def draw(step: str, view: InsideView) -> None:
    """The bars that belong to a step."""
    if step in ("query", "key", "scores"):
        _dimensions(view)
    if step in ("scores", "scaled", "masked", "weights"):
        _keys(view)
    if step in ("value", "output"):
        _values(view)
    if step == "projection":
        _brought(view)
    if step == "residual":
        _stream(view)


def products_of(view: InsideView) -> np.ndarray:
    """The products, dimension by dimension, whose sum is the followed score; [d]."""
    from tfmviz.analysis.inside import products

    return products(view.found, view.row, view.key).numpy()


def _dimensions(view: InsideView) -> None:
    """The query, the key and their products, dimension by dimension."""
    found, each = view.found, products_of(view)
    largest = int(np.abs(each).argmax())
    panels = [
        BarPanel(title="query q", values=found.query[view.row].numpy(), role="query", chosen=largest),
        BarPanel(title="key k", values=found.key[view.key].numpy(), role="key", chosen=largest),
        BarPanel(title=f"q × k, in sum {significant(float(each.sum()), 4)}", values=each, chosen=largest),
    ]
    _show(panels, None, "dimension of the head", "row_products")


def _keys(view: InsideView) -> None:
    """The followed row before and after each step, a bar a key."""
    found, hidden = view.found, ~view.visible[view.row]
    scaled = "after scaling" if found.softcap is None else "after scaling and soft cap"
    panels = [
        BarPanel(title="q · k before scaling", values=view.line(found.scores), chosen=view.column),
        BarPanel(title=scaled, values=view.line(found.scaled), chosen=view.column),
        BarPanel(
            title="masked" if not found.has_bias else "position bias added, masked",
            values=view.line(found.biased),
            masked=hidden,
            chosen=view.column,
        ),
        BarPanel(
            title="after the softmax: weight",
            values=view.line(found.weights),
            role="weight",
            masked=hidden,
            low=0,
            high=1,
            chosen=view.column,
        ),
    ]
    _show(panels, view.key_tokens, "key", "row_keys")


def _values(view: InsideView) -> None:
    """The followed key's value, its share, and the weighted sum of all values."""
    found = view.found
    weight = float(found.weights[view.row, view.key])
    value = found.value[view.key].numpy()
    panels = [
        BarPanel(title="value v of the key", values=value, role="value"),
        BarPanel(title=f"its share: {significant(weight, 3)} × v", values=weight * value, role="value"),
        BarPanel(title="sum of all shares: the head's output", values=found.output[view.row].numpy(), role="value"),
    ]
    _show(panels, None, "dimension of the value", "row_values")
    panels = [
        BarPanel(
            title="weight of each key",
            values=view.line(found.weights),
            role="weight",
            masked=~view.visible[view.row],
            low=0,
            high=1,
            chosen=view.column,
        )
    ]
    _show(panels, view.key_tokens, "key", "row_weights")


def _brought(view: InsideView) -> None:
    """What each key brings to the followed query: its weight, and the length of what comes of it."""
    from tfmviz.analysis.inside import value_weighted

    if view.inside.projection is None:
        return
    hidden = ~view.visible[view.row]
    panels = [
        BarPanel(
            title="weight",
            values=view.line(view.found.weights),
            role="weight",
            masked=hidden,
            low=0,
            high=1,
            chosen=view.column,
        ),
        BarPanel(
            title="length of weight · v · W_o",
            values=view.line(value_weighted(view.inside, view.place.head, view.found)),
            role="value",
            masked=hidden,
            low=0,
            chosen=view.column,
        ),
    ]
    _show(panels, view.key_tokens, "key", "row_brought")


def _stream(view: InsideView) -> None:
    """Lengths of the stream before, of this head's part, of all that is added, and of the stream after."""
    from tfmviz.analysis.inside import contribution

    residual = view.inside.residual
    if residual is None or view.inside.projection is None:
        return
    part = contribution(view.inside, view.place.head, view.found)
    lengths = {
        "length of the stream before": residual.before[view.rows],
        "of this head's part": part,
        "of all that attention adds": residual.update[view.rows],
        "of the stream after": residual.after[view.rows],
    }
    panels = [
        BarPanel(title=title, values=np.linalg.norm(x.numpy(), axis=-1), low=0, chosen=view.row)
        for title, x in lengths.items()
    ]
    _show(panels, view.query_tokens, "token", "row_stream")


def _show(panels: Sequence[BarPanel], tokens: Sequence[Token] | None, x_title: str, key: str) -> None:
    figure = bars.figure(panels, tokens, x_title=x_title, are_keys=x_title == "key", dark=pickers.is_dark())
    alt = f"Bars: {', then '.join(panel.title for panel in panels)}"
    name = f"tfmviz {key.replace('_', ' ')}"
    st.plotly_chart(figure, key=key, theme=None, config=curves_layout.config(name), alt=alt)


def heading(view: InsideView) -> str:
    """Whose bars these are, as Markdown."""
    query, key = (display.markdown(display.label(token)) for token in (view.query_token, view.key_token))
    return f":blue[Query {view.query} **{query}**] and :orange[key {view.key} **{key}**]"

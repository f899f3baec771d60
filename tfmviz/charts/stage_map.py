"""One step of a head as a map of numbers: tokens down, and keys or dimensions across."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from tfmviz.charts.fonts import MONO, SANS
from tfmviz.charts.map_layout import colour_bar, under
from tfmviz.charts.mask_hatch import hatch
from tfmviz.charts.palette import Palette, palette, plotly_scale
from tfmviz.errors import ConfigError
from tfmviz.text import Token, display

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Role = Literal["query", "key", "value", "plain"]
LONGEST_LABEL = 12
MOST_UPRIGHT = 32  # upright labels side by side: more would lie on each other
_ROW, _ROOM, _TALLEST, _LOWEST = 16, 150, 620, 300
_STRIP = 62  # px above the map, for the colour bar
_TICK_SIZE = 11


def figure(
    values: Float[np.ndarray, "rows cols"],
    row_tokens: Sequence[Token],
    column_tokens: Sequence[Token] | None,
    *,
    unit: str,
    rows_are: Role = "query",
    first_column: int = 0,
    visible: Bool[np.ndarray, "rows cols"] | None = None,
    unsigned: bool = False,
    highest: float | None = None,
    ring: tuple[int, int | None] | None = None,
    dark: bool = False,
) -> Figure:
    """Draw numbers of any size, with 0 in the colour of the page.

    Args:
        values: finite where visible.
        row_tokens: the rows.
        column_tokens: the columns; None where the columns are dimensions.
        unit: what a number is, for hover and colour bar.
        rows_are: whose colour the row labels have.
        first_column: number of the first dimension.
        visible: False for masked cells, which are hatched; None for none.
        unsigned: the numbers are 0 or more and take the scale of weights.
        highest: end of the colour scale; None for the largest number here.
        ring: the row, or the cell, that is followed.
        dark: for a dark page.

    Raises:
        ConfigError: if the shapes do not agree.
    """
    from plotly.graph_objects import Figure

    n_rows, n_columns = values.shape
    if n_rows != len(row_tokens) or (column_tokens is not None and n_columns != len(column_tokens)):
        raise ConfigError(f"values have shape {values.shape}, and there are {len(row_tokens)} row labels")
    colours = palette(dark)
    shown = values if visible is None else np.where(visible, values, np.nan)
    top = float(np.nanmax(np.abs(shown), initial=0.0)) if highest is None else highest
    top = top or 1.0
    columns = "key" if column_tokens is not None else "dimension"
    heat = {
        "type": "heatmap",
        "z": np.ascontiguousarray(shown, np.float32),
        "x0": first_column,
        "dx": 1,
        "zmin": 0 if unsigned else -top,
        "zmax": top,
        "colorscale": plotly_scale(colours.weights if unsigned else colours.difference),
        "colorbar": colour_bar(colours, unit, _bar_ticks(top, unsigned)),
        "hoverongaps": False,
        "hovertemplate": f"{rows_are if rows_are != 'plain' else 'token'} %{{y}}<br>{columns} %{{x}}"
        f"<br>{unit} %{{z:.4g}}<extra></extra>",
    }
    traces = [heat]
    if visible is not None and not visible.all():
        traces.append(hatch(visible, colours))
    made = _layout(row_tokens, column_tokens, n_columns, first_column, rows_are, colours)
    made["shapes"] = [] if ring is None else [_ring(ring, n_columns, first_column, colours)]
    return Figure({"data": traces, "layout": made}, _validate=False)


def config(name: str) -> dict[str, Any]:
    """Plotly's settings for this picture: a vector file on download, nothing else in the bar.

    Args:
        name: of the downloaded file, without its ending.
    """
    return {
        "displaylogo": False,
        "responsive": True,
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d"],
        "toImageButtonOptions": {"format": "svg", "filename": name},
    }


def _bar_ticks(top: float, unsigned: bool) -> dict[float, str]:
    end = f"{float(f'{top:.2g}'):g}"
    return {0.0: "0", top: end} if unsigned else {-top: f"−{end}", 0.0: "0", top: end}


def _ring(ring: tuple[int, int | None], n_columns: int, first_column: int, colours: Palette) -> dict[str, Any]:
    """A frame around the followed row, or around one cell of it."""
    row, column = ring
    left, right = (0, n_columns - 1) if column is None else (column, column)
    return {
        "type": "rect",
        "x0": first_column + left - 0.5,
        "x1": first_column + right + 0.5,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "line": {"color": colours.ink, "width": 1.5},
    }


def _layout(
    row_tokens: Sequence[Token],
    column_tokens: Sequence[Token] | None,
    n_columns: int,
    first_column: int,
    rows_are: Role,
    colours: Palette,
) -> dict[str, Any]:
    inks = {"query": colours.query_ink, "key": colours.key_ink, "value": colours.value_ink, "plain": colours.ink}
    widest = _widest(row_tokens)
    bottom = 62 if column_tokens is None else _widest(column_tokens) + 40
    x = _axis(colours.faint) | {"range": [first_column - 0.5, first_column + n_columns - 0.5]}
    if column_tokens is None:
        x |= {"title": _title("dimension", colours.faint), "nticks": 9}
    else:
        x |= (_token_ticks if n_columns <= MOST_UPRIGHT else _some_ticks)(column_tokens) | {"tickangle": 90}
        x["tickfont"] = x["tickfont"] | {"color": colours.key_ink}
    y = _axis(inks[rows_are]) | _token_ticks(row_tokens)
    y |= {"range": [len(row_tokens) - 0.5, -0.5], "title": _title(_rows_title(rows_are), inks[rows_are])}
    height = _STRIP + bottom + _ROW * len(row_tokens)
    return {
        "template": None,
        "xaxis": x,
        "yaxis": y,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": colours.masked,
        "font": {"color": colours.ink, "family": SANS},
        "margin": {"l": widest + 40, "r": 16, "t": _STRIP, "b": bottom, "autoexpand": False},
        "height": int(min(max(height, _LOWEST), max(_TALLEST, _ROOM + 11 * len(row_tokens)))),
        "annotations": [] if column_tokens is None else [under("Key: looked at", bottom - 32, colours.key_ink)],
        "hoverlabel": {
            "font": {"family": MONO, "size": 13, "color": colours.ink},
            "bgcolor": colours.background,
            "bordercolor": colours.faint,
            "namelength": -1,
        },
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": colours.faint, "activecolor": colours.ink},
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1,
            "yanchor": "bottom",
            "font": {"color": colours.faint, "size": 12},
            "itemclick": False,
            "itemdoubleclick": False,
        },
    }


def _rows_title(rows_are: Role) -> str:
    return {"query": "Query: looking", "key": "Key: looked at", "value": "Value: taken in", "plain": "Token"}[rows_are]


def _widest(tokens: Sequence[Token]) -> int:
    """Pixels that the longest label takes."""
    letters = max((display.columns(display.label(token, LONGEST_LABEL)) for token in tokens), default=0)
    return int(letters * 0.6 * _TICK_SIZE) + 10


def _token_ticks(tokens: Sequence[Token]) -> dict[str, Any]:
    """Numeric places with tokens written at them: names as categories would merge equal tokens."""
    texts = [display.plotly(token, LONGEST_LABEL) for token in tokens]
    return {"tickmode": "array", "tickvals": list(range(len(texts))), "ticktext": texts}


def _some_ticks(tokens: Sequence[Token]) -> dict[str, Any]:
    """As many tokens as there is room for; the alias of a number is its token, on the axis and on hover."""
    names = {str(i): display.plotly(token, LONGEST_LABEL) for i, token in enumerate(tokens)}
    names |= {"-0.5": ""} | {f"{i}.5": "" for i in range(len(tokens))}  # between two tokens, when one zooms in
    return {"tickmode": "auto", "nticks": 24, "exponentformat": "none", "labelalias": names}


def _title(text: str, ink: str) -> dict[str, Any]:
    return {"text": text, "font": {"size": 13, "color": ink}, "standoff": 6}


def _axis(ink: str) -> dict[str, Any]:
    return {
        "tickfont": {"size": _TICK_SIZE, "color": ink, "family": MONO},
        "type": "linear",
        "ticks": "",
        "ticklabelstandoff": 4,
        "showgrid": False,
        "zeroline": False,
        # Left to itself Plotly measures every label for whether it leaves the picture: the margins here leave room.
        "automargin": False,
        "ticklabeloverflow": "allow",
        "tickangle": 0,
    }

"""How every token-by-token map is laid out: queries down, keys across, legend and scale in a strip above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfmviz.charts.fonts import MONO, SANS
from tfmviz.charts.palette import Palette
from tfmviz.text import display
from tfmviz.text.token import Token

MOST_TICKS = 60  # beyond it labels would overlap: Plotly then chooses which to draw, anew at each zoom
_LONGEST_LABEL = 16
_TICK_SIZE = 11
_TITLE_ROOM = 40  # px beside the labels, for the title of an axis
_STRIP = 104  # px above the map
_NARROW = 300  # px of a map on a phone
_WIDE, _MANY = 2, 12  # a map with so many times more columns than rows, and more than a few columns, is a wide one
_ROW, _LEAST = 20, 96  # px of a wide map's row, and of a wide map: the title of its rows must fit beside them


@dataclass(frozen=True, kw_only=True, slots=True)
class _Labels:
    """Tick labels, escaped, and the pixels that the longest takes."""

    texts: list[str]
    width: int


def _labels(tokens: Sequence[Token]) -> _Labels:
    widest = max((display.columns(display.label(token, _LONGEST_LABEL)) for token in tokens), default=0)
    return _Labels(
        texts=[display.plotly(token, _LONGEST_LABEL) for token in tokens], width=int(widest * 0.6 * _TICK_SIZE) + 8
    )


def is_wide(n_rows: int, n_columns: int) -> bool:
    """Whether square cells would make a strip of a map: then its rows are higher than its columns are wide."""
    return n_columns > max(_WIDE * n_rows, _MANY)


def layout(
    query_tokens: Sequence[Token], key_tokens: Sequence[Token], colours: Palette, *, title: str | None, note: str
) -> dict[str, Any]:
    """Plotly's layout of a map.

    Args:
        query_tokens: the rows, from the top.
        key_tokens: the columns.
        colours: of the theme.
        title: plain text.
        note: plain text under the title, such as what was left out.
    """
    rows = _labels(query_tokens)
    columns = rows if key_tokens == query_tokens else _labels(key_tokens)
    n_rows, n_columns = len(rows.texts), len(columns.texts)
    # Angle and margins are reckoned here from the monospaced labels: left to itself Plotly draws the axes again and
    # again until they fit, most of the time that a picture takes.
    upright = n_columns > MOST_TICKS or columns.width > _NARROW / max(n_columns, 1)
    bottom = columns.width if upright else _TICK_SIZE
    wide = is_wide(n_rows, n_columns)
    rest = _STRIP + bottom + _TITLE_ROOM
    height = rest + max(_ROW * n_rows, _LEAST) if wide else 18 * n_rows + 200
    return {
        "template": None,
        "title": _title(title, note, colours),
        "xaxis": _axis(columns, "", colours.key_ink)
        | {"range": [-0.5, n_columns - 0.5], "tickangle": 90 if upright else 0, "constraintoward": "left"},
        "yaxis": _axis(rows, "Query: looking", colours.query_ink)
        | {
            "range": [n_rows - 0.5, -0.5],
            "tickangle": 0,
            "constraintoward": "top",
            "scaleanchor": None if wide else "x",
        },
        "annotations": [under("Key: looked at", bottom + 8, colours.key_ink)],
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": colours.masked,
        "font": {"color": colours.ink, "family": SANS},
        "margin": {
            "l": rows.width + _TITLE_ROOM,
            "r": 16,
            "t": _STRIP,
            "b": bottom + _TITLE_ROOM,
            "autoexpand": False,
        },
        "height": int(min(760, max(height, 0 if wide else 600))),
        "hoverlabel": {
            "font": {"family": MONO, "size": 13, "color": colours.ink},
            "bgcolor": colours.background,
            "bordercolor": colours.faint,
            "namelength": -1,
        },
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": colours.faint, "activecolor": colours.ink},
        "legend": _legend(colours),
    }


def under(text: str, below: int, ink: str) -> dict[str, Any]:
    """A title under upright labels. Plotly's own lies on them wherever the colour bar is a horizontal one.

    Args:
        text: plain text.
        below: pixels from the map's lower end.
        ink: its colour.
    """
    return {
        "text": text,
        "x": 0.5,
        "y": 0,
        "xref": "x domain",
        "yref": "y domain",
        "xanchor": "center",
        "yanchor": "top",
        "yshift": -below,
        "showarrow": False,
        "font": {"size": 13, "color": ink},
    }


def colour_bar(colours: Palette, title: str, ticks: dict[float, str]) -> dict[str, Any]:
    """A short bar above the map's right end, beside the legend of the hatching."""
    return {
        "title": {"text": title, "side": "top", "font": {"size": 12, "color": colours.faint}},
        "tickvals": list(ticks),
        "ticktext": list(ticks.values()),
        "tickfont": {"size": 11, "color": colours.faint, "family": MONO},
        "orientation": "h",
        "thickness": 10,
        "len": 0.4,
        "x": 1,
        "xanchor": "right",
        "xpad": 12,
        "y": 1,
        "yanchor": "bottom",
        "outlinewidth": 0,
    }


def _title(title: str | None, note: str, colours: Palette) -> dict[str, Any]:
    return {
        "text": display.html(title or ""),
        "font": {"size": 16, "color": colours.ink},
        "subtitle": {"text": display.html(note), "font": {"size": 13, "color": colours.faint}},
        "x": 0,
        "xref": "container",
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "pad": {"l": 4, "b": 52 if note else 36},
    }


def _legend(colours: Palette) -> dict[str, Any]:
    return {
        "orientation": "h",
        "x": 0,
        "y": 1,
        "yanchor": "bottom",
        "font": {"color": colours.faint, "size": 12},
        "itemclick": False,
        "itemdoubleclick": False,
    }


def _axis(labels: _Labels, title: str, ink: str) -> dict[str, Any]:
    """A numeric axis that writes tokens. Names as categories would merge equal tokens into one column."""
    texts = labels.texts
    axis: dict[str, Any] = {
        "title": {"text": title, "font": {"size": 13, "color": ink}, "standoff": 6},
        "tickfont": {"size": _TICK_SIZE, "color": ink, "family": MONO},
        "ticks": "",
        "ticklabelstandoff": 4,
        "type": "linear",
        "showgrid": False,
        "zeroline": False,
        "constrain": "domain",
        "automargin": False,
        "ticklabeloverflow": "allow",
    }
    if len(texts) <= MOST_TICKS:
        return axis | {"tickmode": "array", "tickvals": list(range(len(texts))), "ticktext": texts}
    # The alias of a number is its token, on the axis and on hover. When one zooms in on a few tokens Plotly halves the
    # step: there is nothing to write between two tokens.
    halves = {f"{i}.5": "" for i in range(len(texts))}
    return axis | {
        "tickmode": "auto",
        "nticks": 24,
        "exponentformat": "none",
        "labelalias": halves | {"-0.5": ""} | {str(i): label for i, label in enumerate(texts)},
    }

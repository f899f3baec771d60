"""Block diagrams of transformers, read from the bottom up, with the shape of what leaves each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfmviz.charts.fonts import MONO, SANS
from tfmviz.charts.palette import Palette, palette
from tfmviz.text import display

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from tfmviz.analysis.architecture import Column, Part

# Pixels: one unit of the y axis is one pixel, so that boxes fit their text at every width.
_GAP, _PLUS, _LINE, _PAD = 14, 22, 16, 9
_FRAME = 16  # above the last part of a block, for the number of blocks
_SIDE, _BYPASS = 0.09, 0.045  # shares of a column's width: beside the boxes, and where the bypass runs
_TITLES = {"self": "", "encoder": "Encoder", "decoder": "Decoder"}


@dataclass(slots=True)
class _Canvas:
    """What has been drawn so far."""

    colours: Palette
    shapes: list[dict[str, Any]] = field(default_factory=list)
    words: list[dict[str, Any]] = field(default_factory=list)

    def box(self, x: tuple[float, float], y: tuple[float, float], line: str, fill: str, *, width: float = 1.5) -> None:
        self.shapes.append(
            {
                "type": "rect",
                "x0": x[0],
                "x1": x[1],
                "y0": y[0],
                "y1": y[1],
                "line": {"color": line, "width": width},
                "fillcolor": fill,
                "layer": "below",
            }
        )

    def line(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        path = " L ".join(f"{x},{y}" for x, y in points)
        self.shapes.append(
            {"type": "path", "path": f"M {path}", "line": {"color": colour, "width": 1.5}, "layer": "below"}
        )

    def arrow(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        self.words.append(
            {
                "x": end[0],
                "y": end[1],
                "ax": start[0],
                "ay": start[1],
                "xref": "x",
                "yref": "y",
                "axref": "x",
                "ayref": "y",
                "text": "",
                "showarrow": True,
                "arrowhead": 2,
                "arrowsize": 1,
                "arrowwidth": 1.5,
                "arrowcolor": colour,
            }
        )

    def word(self, text: str, x: float, y: float, *, size: int = 13, **style: Any) -> None:
        font = {"size": size, "color": style.pop("colour", self.colours.ink), "family": style.pop("family", SANS)}
        self.words.append({"text": text, "x": x, "y": y, "showarrow": False, "font": font} | style)


def figure(columns: Sequence[Column], *, dark: bool = False) -> Figure:
    """Draw a model.

    Args:
        columns: one stack, or encoder and decoder, whose cross-attention is then joined to the encoder's output.
        dark: for a dark page.
    """
    from plotly.graph_objects import Figure

    canvas = _Canvas(palette(dark))
    tops, crossings = [], []
    for index, column in enumerate(columns):
        top, cross = _column(canvas, column, index)
        tops.append(top)
        crossings.append(cross)
    if len(columns) == 2 and crossings[1] is not None:
        _join(canvas, tops[0], crossings[1])
    height = max(tops) + 40
    hidden = {"visible": False, "fixedrange": True, "automargin": False}
    return Figure(
        {
            "data": [],
            "layout": {
                "template": None,
                "paper_bgcolor": "rgba(0,0,0,0)",
                "plot_bgcolor": "rgba(0,0,0,0)",
                "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "autoexpand": False},
                "height": height,
                "xaxis": hidden | {"range": [0, len(columns)]},
                "yaxis": hidden | {"range": [0, height]},
                "shapes": canvas.shapes,
                "annotations": canvas.words,
            },
        },
        _validate=False,
    )


def alt(columns: Sequence[Column]) -> str:
    """The diagram in words, for who cannot see it."""
    parts = []
    for column in columns:
        inside = ", ".join(part.title for part in column.block)
        parts.append(f"{_TITLES[column.stack] or 'Model'}: {column.n_layers} blocks of {inside}")
    return "; ".join(parts)


def shape_text(shape: Sequence[int]) -> str:
    """``(12, 64)`` as ``12 × 64``, with thin spaces in thousands."""
    return " × ".join(f"{size:,}".replace(",", "\u2009") for size in shape)


def _column(canvas: _Canvas, column: Column, index: int) -> tuple[float, float | None]:
    """Draw one stack; returns the height of its top and of the middle of its cross-attention."""
    middle, y = index + 0.5, 8.0
    cross: float | None = None
    for part in column.before:
        y = _stacked(canvas, part, index, y)
    bottom = y + 2
    y += _GAP
    stream = y - _GAP / 2  # where the residual stream last was: the bypass begins there
    for place, part in enumerate(column.block):
        if part.kind == "cross":
            cross = y + _height(part) / 2
        y = _stacked(canvas, part, index, y, arrow=place > 0)
        if part.kind != "norm":
            y = _sum(canvas, index, stream, y)
            stream = y - _GAP / 2
    y += _FRAME
    canvas.box((index + 0.015, index + 0.985), (bottom, y - 2), canvas.colours.faint, "rgba(0,0,0,0)", width=1)
    name = f"× {column.n_layers} block{'s' if column.n_layers != 1 else ''}"
    canvas.word(name, index + 0.03, y - 4, size=12, xanchor="left", yanchor="top", colour=canvas.colours.faint)
    y += _GAP
    for part in column.after:
        y = _stacked(canvas, part, index, y)
    if _TITLES[column.stack]:
        canvas.word(f"<b>{_TITLES[column.stack]}</b>", middle, y + 2, size=14, yanchor="bottom")
    return y, cross


def _height(part: Part) -> float:
    lines = 1 if part.kind in ("norm", "tokens") else 2 + bool(part.note)
    return _LINE * lines + _PAD


def _stacked(canvas: _Canvas, part: Part, index: int, y: float, *, arrow: bool = True) -> float:
    """Draw a part with its lower edge at ``y``, and the arrow that leads into it; returns where the next one begins."""
    colours, height = canvas.colours, _height(part)
    left, right, middle = index + _SIDE, index + 1 - _SIDE, index + 0.5
    line = colours.weights[10] if part.kind in ("attention", "cross") else colours.faint
    fill = colours.weights[1] if part.kind in ("attention", "cross") else colours.background
    if part.kind != "tokens" and arrow:
        canvas.arrow((middle, y - _GAP + 1), (middle, y), colours.faint)
    canvas.box((left, right), (y, y + height), line, fill)
    shape = f'<span style="font-family:{MONO}">{shape_text(part.shape)}</span>'
    title = f"<b>{display.html(part.title)}</b>"
    if part.kind in ("norm", "tokens"):
        canvas.word(f"{title}  {shape}", middle, y + height / 2, size=12, yanchor="middle")
        return y + height + _GAP
    note = f'<br><span style="font-size:11px">{display.html(part.note)}</span>' if part.note else ""
    canvas.word(f"{title}<br>{shape}{note}", middle, y + height / 2, size=12, yanchor="middle")
    return y + height + _GAP


def _sum(canvas: _Canvas, index: int, stream: float, y: float) -> float:
    """The bypass of a sub-layer: the stream goes around it and the two are added."""
    colours, middle, side = canvas.colours, index + 0.5, index + 1 - _BYPASS
    plus = y - _GAP / 2 + _PLUS / 2 - 3
    canvas.line([(middle, stream), (side, stream), (side, plus), (middle + 0.02, plus)], colours.value)
    canvas.line([(middle, y - _GAP), (middle, plus)], colours.faint)
    canvas.word(
        "<b>+</b>", middle, plus, size=15, yanchor="middle", colour=colours.value_ink, bgcolor=colours.background
    )
    return y + _PLUS


def _join(canvas: _Canvas, top: float, cross: float) -> None:
    """From the encoder's output to the keys and values of the decoder's cross-attention."""
    colours, turn = canvas.colours, 1.0
    canvas.line([(1 - _SIDE, top - _GAP - 8), (turn, top - _GAP - 8), (turn, cross)], colours.key)
    canvas.arrow((turn, cross), (1 + _SIDE, cross), colours.key)
    canvas.word(
        "keys, values",
        turn - 0.015,  # between the encoder's last box and its title, clear of the decoder's frame
        top - _GAP,
        size=12,
        xanchor="right",
        yanchor="bottom",
        colour=colours.key_ink,
    )

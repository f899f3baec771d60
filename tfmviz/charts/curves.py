"""Training curves: loss and accuracy of one training as they grow, and the losses of several side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float

from tfmviz.charts.curves_layout import EndLabel, Panel, end_labels, layout
from tfmviz.charts.palette import Palette, palette
from tfmviz.errors import ConfigError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_POINTS = 300
EMPTY_LOSS = 5.9  # the axis before the first step: a little above guessing evenly among 259 bytes and signs
UNDER = 0.05  # of an axis lies under its 0, so that this 0 and that of the steps do not meet


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """A loss by step.

    Attributes:
        name: written at its end.
        values: one for each step, from step 1.
        colour: which of the palette's line colours.
        dash: how the line is drawn, so that it can be told apart without colour.
    """

    name: str
    values: Sequence[float]
    colour: int = 0
    dash: Literal["solid", "dot"] = "solid"


def training(
    loss: Sequence[float],
    accuracy: Sequence[float],
    *,
    n_steps: int,
    shown: int | None = None,
    dark: bool = False,
) -> Figure:
    """Loss above, accuracy below, over the whole length of the training so that the lines grow into it.

    Args:
        loss: in nats, of each step from step 1.
        accuracy: 0 to 1, of the same steps.
        n_steps: of the whole training.
        shown: the step that the other pictures show, marked.
        dark: for a dark page.

    Raises:
        ConfigError: if the two have different lengths.
    """
    from plotly.graph_objects import Figure

    if len(loss) != len(accuracy):
        raise ConfigError(f"loss has {len(loss)} steps and accuracy {len(accuracy)}: one of each a step is needed")
    colours = palette(dark)
    top = max(loss) * 1.08 if len(loss) else EMPTY_LOSS
    panels = [
        Panel(title="loss, nats a token", low=-UNDER * top, high=top, bottom=0.56, top=1),
        Panel(title="accuracy, share of tokens guessed", low=-UNDER, high=1.04, bottom=0, top=0.42),
    ]
    lines = [_line(loss, colours.ink, "y", "loss %{y:.4f}"), _line(accuracy, colours.ink, "y2", "accuracy %{y:.4f}")]
    marks = [] if shown is None else [_mark(shown, axis, colours) for axis in ("y", "y2")]
    figure = layout(panels, colours, x_title="training step", x_range=[0, n_steps]) | {"height": 380, "shapes": marks}
    return Figure({"data": lines, "layout": figure}, _validate=False)


def comparison(curves: Sequence[Curve], *, n_steps: int, dark: bool = False) -> Figure:
    """Several losses in one panel on a log axis, each named at its end.

    Args:
        curves: those with no value yet are left out.
        n_steps: of the whole training.
        dark: for a dark page.
    """
    from plotly.graph_objects import Figure

    colours = palette(dark)
    drawn = [curve for curve in curves if len(curve.values)]
    smooth = {curve.name: thinned(curve.values) for curve in drawn}
    every = np.concatenate([values for _, values in smooth.values()] or [np.array([0.1, 1.0])])
    low, high = math.log10(max(float(every.min()), 1e-6)), math.log10(max(float(every.max()), 1e-5))
    panel = Panel(title="loss, nats a token (log axis)", low=low - 0.05, high=high + 0.12, bottom=0, top=1, log=True)
    lines, labels = [], []
    for curve in drawn:
        colour = colours.heads[curve.colour]
        steps, values = smooth[curve.name]
        lines.append(_line(curve.values, colour, "y", f"{curve.name}: %{{y:.4f}}", curve.dash))
        labels.append(EndLabel(text=curve.name, x=float(steps[-1]), y=math.log10(values[-1]), colour=colour))
    names = [curve.name for curve in curves]
    figure = layout([panel], colours, x_title="training step", x_range=[0, n_steps], names=names)
    figure["annotations"] += end_labels(labels, panel, "y")
    return Figure({"data": lines, "layout": figure | {"height": 420}}, _validate=False)


def thinned(
    values: Sequence[float], most: int = MOST_POINTS
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """Means over equally long runs of steps, at most ``most`` of them: the middle step of each run and its mean.

    The last run is shorter where the steps do not come out even.
    """
    size = max(1, math.ceil(len(values) / most))
    steps, means = [], []
    for start in range(0, len(values), size):
        run = values[start : start + size]
        steps.append(start + (len(run) + 1) / 2)
        means.append(sum(run) / len(run))
    return np.array(steps, np.float32), np.array(means, np.float32)


def _line(values: Sequence[float], colour: str, axis: str, hover: str, dash: str = "solid") -> dict[str, Any]:
    steps, means = thinned(values)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": steps,
        "y": means,
        "yaxis": axis,
        "line": {"color": colour, "width": 2, "dash": dash},
        "hovertemplate": f"step %{{x:.0f}}<br>{hover}<extra></extra>",
    }


def _mark(step: int, axis: str, colours: Palette) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "x",
        "yref": f"{axis} domain",
        "x0": step,
        "x1": step,
        "y0": 0,
        "y1": 1,
        "line": {"color": colours.weights[11], "width": 2},
    }

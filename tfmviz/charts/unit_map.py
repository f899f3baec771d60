"""Two heads on common units: the map of one of them, or of what differs, with all three numbers on hover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from tfmviz.charts.map_layout import colour_bar, layout
from tfmviz.charts.palette import palette, plotly_scale
from tfmviz.errors import ConfigError
from tfmviz.text.token import Token

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from tfmviz.analysis.difference import Difference

Which = Literal["A", "B", "B − A"]
WHICH: tuple[Which, ...] = get_args(Which)
_ROW = 17  # pixels of a row, where there is room
_LEAST, _MOST = 500, 660
# A difference smaller than this anywhere has no colours of its own: rounding would look like a finding.
_LEAST_RANGE = 1e-6


def figure(
    found: Difference,
    rows: Sequence[Token],
    columns: Sequence[Token],
    which: Which,
    *,
    title: str = "",
    dark: bool = False,
) -> Figure:
    """Draw one of three maps: units down as queries, units and what stands apart across as keys.

    Args:
        found: two heads on the same units, [rows, columns].
        rows, columns: a name for each.
        which: A's weights, B's, or the signed difference, whose colours reach to its own largest value on both sides.
        title: plain text above the map.
        dark: for a dark page.

    Raises:
        ConfigError: if the shapes do not agree.
    """
    from plotly.graph_objects import Figure

    expected = (len(rows), len(columns))
    if found.signed.shape != expected:
        raise ConfigError(f"the heads have shape {found.signed.shape}, {expected} expected: one row a unit")
    colours = palette(dark)
    if which == "B − A":
        reach = max(float(np.abs(found.signed).max(initial=0)), _LEAST_RANGE)
        shown, scale, low, name = found.signed, colours.difference, -reach, "B − A"
        ticks = {-reach: f"−{reach:.2g}", 0.0: "0", reach: f"{reach:.2g}"}
    else:
        reach, low, name, scale = 1.0, 0.0, "weight", colours.weights
        shown = found.a if which == "A" else found.b
        ticks = {0.0: "0", 0.5: "0.5", 1.0: "1"}
    trace: dict[str, Any] = {
        "type": "heatmap",
        "z": np.ascontiguousarray(shown, np.float32),
        "zmin": low,
        "zmax": reach,
        "colorscale": plotly_scale(scale),
        "colorbar": colour_bar(colours, name, ticks),
        "customdata": _numbers(found),
        "hovertemplate": "query %{y}<br>key %{x}<br>A %{customdata[0]:.4f}<br>B %{customdata[1]:.4f}<br>"
        "B − A %{customdata[2]:.4f}<extra></extra>",
    }
    drawn = layout(rows, columns, colours, title=title, note="")
    drawn["height"] = min(_MOST, max(_LEAST, _ROW * len(rows) + 200))
    drawn["plot_bgcolor"] = colours.background
    return Figure({"data": [trace], "layout": drawn}, _validate=False)


def _numbers(found: Difference) -> Float[np.ndarray, "rows columns 3"]:
    return np.stack([found.a, found.b, found.signed], axis=-1).astype(np.float32)

"""One head's attention as a heatmap: queries down, keys across, exact weights on hover, masked cells hatched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tfmviz.charts.map_cells import Cells, row_steps, shown_cells
from tfmviz.charts.map_layout import colour_bar, layout
from tfmviz.charts.mask_hatch import hatch
from tfmviz.charts.palette import Palette, palette, plotly_scale
from tfmviz.text.token import Token

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_BIG = 200_000  # cells beyond which base64 comes near the size that one picture may have


def figure(
    weights: NDArray[np.float32],
    visible: NDArray[np.bool_] | None,
    query_tokens: Sequence[Token],
    key_tokens: Sequence[Token],
    *,
    title: str | None = None,
    row_scaled: bool = False,
    hide_special: bool = False,
    dark: bool = False,
) -> Figure:
    """Draw the weights of one head.

    Args:
        weights: attention from each query to each key, 0 to 1, shape (q, k).
        visible: False where the query may not look, shape (q, k); None if every query may look everywhere.
        query_tokens: q of them, the rows.
        key_tokens: k of them, the columns.
        title: plain text above the map, such as "Layer 3, head 5".
        row_scaled: colour each row relative to its own largest weight; hover still gives the weight itself.
        hide_special: leave out special tokens, and say what share of the attention goes with them.
        dark: for a dark page.

    Returns:
        A figure whose colours always mean 0 to 1.

    Raises:
        ConfigError: if the shapes do not agree.
    """
    from plotly.graph_objects import Figure

    drawn = shown_cells(weights, visible, query_tokens, key_tokens, hide_special=hide_special)
    colours = palette(dark)
    masked = hatch(drawn.visible, colours) if drawn.visible is not None and not drawn.visible.all() else None
    covered = masked is not None and len(masked["x"]) > 0
    traces = [_heatmap(drawn, colours, row_scaled, covered), *([masked] if masked else [])]
    # Plotly's own checks copy every value and take longer than all the rest; what is given here is known to be valid.
    return Figure(
        {"data": traces, "layout": layout(drawn.query_tokens, drawn.key_tokens, colours, title=title, note=drawn.note)},
        _validate=False,
    )


def config(name: str = "attention") -> dict[str, Any]:
    """Plotly's settings for this picture: a vector file on download, no selection tools, no logo.

    Args:
        name: of the downloaded file, without its ending.
    """
    return {
        "displaylogo": False,
        "responsive": True,
        "scrollZoom": True,
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
        "toImageButtonOptions": {"format": "svg", "filename": name},
    }


def _heatmap(cells: Cells, colours: Palette, row_scaled: bool, covered: bool) -> dict[str, Any]:
    """The cells; ``covered`` says that the hatching lies over the masked ones."""
    trace: dict[str, Any] = {
        "type": "heatmap",
        "hoverongaps": False,
        "hovertemplate": "query %{y}<br>key %{x}<br>weight %{z:.4f}<extra></extra>",
    }
    if row_scaled:
        return trace | _scaled_rows(cells, colours)
    drawn = _within_size(cells.weights)
    # Plotly leaves NaN open, so the mask costs no byte. In base64 every third NaN has a "/", see _within_size: a large
    # map has zeros there instead, under the hatching.
    closed = 0 if covered and drawn.size > _BIG else np.nan
    return trace | {
        "z": drawn if cells.visible is None else np.where(cells.visible, drawn, np.float32(closed)),
        "zmin": 0,
        "zmax": 1,
        "colorscale": plotly_scale(colours.weights),
        "colorbar": colour_bar(colours, "weight", {0: "0", 0.5: "0.5", 1: "1"}),
    }


def _within_size(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round large maps to 20 bits, an error below 5e-7.

    Plotly writes "/" as six characters, and base64 of random bits has one in 64. The rounding takes out enough of
    them to keep a map of 512 x 512 under 1.5 MB.
    """
    drawn = np.ascontiguousarray(weights, np.float32)
    if drawn.size <= _BIG:
        return drawn
    return ((drawn.view(np.uint32) + np.uint32(8)) & np.uint32(0xFFFFFFF0)).view(np.float32)


def _scaled_rows(cells: Cells, colours: Palette) -> dict[str, Any]:
    """Colours relative to each row, in 255 steps: that leaves room for the weights themselves, which hover shows."""
    weights = cells.weights
    steps = row_steps(weights)
    if cells.visible is not None:
        steps[~cells.visible] = 0
    scale = plotly_scale(colours.weights)
    trace: dict[str, Any] = {
        "z": steps,
        "zmin": 0,
        "zmax": 255,
        "colorscale": [[0, colours.masked], [0.5 / 255, colours.masked], [0.5 / 255, scale[0][1]], *scale[1:]],
        "colorbar": colour_bar(colours, "weight / row's largest", {1: "0", 128: "0.5", 255: "1"}),
        "customdata": weights,
        "hovertemplate": "query %{y}<br>key %{x}<br>weight %{customdata:.4f}<extra></extra>",
    }
    if weights.size > _BIG:
        trace["customdata"] = np.round(weights * 10_000).astype(np.uint16)
        trace["hovertemplate"] = "query %{y}<br>key %{x}<br>weight %{customdata} × 10⁻⁴<extra></extra>"
    return trace

"""Numbers in, Plotly figures out. Plotly is imported when a figure is made, not before."""

from __future__ import annotations

from tfmviz.charts import head_map, palette

__all__ = ["head_map", "palette"]

"""How bytes are written on every view of the Memory page."""

from __future__ import annotations

from tfmviz.charts.memory_numbers import bytes_text as decimal_bytes

__all__ = ["decimal_bytes"]

"""What one forward pass leaves behind: queries and keys of every layer, and the exact weights of any head from them."""

from __future__ import annotations

from tfmviz.trace.capture import Capture, capture, capture_inside
from tfmviz.trace.inside import LayerInside, OutputProjection, ResidualStep
from tfmviz.trace.layer import LayerAttention
from tfmviz.trace.memory import MemoryUse
from tfmviz.trace.stack import AttentionStack, Link
from tfmviz.trace.trace import Predictions, Trace

__all__ = [
    "AttentionStack",
    "Capture",
    "LayerAttention",
    "LayerInside",
    "Link",
    "MemoryUse",
    "OutputProjection",
    "Predictions",
    "ResidualStep",
    "Trace",
    "capture",
    "capture_inside",
]

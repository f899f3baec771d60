"""Pictures that people touch: numbers in, a canvas and a choice out. One Python file with one script each."""

from tfmviz.components.atlas import atlas

__all__ = ["atlas"]

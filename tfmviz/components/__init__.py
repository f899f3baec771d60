"""Pictures that people touch: numbers in, a canvas and a choice out. One Python file with one script each."""

from tfmviz.components.atlas import atlas
from tfmviz.components.head_lines import head_lines
from tfmviz.components.long_map import long_map
from tfmviz.components.token_map import token_map

__all__ = ["atlas", "head_lines", "long_map", "token_map"]

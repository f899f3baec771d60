"""What a long text's map tells the browser to keep."""

from __future__ import annotations

from tfmviz.analysis.long_head import MOST_CELLS
from tfmviz.components.long_map import MOST_TILES, TILE

WIDEST = 5120  # pixels of a screen; a cell has at least one


def tiles_under(cells: int) -> int:
    """Tiles that a stretch of so many cells touches at most."""
    return 1 if cells < 2 else (cells - 2) // TILE + 2


def test_all_tiles_of_a_view_are_kept_however_wide_and_low_it_is() -> None:
    high = range(1, WIDEST + 1)
    assert max(tiles_under(rows) * tiles_under(min(WIDEST, MOST_CELLS // rows)) for rows in high) <= MOST_TILES

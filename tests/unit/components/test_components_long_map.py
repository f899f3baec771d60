"""What a long text's map tells the browser to keep."""

from __future__ import annotations

from tfmviz.analysis.long_head import MOST_CELLS
from tfmviz.components.long_map import MOST_TILES, TILE, searched
from tfmviz.models import load_model
from tfmviz.text import Token

WIDEST = 5120  # pixels of a screen; a cell has at least one


def tiles_under(cells: int) -> int:
    """Tiles that a stretch of so many cells touches at most."""
    return 1 if cells < 2 else (cells - 2) // TILE + 2


def test_all_tiles_of_a_view_are_kept_however_wide_and_low_it_is() -> None:
    high = range(1, WIDEST + 1)
    assert max(tiles_under(rows) * tiles_under(min(WIDEST, MOST_CELLS // rows)) for rows in high) <= MOST_TILES


def test_what_is_searched_is_the_text_however_its_characters_fall_into_tokens() -> None:
    text = "the river: نهر, 川\n👩‍🚀 and naïve\u00a0İ"
    tokens = load_model("scratch-untrained", device="cpu").tokenize(text)  # a token for each byte
    assert len(tokens) > len(text) + 1
    assert "".join(searched(tokens[1:])) == text


def test_blanks_that_no_token_covers_are_searched_too() -> None:
    words = [Token(id=0, text="[CLS]", start=0, end=0, is_special=True)]
    words += [Token(id=1, text="the", start=0, end=3), Token(id=2, text="cat", start=4, end=7)]
    assert searched(words) == ["[CLS]", "the", " cat"]

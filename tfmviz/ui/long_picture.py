"""The Explore picture of a text of more than one window: the whole map in blocks, and the strongest links of it all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.analysis.long_head import MOST_WEIGHTS, LongHead, is_long, n_weights
from tfmviz.analysis.long_links import long_links
from tfmviz.analysis.long_view import long_role
from tfmviz.components.head_lines import head_lines
from tfmviz.components.long_map import long_map
from tfmviz.ui import head_feed, long_views

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfmviz.analysis.head_roles import HeadRole
    from tfmviz.analysis.long_view import LongView
    from tfmviz.ui.picture import Picture
    from tfmviz.ui.requests import HeadChoice


def view(picture: Picture) -> LongView:
    """The overview of the chosen head.

    Raises:
        NoAttention: if its layer has none.
    """
    options = picture.options
    return long_views.view(
        picture.request, picture.stack, picture.part, picture.choice, options.row_scaled, options.hide_special
    )


def draw_map(found: LongView, picture: Picture, feed: str) -> None:
    """The map; ``feed`` is the picture's address."""
    long_map(
        found,
        cells=head_feed.cells_address(feed, picture.choice),
        title=picture.choice.name,
        row_scaled=picture.options.row_scaled,
        hide_special=picture.options.hide_special,
        key="head_map",
    )


def draw_lines(picture: Picture, chosen: Sequence[HeadChoice], most: int) -> None:
    """The strongest links of all chosen heads, at most so many."""
    options = picture.options
    heads = [LongHead.of(picture.stack, one.layer, one.head, picture.part) for one in chosen]
    found = long_links(heads, options.threshold, most, hide_special=options.hide_special)
    head_lines(
        found.links,
        heads=[one.name for one in chosen],
        query_tokens=heads[0].query_tokens,
        key_tokens=heads[0].key_tokens,
        threshold=options.threshold,
        visible=found.spans,
        hide_special=options.hide_special,
        hidden_share=found.hidden_share if options.hide_special else None,
        key="head_lines",
    )


def role(picture: Picture) -> HeadRole:
    """What the chosen head does, measured on some of its rows."""
    return long_role(LongHead.of(picture.stack, picture.choice.layer, picture.choice.head, picture.part))


def say_if_windowed(picture: Picture) -> None:
    """Under a map that is a window of a long text: why it is not shown whole."""
    stack, choice, part = picture.stack, picture.choice, picture.part
    if is_long(stack, part):
        weights = n_weights(stack, choice.layer, choice.head, part)
        st.caption(
            f"The whole text takes {weights / 1e9:.2g} billion weights here, too many to wait for. This is a window of "
            f"it, moved by First row and First column. Up to {MOST_WEIGHTS / 1e9:.2g} billion are shown whole, such as "
            "the average of one layer or a single head."
        )

"""The Explore picture: the atlas of all heads, and one head as a map and as lines. A click draws only this again."""

from __future__ import annotations

from concurrent import futures
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from tfmviz.analysis.head_roles import role_of_weights
from tfmviz.analysis.head_view import HeadView, Part, has_pair, head_view
from tfmviz.analysis.links import hidden_share, strongest_links
from tfmviz.analysis.long_head import goes_whole
from tfmviz.analysis.long_links import left_out
from tfmviz.charts import head_map
from tfmviz.components.atlas import atlas, atlas_notes
from tfmviz.components.head_lines import MOST_HEADS, head_lines
from tfmviz.components.token_map import token_map
from tfmviz.errors import NoAttention
from tfmviz.text.display import label
from tfmviz.ui import cache, head_feed, long_picture, pickers, reading
from tfmviz.ui.address import Notes
from tfmviz.ui.requests import HeadChoice, TraceRequest

if TYPE_CHECKING:
    from tfmviz.analysis.long_view import LongView
    from tfmviz.trace import AttentionStack
    from tfmviz.ui.cache import Traced

# Lines drawn at most: more is grey felt, and the threshold is the way to fewer.
MOST_LINES = 1500
# Rows or columns up to which Plotly draws the map. It was measured to hold the browser's main thread for 240 ms at 60
# tokens and for 500 ms at 512, where a click on another head has 200 ms in all: longer texts go to the canvas.
PLOTLY_UP_TO = 128
# How long a finished page waits for what every head does, before it leaves that for the next run.
PATIENCE_S = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """What is to be drawn.

    Attributes:
        request: what the visitor asked for.
        traced: the trace and its overviews.
        name: the stack's name.
        choice: the head, or the average.
        part: which sentence looks at which.
        window: first row and column, where a long text is looked at through a window.
        options: the switches.
        whole: a long text is shown whole, in blocks.
    """

    request: TraceRequest
    traced: Traced
    name: str
    choice: HeadChoice
    part: Part
    window: tuple[int, int]
    options: pickers.PictureOptions
    whole: bool

    @property
    def stack(self) -> AttentionStack:
        """The stack that is looked at."""
        return self.traced.trace[self.name]

    def view(self, choice: HeadChoice) -> HeadView:
        """The numbers of one head, in this picture's part and window."""
        return head_view(self.stack, choice.layer, choice.head, self.part, self.window)


@st.fragment(key="picture")
def draw(request: TraceRequest) -> None:
    """Draw everything that depends on the head: controls, atlas, map, lines, and the sentence that reads them."""
    traced, notes = cache.traced(request), Notes()
    notices = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        picture = _controls(request, traced, notes)
    notes.say(notices)
    left, right = st.columns([11, 9], gap="medium")
    feed = head_feed.address(_shown(picture))
    with left:
        _all_heads(picture, feed)
        words = st.container()
    try:
        view = long_picture.view(picture) if picture.whole else picture.view(picture.choice)
    except NoAttention as error:
        right.info(str(error), icon=":material/block:")
        return
    with right.container(key="map"):
        if isinstance(view, HeadView):
            _one_head(view, picture)
        else:
            long_picture.draw_map(view, picture, feed)
    if isinstance(view, HeadView):
        with right:  # all that stands in the container of the map lies on one place
            long_picture.say_if_windowed(picture)
    _lines(view, picture)
    with words:
        _words(view, picture)


def _controls(request: TraceRequest, traced: Traced, notes: Notes) -> Picture:
    name = pickers.stack_name(traced.trace.stacks, notes)
    stack = traced.trace[name]
    choice = pickers.head_choice(stack, request.model.name, notes)
    part = pickers.part_choice(notes) if has_pair(stack.query_tokens) else "all"
    whole = goes_whole(stack, choice.layer, choice.head, part)
    window = (0, 0) if whole else pickers.window(stack, part, notes)
    options = pickers.picture_options(stack, notes)
    return Picture(
        request=request,
        traced=traced,
        name=name,
        choice=choice,
        part=part,
        window=window,
        options=options,
        whole=whole,
    )


def _all_heads(picture: Picture, feed: str) -> None:
    stack, choice = picture.stack, picture.choice
    reachable = picture.traced.reachable[picture.name]
    atlas(
        picture.traced.overviews[picture.name],
        n_tokens=(len(stack.query_tokens), len(stack.key_tokens)),
        selected=(-1 if choice.layer is None else choice.layer, -1 if choice.head is None else choice.head),
        n_kv_heads=stack.n_kv_heads,
        statuses=[stack.status(layer) for layer in range(stack.n_layers)],
        visible=reachable,
        feed=feed,
        key="atlas",
        on_change=pickers.select_head,
    )


def _shown(picture: Picture) -> head_feed.Shown:
    return head_feed.Shown(
        request=picture.request,
        stack=picture.name,
        part=picture.part,
        window=picture.window,
        row_scaled=picture.options.row_scaled,
        hide_special=picture.options.hide_special,
    )


def _one_head(view: HeadView, picture: Picture) -> None:
    options, name = picture.options, picture.choice.name
    if max(view.weights.shape) > PLOTLY_UP_TO:
        token_map(
            view.weights,
            view.visible,
            view.query_tokens,
            view.key_tokens,
            title=name,
            row_scaled=options.row_scaled,
            hide_special=options.hide_special,
            key="head_map",
        )
        return
    figure = head_map.figure(
        view.weights,
        view.visible,
        view.query_tokens,
        view.key_tokens,
        title=name,
        row_scaled=options.row_scaled,
        hide_special=options.hide_special,
        dark=pickers.is_dark(),
    )
    st.plotly_chart(
        figure,
        key="head_map",
        theme=None,
        config=head_map.config(f"tfmviz {name}"),
        alt=f"Attention of {name}: queries down, keys across",
    )


def _lines(view: HeadView | LongView, picture: Picture) -> None:
    options = picture.options
    chosen = [picture.choice, *(more for more in options.more if more != picture.choice)][:MOST_HEADS]
    if not isinstance(view, HeadView):
        long_picture.draw_lines(picture, chosen, MOST_LINES)
        return
    weights = np.stack([view.weights, *(picture.view(more).weights for more in chosen[1:])])
    hidden = left_out(view.key_tokens, options.hide_special)
    rows = ~left_out(view.query_tokens, options.hide_special)
    head_lines(
        strongest_links(weights, options.threshold, MOST_LINES, keep_queries=rows, keep_keys=~hidden),
        heads=[one.name for one in chosen],
        query_tokens=view.query_tokens,
        key_tokens=view.key_tokens,
        threshold=options.threshold,
        visible=view.visible,
        hide_special=options.hide_special,
        hidden_share=hidden_share(weights, hidden, rows) if options.hide_special else None,
        key="head_lines",
    )


def _words(view: HeadView | LongView, picture: Picture) -> None:
    import torch

    if isinstance(view, HeadView):
        role = role_of_weights(torch.from_numpy(view.weights), view.query_tokens, view.key_tokens)
    else:
        role = long_picture.role(picture)
    trace = picture.traced.trace
    # One element: each one on the page costs the browser a few milliseconds at every click.
    st.markdown(
        "\n\n".join(
            [
                reading.paragraph(role, view, picture.choice, picture.part, picture.options.hide_special),
                reading.invitation(trace.text, picture.choice, lacks_target=len(trace.target_tokens) == 1),
                reading.footnote(trace.memory, picture.stack, picture.choice),
            ]
        )
    )


def annotate(request: TraceRequest) -> None:
    """Tell the atlas what each head does, as soon as that is known; it is drawn already and does not wait."""
    traced = cache.traced(request)
    job = cache.notes_job(request, traced)
    if not futures.wait([job.future], timeout=PATIENCE_S).done:
        return
    name = pickers.current_stack(traced.trace)
    stack, notes = traced.trace[name], job.future.result()[name]
    queries, keys = stack.query_tokens, stack.key_tokens
    atlas_notes(
        shape=(stack.n_layers, stack.n_heads, len(keys)),
        roles=[_padded([reading.short_role(role) for role in roles], stack.n_heads, "") for roles in notes.roles],
        strongest=[
            _padded(
                [link and (label(queries[link.query]), label(keys[link.key]), link.weight) for link in links],
                stack.n_heads,
                None,
            )
            for links in notes.strongest
        ],
    )


def _padded(entries: list[Any], length: int, filling: Any) -> list[Any]:
    """Layers with fewer heads than the widest have nothing to say of the others."""
    return entries + [filling] * (length - len(entries))

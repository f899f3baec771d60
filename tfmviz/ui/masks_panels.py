"""Masks as pictures: one head under the model's own mask and six others, and the masks that each layer applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from tfmviz.analysis.head_view import WINDOW as LONGEST_VIEW
from tfmviz.analysis.head_view import HeadView, head_view
from tfmviz.charts import head_map, mask_panels
from tfmviz.charts.mask_panels import SHOWS, MaskPanel, Show
from tfmviz.components.token_map import token_map
from tfmviz.errors import NoAttention
from tfmviz.text import display
from tfmviz.ui import address, loading, masks_jobs, masks_words, pickers, stoppable
from tfmviz.ui.address import Notes
from tfmviz.ui.counting import counted
from tfmviz.ui.masks_jobs import NAME, SIDES, PaddedRequest, UnderRequest, ViewsRequest
from tfmviz.ui.picture import PLOTLY_UP_TO
from tfmviz.ui.requests import HeadChoice, TraceRequest

if TYPE_CHECKING:
    from tfmviz.models import Model
    from tfmviz.models.model import StackOutline
    from tfmviz.trace import AttentionStack, Trace

OWN = "own"
PADS, MOST_PADS = 3, 32
WINDOW, PREFIX, WIDEST = 4, 3, 512
# Tokens up to which six passes of the whole model are made: more would make a visitor wait, and fill the memory.
WHOLE_UP_TO = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What the strip of controls says.

    Attributes:
        show: which of the three views of a mask.
        whole: run the whole model under each mask, not one layer alone.
        window, prefix: sizes of two patterns.
        pads, side: padding of the text.
    """

    show: Show
    whole: bool
    window: int
    prefix: int
    pads: int
    side: masks_jobs.Side


def side_by_side(request: TraceRequest, model: Model, line: loading.Line) -> None:
    """One head under the model's own mask and under six others."""
    notes, notices = Notes(), st.container()
    strip = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    # Every picker is drawn before anything is waited for: Streamlit forgets what a run does not draw.
    stacks = model.outline(request.text, request.pair, request.target)
    with strip:
        options = _options(model, notes)
        name = stack_name(stacks, notes)
        choice = pickers.head_among(stacks[name].n_layers, max(stacks[name].n_heads), request.model.name, notes)
        n_tokens = _n_padded(stacks[name], model, options.pads)
        window = pickers.window_among(n_tokens, n_tokens, notes)
    notes.say(notices)
    padded = PaddedRequest(trace=request, pads=options.pads, side=options.side)
    trace = stoppable.wait(NAME, padded, lambda: masks_jobs.padded_job(padded, model), line)
    whole = options.whole and len(trace[name].query_tokens) <= WHOLE_UP_TO
    under = UnderRequest(padded=padded, window=options.window, prefix=options.prefix)
    seen = _stacks(under, model, trace, name, options, line)
    asked = ViewsRequest(under=under, whole=whole, stack=name, choice=choice, window=window)
    try:
        views = stoppable.wait(NAME, asked, lambda: masks_jobs.views_job(asked, seen), line)
    except NoAttention as error:
        st.info(display.markdown(str(error)), icon=":material/block:")
        return
    line.say(masks_words.line(model, choice, whole))
    padding = masks_words.padded(trace[name], options.pads)
    _panels(views, options.show, masks_words.seen(views, choice, options.show, padding))
    _closely(views, choice, options)


def _options(model: Model, notes: Notes) -> Options:
    notes.add(address.settle("show", SHOWS, "weights", what="view", among=f"There are {', '.join(SHOWS)}"))
    notes.add(address.settle("side", SIDES, "right", what="side", among="There are right and left"))
    notes.add(address.settle_number("window", 1, WIDEST, WINDOW, what="a window of"))
    notes.add(address.settle_number("prefix", 0, WIDEST, PREFIX, what="a prefix of"))
    notes.add(address.settle_number("pads", 0, MOST_PADS, PADS, what="padding of"))
    notes.add(address.settle_switch("whole", what="“whole model”"))
    show = st.segmented_control("Show", SHOWS, default="weights", key="show", bind="query-params", required=True)
    whole = False
    if can_run_whole(model):
        whole = st.toggle(
            "Whole model",
            key="whole",
            bind="query-params",
            help="On: every layer runs under the mask. Off: the model runs under its own mask, and the chosen layer's "
            "queries and keys are masked anew.",
        )
    with st.popover("Sizes", icon=":material/tune:"):
        window = st.slider("Sliding window, tokens", 1, WIDEST, WINDOW, key="window", bind="query-params")
        prefix = st.slider("Prefix, tokens", 0, WIDEST, PREFIX, key="prefix", bind="query-params")
        pads = st.slider("Padding, tokens", 0, MOST_PADS, PADS, key="pads", bind="query-params")
        side = st.segmented_control(
            "Padding on the", SIDES, default="right", key="side", bind="query-params", required=True
        )
    return Options(
        show=show if show in SHOWS else "weights",
        whole=bool(whole),
        window=min(max(int(window), 1), WIDEST),
        prefix=min(max(int(prefix), 0), WIDEST),
        pads=min(max(int(pads), 0), MOST_PADS),
        side="left" if side == "left" else "right",
    )


def can_run_whole(model: Model) -> bool:
    """Whether the model runs under any mask from its first layer on."""
    from tfmviz.analysis.masks_pass import takes_masks

    return takes_masks(model)


def _n_padded(stack: StackOutline, model: Model, pads: int) -> int:
    """Tokens of a stack with its padding; the decoder of an encoder-decoder has none."""
    n_tokens = len(stack.query_tokens)
    return n_tokens if stack.name == "decoder" else n_tokens + masks_jobs.room(model, n_tokens, pads)


def stack_name(stacks: Mapping[str, StackOutline], notes: Notes) -> str:
    """Which stack of tokens that look at each other; there is a choice in an encoder-decoder."""
    names = [name for name in stacks if name != "cross"]
    first = names[0]
    if len(names) == 1:
        return first
    notes.add(address.settle("self_stack", names, first, what="stack", among=f"There are {', '.join(names)}"))
    name = st.segmented_control("Stack", names, default=first, key="self_stack", bind="query-params", required=True)
    return name if name in names else first


def _stacks(
    asked: UnderRequest, model: Model, trace: Trace, name: str, options: Options, line: loading.Line
) -> Mapping[str, AttentionStack]:
    """The stack under its own mask, then under each pattern."""
    from tfmviz.analysis.masks import PATTERNS, rule, under

    own = trace[name]
    if options.whole and len(own.query_tokens) <= WHOLE_UP_TO:
        passes = stoppable.wait(NAME, asked, lambda: masks_jobs.under_job(asked, model, trace), line)
        return {OWN: own, **{pattern: passes[pattern].stack for pattern in PATTERNS}}
    if options.whole:
        st.caption(f"The whole model is run up to {WHOLE_UP_TO:,} tokens; this is the chosen layer alone.")
    causal = model.kind == "decoder" or name == "decoder"
    sizes = masks_jobs.sizes(asked)
    return {
        OWN: own,
        **{pattern: under(own, rule(pattern, own.query_tokens, sizes, causal=causal)) for pattern in PATTERNS},
    }


def visible(view: HeadView) -> np.ndarray:
    """Which cells a view lets be seen, where all are too."""
    return np.ones(view.weights.shape, dtype=bool) if view.visible is None else view.visible


def _panels(views: Mapping[str, HeadView], show: Show, words: str) -> None:
    """Four in a row; the eighth place has the words."""
    own = views[OWN]
    places = [column for _ in range(2) for column in st.columns(4, gap="small")]
    for (pattern, view), place in zip(views.items(), places, strict=False):
        panel = MaskPanel(
            visible=visible(view), weights=view.weights, own_visible=visible(own), own_weights=own.weights
        )
        figure = mask_panels.figure(panel, view.query_tokens, view.key_tokens, show, dark=pickers.is_dark())
        with place.container(key=f"panel_{pattern}", gap="small"):
            st.markdown(masks_words.panel(pattern, view, own))
            st.plotly_chart(
                figure,
                key=f"mask_{pattern}",
                theme=None,
                config=mask_panels.CONFIG,
                alt=f"{show} under the {pattern} mask: queries down, keys across",
            )
    with places[-1]:
        st.markdown(words)


def _closely(views: Mapping[str, HeadView], choice: HeadChoice, options: Options) -> None:
    """One of the masks as a map with names, and beside it what its rule is and who feels it."""
    names = list(views)
    notes = Notes()
    notes.add(address.settle("mask", names, "sliding", what="mask", among=f"There are {', '.join(names)}"))
    notes.say(st.container())
    chosen = st.segmented_control(
        "Closely",
        names,
        default="sliding",
        key="mask",
        bind="query-params",
        persist_state="session",  # it is not drawn while the page waits
        required=True,
    )
    chosen = chosen if chosen in names else "sliding"
    view = views[chosen]
    left, right = st.columns([13, 7], gap="medium")
    right.markdown(masks_words.closely(chosen, view, views[OWN], options.window, options.prefix))
    title = f"{choice.name}, {chosen} mask"
    with left.container(key="closely"):
        if max(view.weights.shape) > PLOTLY_UP_TO:
            token_map(view.weights, view.visible, view.query_tokens, view.key_tokens, title=title, key="mask_map")
            return
        figure = head_map.figure(
            view.weights, view.visible, view.query_tokens, view.key_tokens, title=title, dark=pickers.is_dark()
        )
        alt = f"Attention of {title}: queries down, keys across"
        st.plotly_chart(figure, key="mask_map", theme=None, config=head_map.config(f"tfmviz {title}"), alt=alt)


def this_model(request: TraceRequest, model: Model, line: loading.Line) -> None:
    """The masks that the layers of this very pass applied."""
    from tfmviz.analysis.masks import applied

    notes, notices = Notes(), st.container()
    padded = PaddedRequest(trace=request, pads=0, side="right")
    name = stack_name(model.outline(request.text, request.pair, request.target), notes)
    notes.say(notices)
    trace = stoppable.wait(NAME, padded, lambda: masks_jobs.padded_job(padded, model), line)
    stack = trace[name]
    found, n_tokens = applied(stack), len(stack.query_tokens)
    line.say(
        f"The masks that **{display.markdown(model.name)}** applied in this pass over {counted(n_tokens, 'token')}, "
        "read from what each layer let through and not from its configuration."
        + (f" The pictures show its first {LONGEST_VIEW:,} tokens." if n_tokens > LONGEST_VIEW else "")
    )
    places = st.columns(max(3, min(len(found), 4)), gap="medium")
    for index, one in enumerate(found):
        view = head_view(stack, one.layers[0], 0)
        cells = visible(view)
        panel = MaskPanel(visible=cells, weights=view.weights, own_visible=cells, own_weights=view.weights)
        figure = mask_panels.figure(panel, view.query_tokens, view.key_tokens, "allowed", dark=pickers.is_dark())
        with places[index % len(places)].container(key=f"applied_{index}", gap="small"):
            st.markdown(masks_words.applied(one))
            st.plotly_chart(
                figure,
                key=f"applied_mask_{index}",
                theme=None,
                config=mask_panels.CONFIG,
                alt=f"Allowed cells of {masks_words.layers(one.layers)}",
            )
    st.markdown(masks_words.this_model(found, stack))

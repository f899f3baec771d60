"""Two experiments of the Masks page: what padding does, and whether a token's change leaks to those before it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.charts import curves_layout, mask_effects
from tfmviz.errors import EmptyText
from tfmviz.text import display
from tfmviz.ui import address, errors, loading, masks_jobs, masks_words, pickers, stoppable
from tfmviz.ui.address import Notes
from tfmviz.ui.masks_jobs import NAME, SIDES, LeakRequest, PaddedRequest
from tfmviz.ui.masks_panels import can_run_whole
from tfmviz.ui.requests import TraceRequest

if TYPE_CHECKING:
    from tfmviz.analysis.masks import Leakage
    from tfmviz.models import Model

PADS, MOST_PADS = 8, 256
OWN = "model's own"


def padding(request: TraceRequest, model: Model, line: loading.Line) -> None:
    """Attention that goes to padding, and how far the outputs of the real tokens move."""
    notes, notices = Notes(), st.container()
    n_tokens = len(model.tokenize(request.text, request.pair))
    most = masks_jobs.room(model, n_tokens, MOST_PADS)
    if most < 1:
        line.say("")
        st.info(
            f"There is no room for padding: the text has {n_tokens:,} tokens and {display.markdown(model.name)} takes "
            f"{model.max_tokens:,}. Shorten the text.",
            icon=":material/block:",
        )
        return
    pads, side = _padding_options(most, notes)
    notes.say(notices)
    asked = PaddedRequest(trace=request, pads=pads, side=side)
    effect = stoppable.wait(NAME, ("padding", asked), lambda: masks_jobs.padding_job(asked, model), line)
    line.say(
        f"{masks_words.who(model)} read the text alone and padded from {n_tokens:,} to {n_tokens + pads:,} "
        "tokens. Hidden padding should change nothing for the real tokens."
    )
    left, right = st.columns(2, gap="medium")
    leaks = [("padding hidden", effect.leak.numpy()), ("padding not hidden", effect.leak_open.numpy())]
    cosines = [("padding hidden", effect.cosine.numpy()), ("padding not hidden", effect.cosine_open.numpy())]
    dark = pickers.is_dark()
    with left:
        figure = mask_effects.by_layer(
            leaks, title="share of the real tokens' attention on padding", hover="share", dark=dark
        )
        st.plotly_chart(
            figure,
            key="leak_by_layer",
            theme=None,
            config=curves_layout.config("tfmviz padding"),
            alt="Attention on padding by layer, padding hidden and not",
        )
    with right:
        figure = mask_effects.by_token(
            cosines, effect.tokens, title="cosine of each token's output to the unpadded one", hover="cosine", dark=dark
        )
        st.plotly_chart(
            figure,
            key="cosine_by_token",
            theme=None,
            config=curves_layout.config("tfmviz padding outputs"),
            alt="Cosine of each token's output, padded against unpadded",
        )
    st.markdown(masks_words.padding(effect))


def _padding_options(most: int, notes: Notes) -> tuple[int, masks_jobs.Side]:
    default = min(PADS, most)
    notes.add(address.settle_number("padding", 1, most, default, what="padding of"))
    notes.add(address.settle("padding_side", SIDES, "right", what="side", among="There are right and left"))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if most > 1:
            pads = st.slider("Padding tokens", 1, most, default, key="padding", bind="query-params", width=360)
        else:
            pads = 1
        side = st.segmented_control(
            "Padding on the", SIDES, default="right", key="padding_side", bind="query-params", required=True
        )
    return min(max(int(pads), 1), most), "left" if side == "left" else "right"


def leakage(request: TraceRequest, model: Model, line: loading.Line) -> None:
    """Change one token, and see layer by layer which others notice."""
    notes, notices = Notes(), st.container()
    tokens = model.tokenize(request.text, request.pair)
    typed = [i for i, t in enumerate(tokens) if not (t.is_special or t.segment) and t.end > t.start]
    if not typed:
        raise EmptyText(f"There is no token to change: {model.name} finds none in the text. Type some words.")
    at = _position(typed, notes)
    notes.say(notices)
    rules = {"causal": "causal", "bidirectional": "bidirectional"} if can_run_whole(model) else {OWN: None}
    found: dict[str, Leakage] = {}
    pictures = st.container()
    for name, rule in rules.items():
        asked = LeakRequest(trace=request, at=at, mask=rule)
        try:
            found[name] = stoppable.wait(NAME, asked, partial(masks_jobs.leak_job, asked, model), line)
        except Exception as error:  # the other mask is still shown
            with pictures:
                errors.show(error)
            break
    if not found:
        line.say("")
        return
    first = next(iter(found.values()))
    line.say(
        f"{masks_words.who(model)} read the text twice: token {first.at} was "
        f"{display.code(display.label(first.tokens[first.at]))}, then "
        f"{display.code(display.label(first.changed[first.at]))}. A cell's colour is how far that token's state moved, "
        "on a log scale; an empty cell did not move at all."
    )
    with pictures:
        for column, (name, one) in zip(st.columns(len(found), gap="medium"), found.items(), strict=True):
            with column:
                _movement(name, one)
    st.markdown(masks_words.leakage(found))


def _position(typed: list[int], notes: Notes) -> int:
    first, last, default = typed[0], typed[-1], typed[len(typed) * 2 // 3]
    notes.add(address.settle_number("at", first, last, default, what="token"))
    if first == last:
        return first
    chosen = int(st.slider("Token to change", first, last, default, key="at", bind="query-params", width=420))
    # a token that covers nothing typed cannot be replaced: the nearest one that can
    return min(typed, key=lambda i: abs(i - chosen))


def _movement(name: str, one: Leakage) -> None:
    st.markdown(f"**{name} mask** :small[:gray[{masks_words.moved(one)}]]")
    figure = mask_effects.movement(one.movement.numpy(), one.tokens, one.at, dark=pickers.is_dark())
    key = "movement_" + name.replace(" ", "_").replace("'", "")
    st.plotly_chart(
        figure,
        key=key,
        theme=None,
        config=curves_layout.config(f"tfmviz leakage {name}"),
        alt=f"How far each token's state moved under the {name} mask, by layer",
    )

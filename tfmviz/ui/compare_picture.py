"""The Compare page's picture: both atlases, a head of each, what differs, and which heads belong together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from tfmviz.components.atlas import atlas
from tfmviz.components.head_pair import head_pair
from tfmviz.errors import NoAttention
from tfmviz.text import display
from tfmviz.ui import (
    address,
    compare_matching,
    compare_outputs,
    compare_same,
    compare_sides,
    compare_texts,
    compare_words,
    errors,
    pickers,
)
from tfmviz.ui.address import Notes
from tfmviz.ui.compare_sides import KEYS, Letter, Side
from tfmviz.ui.requests import TraceRequest

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from tfmviz.analysis.alignment import Alignment, Grain
    from tfmviz.analysis.difference import Difference
    from tfmviz.analysis.matching import Head

ATLAS_HEIGHT = 300
VIEWS = ("heads", "outputs", "number by number", "many texts")
GRAINS = ("tokens", "words")
# Units of one map: with more, two maps side by side are too fine to read.
MOST_UNITS = 96
_LONGEST = 48  # characters of one unit that are sent; an axis shows fewer


@st.fragment(key="compare")
def draw(sides: Mapping[Letter, Side], request: TraceRequest) -> None:
    """Everything that depends on the heads. A click on a head draws only this again."""
    notes, notices = Notes(), st.container()
    places = dict(zip(KEYS, st.columns(2, gap="medium"), strict=True))
    heads: dict[Letter, Head] = {}
    for letter, place in places.items():
        with place:
            if letter in sides:
                heads[letter] = _one_side(sides[letter], notes)
    notes.say(notices)
    if len(sides) < len(KEYS):
        return
    try:
        _both(sides["A"], sides["B"], (heads["A"], heads["B"]), request, places)
    except Exception as error:  # a fragment's errors do not reach the page
        errors.show(error)


def _one_side(side: Side, notes: Notes) -> Head:
    """A side's heads, all at once, and which of them is looked at."""
    stack, letter = side.stack, side.letter
    mark = "●" if letter == "A" else "○"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.markdown(f"**{mark} {letter}** {display.markdown(side.name)}")
        first = pickers.start_of(side.model.name)
        anew = pickers.is_another(side.model.name, KEYS[letter][pickers.PICKED_FOR])
        layer = _pick(letter, "layer", stack.n_layers, first[0], notes, anew=anew)
        head = _pick(letter, "head", stack.n_heads, first[1], notes, anew=anew)
    reachable = side.traced.reachable[stack.name]
    atlas(
        side.traced.overviews[stack.name],
        n_tokens=(len(stack.query_tokens), len(stack.key_tokens)),
        selected=(layer, head),
        n_kv_heads=stack.n_kv_heads,
        statuses=[stack.status(at) for at in range(stack.n_layers)],
        visible=reachable,
        max_height=ATLAS_HEIGHT,
        key=f"atlas_{letter.lower()}",
        on_change=partial(compare_sides.select, letter),
    )
    st.caption(compare_words.apart(side))
    return layer, head


def _pick(letter: Letter, what: str, count: int, default: int, notes: Notes, *, anew: bool) -> int:
    options, key = list(range(count)), KEYS[letter][what]
    default = min(default, count - 1)
    if anew:
        pickers.start_anew(key, default)
    among = f"Model {letter} has {address.counted(what, count)}"
    notes.add(address.settle(key, options, default, what=what, among=among))
    value = st.selectbox(
        f"{what.capitalize()} of {letter}", options, index=default, key=key, bind="query-params", width=104
    )
    return value if value in options else default


def _both(
    a: Side, b: Side, heads: tuple[Head, Head], request: TraceRequest, places: Mapping[Letter, DeltaGenerator]
) -> None:
    from tfmviz.analysis.alignment import align
    from tfmviz.analysis.difference import difference

    notes, notices = Notes(), st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        grain = _grain(notes)
        alignment = align(request.text, a.stack.query_tokens, b.stack.query_tokens, grain)
        first = _first_unit(alignment, notes)
    notes.say(notices)
    weights: dict[Letter, np.ndarray] = {}
    for side, head in zip((a, b), heads, strict=True):
        try:
            weights[side.letter] = _weights(side, alignment, head)
        except NoAttention as error:
            places[side.letter].info(f"{side.letter}: {display.markdown(str(error))}", icon=":material/block:")
    if len(weights) == len(KEYS):
        _maps((a, b), heads, alignment, difference(weights["A"], weights["B"]), first)
    match _view():
        case "outputs":
            compare_outputs.draw(a, b, alignment, request)
        case "number by number":
            compare_same.draw(a, b)
        case "many texts":
            compare_texts.draw(a, b, heads, grain)
        case _:
            compare_matching.draw(a, b, heads, alignment, grain)


def _view() -> str:
    """What stands under the maps."""
    notes, notices = Notes(), st.container()
    view = pickers.view("compare_view", VIEWS, notes)
    notes.say(notices)
    return view


def _grain(notes: Notes) -> Grain:
    notes.add(address.settle("units", GRAINS, "tokens", what="units", among="There are tokens and words"))
    grain = st.segmented_control(
        "Units",
        GRAINS,
        default="tokens",
        key="units",
        bind="query-params",
        required=True,
        help="tokens: the finest pieces that both models have cut out. words: nothing shorter than a word.",
    )
    return "words" if grain == "words" else "tokens"


def _first_unit(alignment: Alignment, notes: Notes) -> int:
    """Where a long text is looked at."""
    if len(alignment.units) <= MOST_UNITS:
        return 0
    last = len(alignment.units) - MOST_UNITS
    notes.add(address.settle_number("unit", 0, last, 0, what="first unit"))
    first = st.slider("First unit of the maps", 0, last, 0, key="unit", bind="query-params", width=260)
    return min(max(int(first), 0), last)


def _weights(side: Side, alignment: Alignment, head: Head) -> np.ndarray:
    from tfmviz.analysis.alignment import unit_weights

    unit_of = alignment.unit_of["AB".index(side.letter)]
    return unit_weights(side.stack, unit_of, *head, silenced=head in side.request.silenced)


def _maps(
    sides: tuple[Side, Side], heads: tuple[Head, Head], alignment: Alignment, found: Difference, first: int
) -> None:
    """A, B and what differs, beside the text."""
    from tfmviz.analysis.alignment import unit_visible
    from tfmviz.analysis.unit_window import unit_window, window_rows

    rows = window_rows(alignment, first, MOST_UNITS)
    may_look = [
        unit_visible(side.stack, unit_of, *head, rows=rows)
        for side, unit_of, head in zip(sides, alignment.unit_of, heads, strict=True)
    ]
    shown = unit_window(alignment, rows, found, (may_look[0], may_look[1]))
    a, b = (f"L{layer} H{head}" for layer, head in heads)
    units = [display.label(unit.text.strip() or unit.text, _LONGEST) for unit in shown.units]
    head_pair(
        shown,
        units,
        titles=(f"A {a} · {sides[0].name}", f"B {b} · {sides[1].name}", f"B − A · {b} − {a}"),
        said=compare_words.seen(shown, units, heads),
    )

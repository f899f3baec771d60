"""Which heads of A and B belong together: all distances as a picture, and ranked pairs that a click opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from tfmviz.analysis.matching import KINDS
from tfmviz.components.head_matrix import head_matrix
from tfmviz.ui import address, compare_jobs, compare_sides, compare_words, loading
from tfmviz.ui.address import Notes
from tfmviz.ui.compare_jobs import PairRequest

if TYPE_CHECKING:
    from tfmviz.analysis.alignment import Alignment, Grain
    from tfmviz.analysis.matching import Head, Kind, Match
    from tfmviz.ui.compare_sides import Side

RANKED = 50


def draw(a: Side, b: Side, heads: tuple[Head, Head], alignment: Alignment, grain: Grain) -> None:
    """The distances of all heads."""
    from tfmviz.analysis.matching import clustered, matches

    line, notes, notices = loading.Line(st.container()), Notes(), st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        kind = _kind(notes)
        notes.add(address.settle_switch("clustered", what="“clustered”"))
        together = st.toggle(
            "Clustered", key="clustered", bind="query-params", help="Heads with like distances stand together."
        )
    notes.say(notices)
    asked = PairRequest(a=a.request, b=b.request, grain=grain)
    found = loading.wait(compare_jobs.distances_job(asked, a.stack, b.stack, alignment), line)
    pairs = matches(found, kind)
    line.say(f"**Which heads belong together** {compare_words.matching(found, pairs, kind)}")
    order = clustered(found) if together else None
    left, right = st.columns([3, 2], gap="medium")
    with left:
        title = f"Heads of {a.name} and {b.name}"
        head_matrix(found, pairs, heads, order=order, on_open=_open, title=title, key="distances")
    with right:
        _ranking("Most alike", pairs[:RANKED], "most_alike")
        _ranking("Least alike", pairs[::-1][:RANKED], "least_alike")


def _kind(notes: Notes) -> Kind:
    notes.add(address.settle("matching", KINDS, KINDS[0], what="matching", among=f"There are {', '.join(KINDS)}"))
    kind = st.segmented_control(
        "Matched",
        KINDS,
        default=KINDS[0],
        key="matching",
        bind="query-params",
        required=True,
        help="one-to-one: the pairs, no head twice, whose distances add up to least. nearest: for each head of A its "
        "nearest in B. same place: same layer, same head.",
    )
    return kind if kind in KINDS else KINDS[0]


def _ranking(title: str, pairs: tuple[Match, ...], key: str) -> None:
    import pandas as pd

    st.markdown(f"**{title}**")
    rows = pd.DataFrame(
        {
            "A": [f"L{pair.a[0]} H{pair.a[1]}" for pair in pairs],
            "B": [f"L{pair.b[0]} H{pair.b[1]}" for pair in pairs],
            "distance": [round(pair.distance, 4) for pair in pairs],
        }
    )
    st.dataframe(
        rows,
        key=key,
        hide_index=True,
        height=206,
        on_select=lambda: _open_row(key, pairs),
        selection_mode="single-row",
    )


def _open_row(key: str, pairs: tuple[Match, ...]) -> None:
    chosen = st.session_state[key].selection.rows
    if chosen and 0 <= chosen[0] < len(pairs):
        _open(pairs[chosen[0]].a, pairs[chosen[0]].b)


def _open(a: Head, b: Head) -> None:
    """Both heads of a pair become the ones that are looked at."""
    compare_sides.select("A", *a)
    compare_sides.select("B", *b)

"""What the address asks for, against what there is.

Streamlit drops what a widget cannot take without a word. Here the visitor is told: a link that asks for layer 99 of a
model with 6 opens the page, and says what it shows instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

import streamlit as st

from tfmviz.text import display

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

T = TypeVar("T")

# Longest piece of an address that is repeated in a sentence.
LONGEST_ECHO = 40


def asked(key: str) -> str | None:
    """What the address says for a widget that has not been drawn yet in this session; None once it has."""
    return None if key in st.session_state else st.query_params.get(key)


class Notes:
    """What the address asked for in vain, gathered while the widgets are drawn and said in one place."""

    def __init__(self) -> None:
        self._sentences: list[str] = []

    def add(self, sentence: str | None) -> None:
        """Take a sentence, or nothing."""
        if sentence:
            self._sentences.append(sentence)

    def say(self, place: DeltaGenerator) -> None:
        """Show them, if there are any."""
        if self._sentences:
            place.warning("\n\n".join(self._sentences), icon=":material/link_off:")


def settle(key: str, options: Sequence[T], default: T, *, what: str, among: str) -> str | None:
    """Make sure that a picker with these options can be drawn, whatever the address or the last model left behind.

    Args:
        key: the widget's key and its name in the address.
        options: what can be picked now.
        default: what is picked where nothing was asked for; one of the options.
        what: the thing's name in a sentence, such as "layer".
        among: what there is, in words, such as "This model has 6 layers, 0 to 5".

    Returns:
        A sentence if something was asked for that is not there.
    """
    wanted = asked(key)
    if wanted is not None:
        if wanted in map(str, options):
            return None
        return f"The address asks for {what} {echo(wanted)}. {among}: showing {what} {default}."
    kept = st.session_state.get(key, default)
    if kept in options:
        return None
    st.session_state[key] = default
    return f"There is no {what} {echo(str(kept))} here. {among}: showing {what} {default}."


def settle_many(key: str, options: Sequence[str], *, what: str) -> str | None:
    """The same for a widget in which several things can be picked: what is not there is dropped, and said."""
    wanted = st.query_params.get_all(key) if key not in st.session_state else st.session_state[key]
    gone = [name for name in wanted if name not in options]
    if gone and key in st.session_state:
        st.session_state[key] = [name for name in wanted if name in options]
    return f"There is no {what} {', '.join(map(echo, gone[:3]))} here: left out." if gone else None


def settle_number(key: str, low: float, high: float, default: float, *, what: str) -> str | None:
    """A sentence if the address asks for a number that is none, or is out of bounds."""
    wanted = asked(key)
    if wanted is None:
        if key in st.session_state and not low <= st.session_state[key] <= high:
            st.session_state[key] = default
        return None
    try:
        number = float(wanted)
    except ValueError:
        number = float("nan")
    if low <= number <= high:
        if number.is_integer() or not all(isinstance(bound, int) for bound in (low, high, default)):
            return None
        return f"The address asks for {what} {echo(wanted)}. Only whole numbers count: showing {int(number):,}."
    bounds = [f"{bound:g}" if isinstance(bound, float) else str(bound) for bound in (low, high, default)]
    return f"The address asks for {what} {echo(wanted)}. It goes from {bounds[0]} to {bounds[1]}: showing {bounds[2]}."


def number_binding(key: str) -> Literal["query-params"] | None:
    """How the widget of a whole number is bound to the address.

    Not at all where that asks for infinity: Streamlit would make a whole number of it, and fail.
    """
    try:
        endless = math.isinf(float(st.query_params.get(key, "0")))
    except ValueError:
        endless = False
    return None if endless else "query-params"


def counted(what: str, count: int) -> str:
    """How many of something there are, and their numbers: "6 layers, 0 to 5", or "1 layer, 0"."""
    return f"{count} {what}s, 0 to {count - 1}" if count > 1 else f"{count} {what}, 0"


def settle_switch(key: str, *, what: str) -> str | None:
    """A sentence if the address asks for something that is neither on nor off."""
    wanted = asked(key)
    if wanted is None or wanted.lower() in {"true", "false"}:
        return None
    return f"The address sets {what} to {echo(wanted)}. It is true or false: it stays off."


def echo(value: str) -> str:
    """A piece of the address in a sentence: short, and without any meaning as markup."""
    short = value if len(value) <= LONGEST_ECHO else value[:LONGEST_ECHO] + "…"
    return f"“{display.markdown(short)}”"

"""What the address asks for, against what there is.

Streamlit drops what a widget cannot take without a word. Here the visitor is told: a link that asks for layer 99 of a
model with 6 opens the page, and says what it shows instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import streamlit as st

from tfmviz.text import display

T = TypeVar("T")

# Longest piece of an address that is repeated in a sentence.
LONGEST_ECHO = 40


def asked(key: str) -> str | None:
    """What the address says for a widget that has not been drawn yet in this session; None once it has."""
    return None if key in st.session_state else st.query_params.get(key)


def settle(key: str, options: Sequence[T], default: T, *, what: str, among: str) -> tuple[int, str | None]:
    """Make sure that a picker with these options can be drawn, whatever the address or the last model left behind.

    Args:
        key: the widget's key and its name in the address.
        options: what can be picked now.
        default: what is picked where nothing was asked for.
        what: the thing's name in a sentence, such as "layer".
        among: what there is, in words, such as "6 layers, 0 to 5".

    Returns:
        The index of the default among the options, and a sentence if something was asked for that is not there.
    """
    index = options.index(default) if default in options else 0
    wanted = asked(key)
    if wanted is not None:
        if wanted in map(str, options):
            return index, None
        return index, f"The address asks for {what} {echo(wanted)}. {among}: showing {what} {options[index]}."
    kept = st.session_state.get(key, options[index])
    if kept in options:
        return index, None
    st.session_state[key] = options[index]
    return index, f"There is no {what} {echo(str(kept))} here. {among}: showing {what} {options[index]}."


def settle_number(key: str, low: float, high: float, default: float, *, what: str) -> str | None:
    """A sentence if the address asks for a number that is none, or is out of bounds."""
    wanted = asked(key)
    if wanted is None:
        return None
    try:
        number = float(wanted)
    except ValueError:
        number = float("nan")
    if low <= number <= high:
        return None
    return f"The address asks for {what} {echo(wanted)}. It goes from {low:g} to {high:g}: showing {default:g}."


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

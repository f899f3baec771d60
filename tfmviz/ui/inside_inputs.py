"""The controls of the Inside page: which head, which step, which query and key, and what to change of the formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from tfmviz.text.display import label
from tfmviz.ui import address, pickers
from tfmviz.ui.address import Notes

if TYPE_CHECKING:
    from tfmviz.models.model import StackOutline
    from tfmviz.text import Token

# In the order in which a head works.
STEPS = ("query", "key", "value", "scores", "scaled", "masked", "weights", "output", "projection", "residual")
FIRST_STEP = "scores"
STRONGEST = "strongest"
CLOSER = ("one query", "why √d", "value-weighted", "cosine", "rotary")
# Rows and columns of a picture: more cannot be read number by number, and would be slow.
WINDOW = 64
COLDEST, HOTTEST = 0.1, 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where in the model.

    Attributes:
        stack: the stack's name.
        layer, head: from 0.
    """

    stack: str
    layer: int
    head: int

    @property
    def name(self) -> str:
        """How the head is named wherever it appears."""
        return f"L{self.layer} H{self.head}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """What is changed of the formula.

    Attributes:
        unscaled: leave out the division by the root of d.
        temperature: divide the scores by this besides.
        unrotated: leave out the rotary embedding.
    """

    unscaled: bool
    temperature: float
    unrotated: bool


def place(stacks: Mapping[str, StackOutline], model: str, notes: Notes) -> Place:
    """Which stack, layer and head."""
    stack = pickers.stack_name(stacks, notes)
    (layer, head), anew = pickers.start_of(model), pickers.is_another(model)
    chosen = _number("layer", stacks[stack].n_layers, layer, notes, anew=anew)
    heads = max(stacks[stack].n_heads[chosen], 1)
    return Place(stack=stack, layer=chosen, head=_number("head", heads, head, notes, anew=anew))


def _number(what: str, count: int, default: int, notes: Notes, *, anew: bool) -> int:
    options = list(range(count))
    default = min(default, count - 1)
    if anew:
        pickers.start_anew(what, default)
    if st.session_state.get(what) == pickers.MEAN or address.asked(what) == pickers.MEAN:
        notes.add(f"A mean over every {what} has no steps of its own: showing {what} {default}.")
        st.session_state[what] = default
    among = f"{'There are' if count > 1 else 'There is'} {address.counted(what, count)}"
    notes.add(address.settle(what, options, default, what=what, among=among))
    value = st.selectbox(
        what.capitalize(), options, index=options.index(default), key=what, bind="query-params", width=92
    )
    return value if isinstance(value, int) and value in options else default


def query_token(stack: StackOutline, notes: Notes) -> int:
    """The token whose row is followed."""
    tokens = stack.query_tokens
    typed = [i for i, token in enumerate(tokens) if not (token.is_special or token.is_padding)]
    words = [i for i in typed if any(letter.isalnum() for letter in tokens[i].text)]
    options = _named(tokens)
    default = options[(words or typed or [len(tokens) - 1])[-1]]
    return options.index(_token("query", "Query to follow", options, default, notes))


def key_token(stack: StackOutline, notes: Notes) -> int | None:
    """The key that is looked at with it; None for the one of most weight."""
    options = [STRONGEST, *_named(stack.key_tokens)]
    chosen = options.index(_token("against", "Key", options, STRONGEST, notes))
    return chosen - 1 if chosen else None


def _named(tokens: Sequence[Token]) -> list[str]:
    """Tokens with their places, for equal ones are different tokens."""
    return [f"{i} {label(token, 16)}" for i, token in enumerate(tokens)]


def _token(key: str, title: str, options: list[str], default: str, notes: Notes) -> str:
    """A picker of one token. After the text has changed, the token in the same place is taken.

    An address may name a token by its number alone. It is spelled out there before the picker is drawn, and the page
    begins again: what Streamlit finds in an address and does not know as an option it takes out of it, whatever the
    picker shows, and the link would no longer say which token is meant.
    """
    asked = address.asked(key)
    wanted = asked or st.session_state.get(key) or default
    if wanted not in options:
        number = str(wanted).split(" ")[0]
        there = next((option for option in options if option.split(" ")[0] == number), None)
        if asked and there is not None:
            st.query_params[key] = there
            st.rerun()
        if asked:
            notes.add(f"The address asks for token {address.echo(asked)}: showing {address.echo(default)}.")
        st.session_state[key] = there or default
    value = st.selectbox(title, options, index=options.index(default), key=key, bind="query-params", width=168)
    return value if value in options else default


def step(notes: Notes) -> str:
    """Which step; a slider, and the arrow keys left and right."""
    notes.add(address.settle("step", STEPS, FIRST_STEP, what="step", among=f"There are {', '.join(STEPS)}"))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="steps"):
        st.button("Back", key="step_back", on_click=_move, args=(-1,), icon=":material/arrow_back:", shortcut="Left")
        value = st.select_slider("Step", STEPS, value=FIRST_STEP, key="step", bind="query-params", width="stretch")
        st.button("On", key="step_on", on_click=_move, args=(1,), icon=":material/arrow_forward:", shortcut="Right")
    return value if value in STEPS else FIRST_STEP


def _move(by: int) -> None:
    now = STEPS.index(st.session_state.get("step", FIRST_STEP))
    st.session_state["step"] = STEPS[min(max(now + by, 0), len(STEPS) - 1)]


def changes(notes: Notes, *, scales: bool, rotates: bool) -> Changes:
    """What to change of the formula. Kept while it is not drawn: the page draws it once it knows the layer.

    Args:
        notes: takes what the address asked for in vain.
        scales: whether the model multiplies its scores by anything.
        rotates: whether there is a rotary embedding that was found.
    """
    for key, what in (("unscaled", "“without √d”"), ("unrotated", "“without RoPE”")):
        notes.add(address.settle_switch(key, what=what))
    notes.add(address.settle_number("temperature", COLDEST, HOTTEST, 1.0, what="a temperature of"))
    bound: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}
    unscaled = st.toggle("Without √d", key="unscaled", disabled=not scales, **bound)
    unrotated = st.toggle("Without RoPE", key="unrotated", **bound) if rotates else False
    temperature = st.slider("Temperature", COLDEST, HOTTEST, 1.0, 0.1, key="temperature", width=168, **bound)
    return Changes(
        unscaled=bool(unscaled) and scales,
        temperature=min(max(float(temperature), COLDEST), HOTTEST),
        unrotated=bool(unrotated),
    )


def closer(notes: Notes, *, rotates: bool) -> str:
    """What stands beside the picture."""
    options = CLOSER if rotates else CLOSER[:-1]
    notes.add(address.settle("closer", options, CLOSER[0], what="view", among=f"There are {', '.join(options)}"))
    value = st.segmented_control(
        "Closer", options, default=CLOSER[0], key="closer", bind="query-params", required=True,
        label_visibility="collapsed", persist_state="session", wrap=True,
    )  # fmt: skip
    return value if value in options else CLOSER[0]


def window(length: int, around: int) -> slice:
    """The tokens of a picture: all, or as many as it holds around one of them."""
    first = min(max(around - WINDOW // 2, 0), max(length - WINDOW, 0))
    return slice(first, min(first + WINDOW, length))

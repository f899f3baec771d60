"""One head's map straight to the browser: a click shows it before Streamlit has drawn the page again.

A click on the atlas starts a rerun of the page's fragment, and the browser works a third of a second on what comes
back. Beside it the atlas asks for the one thing that the visitor waits for. What it gets is what the rerun then sends,
so nothing depends on it: an answer that says "not found" only means that the map comes a little later.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response

from tfmviz.components.token_map import message
from tfmviz.errors import TfmvizError
from tfmviz.ui import cache
from tfmviz.ui.requests import HeadChoice, TraceRequest
from tfmviz.ui.server import HEADS

if TYPE_CHECKING:
    from tfmviz.analysis.head_view import Part

# Pictures that the browser may ask about: a few for each visitor, the least recently drawn forgotten first.
MOST = 1024
_MINE = "head_feed"


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


def head(request: Request) -> Response:
    """Answer with the message that :func:`tfmviz.components.token_map.token_map` would send; 404 where it cannot."""
    with _lock:
        shown = _tickets.get(request.path_params["ticket"])
    traced = cache.kept(shown.request) if shown else None
    if shown is None or traced is None:
        return Response(status_code=HTTPStatus.NOT_FOUND)
    choice = HeadChoice(layer=request.path_params["layer"], head=request.path_params["head"])
    try:
        body = _message(traced, shown, choice)
    except TfmvizError:  # a layer without attention, or a head that is not there: the page says so
        return Response(status_code=HTTPStatus.NOT_FOUND)
    return Response(body, media_type="application/octet-stream", headers={"Cache-Control": "no-store"})


def _message(traced: cache.Traced, shown: Shown, choice: HeadChoice) -> bytes:
    from tfmviz.analysis.head_view import head_view

    view = head_view(traced.trace[shown.stack], choice.layer, choice.head, shown.part, shown.window)
    return message(
        view.weights,
        view.visible,
        view.query_tokens,
        view.key_tokens,
        title=choice.name,
        row_scaled=shown.row_scaled,
        hide_special=shown.hide_special,
    )

"""What stands around the Streamlit script: security headers, the app's own files, a health route, the last resort."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

ROOT = Path(__file__).resolve().parents[2]
FONTS = ROOT / "assets" / "fonts"
HEADS = "heads"

# Streamlit needs inline scripts and styles and blob workers (Plotly, components v2); nothing needs another host.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)

# The text a person typed is in the address: no-referrer keeps it out of every other request.
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_ENCODED = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class SecurityHeaders:
    """ASGI middleware that adds ``HEADERS`` to every HTTP response and leaves WebSockets alone."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass the request on; set the headers as the response starts."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in _ENCODED}
                kept = [pair for pair in message.get("headers", []) if pair[0].lower() not in ours]
                message = {**message, "headers": [*kept, *_ENCODED]}
            await send(message)

        await self.app(scope, receive, send_with_headers)


async def health(_: Request) -> JSONResponse:
    """Say that the server answers, and which models are in memory."""
    from tfmviz.ui import cache

    return JSONResponse({"status": "ok", "models": cache.loaded_models()})


def head(request: Request) -> Response:
    """One head's map, asked for by the atlas; in a worker thread, for it computes."""
    from tfmviz.ui import head_feed

    return head_feed.head(request)


def cells(request: Request) -> Response:
    """Exact cells of a long text's map, asked for as one zooms in; in a worker thread, for it computes."""
    from tfmviz.ui import head_feed

    return head_feed.cells(request)


def first_page(request: Request) -> Response:
    """Lead to the first page, whose address is the app's own: Streamlit does not know it by its name."""
    return RedirectResponse(f"./?{request.url.query}" if request.url.query else "./")


def routes() -> list[BaseRoute]:
    """The routes beside Streamlit's own: ``/explore``, ``/health``, ``/heads`` and ``/fonts``."""
    mounts: list[BaseRoute] = [
        Route("/explore", first_page),
        Route("/health", health),
        Route(f"/{HEADS}/{{ticket}}/{{layer}}/{{head}}", head),
        Route(f"/{HEADS}/{{ticket}}/{{layer}}/{{head}}/{{rows}}/{{cols}}", cells),
    ]
    if FONTS.is_dir():
        mounts.append(Mount("/fonts", StaticFiles(directory=FONTS), name="fonts"))
    return mounts


def on_script_error(error: Exception) -> bool:
    """Show a sentence where a page broke in a way nobody foresaw; the traceback goes to the log only."""
    logging.getLogger("tfmviz").exception("unexpected error in a page", exc_info=error)
    from tfmviz.ui import errors

    errors.show(error)
    return True

"""Refuses requests to ``view`` from all but the holder of its address, which has a token in it."""

from __future__ import annotations

from secrets import compare_digest
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

GRADES = "/data/grades"
"""The only path that takes something: grades of a person, as JSON."""
MOST_BYTES = 10_000
"""Of what is sent."""
SAFE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of every answer: nothing is kept, framed, guessed at, or told to other pages."""


class Guard:
    """Refuses requests for another host, from a page of another origin, without the token, or that would change things.

    A web page whose name has been pointed at this machine (DNS rebinding) sends its own name as the host.

    Args:
        app: What answers the others. It sees paths without the token.
        host: The only accepted ``Host``, with its port.
        token: The first part of every path.
    """

    def __init__(self, app: ASGIApp, host: str, token: str) -> None:
        self._app, self._host, self._token = app, host, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SAFE.items():
                    headers[name] = value
            await send(message)

        reason = self._refusal(scope)
        if reason:
            status, text = reason
            await PlainTextResponse(text, status)(scope, receive, send_safely)
            return
        inside = scope["path"].removeprefix(f"/{self._token}")
        await self._app({**scope, "path": inside, "raw_path": None}, receive, send_safely)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        if scope["type"] != "http":
            return 403, "only HTTP is answered here"
        headers = Headers(scope=scope)
        if headers.getlist("host") != [self._host]:
            return 421, "this server is for another host"
        if headers.get("origin", f"http://{self._host}") != f"http://{self._host}":
            return 403, "pages of other origins are not answered"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "pages of other sites are not answered"
        if not compare_digest(scope["path"].split("/")[1].encode(), self._token.encode()):
            return 404, "the address needs the token that `compaction-eval view` printed"
        if scope["method"] in ("GET", "HEAD"):
            return None
        return self._refusal_to_write(scope, headers)

    def _refusal_to_write(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """A form of another page sends no JSON, and a script of another page has to ask first, with OPTIONS."""
        if scope["method"] != "POST" or scope["path"] != f"/{self._token}{GRADES}":
            return 405, "this server only shows things"
        if "origin" not in headers:
            return 403, "grades are taken from its own page alone"
        if headers.get("content-type") != "application/json":
            return 415, "grades are taken as application/json"
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= MOST_BYTES):
            return 413, f"expected at most {MOST_BYTES:,} bytes, and their number"
        return None

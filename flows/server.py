"""Prefect's API in a process of its own, that ends with the process which started it.

``python -m flows.server FD``: the number of a listening socket that the parent hands over. Prefect can start such a
server by itself, but only when the first flow runs, and one that outlives a kill -9. Started here it comes up while the
rest of the program is still being imported.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
App = Callable[[Event, Receive, Send], Awaitable[None]]

PAUSES = (0.01,) * 10 + (0.05,) * 40
"""Seconds after each of which a request is tried again that found the database busy, one request at a time."""
UNAVAILABLE = 503


def _follow_parent() -> None:
    """The parent holds the other end of stdin; when it is gone, so is the reason to be here."""
    while os.read(0, 1024):  # not sys.stdin: Python cannot end in good order while a thread reads that
        pass
    os._exit(0)


class Patient:
    """An ASGI app that tries a request again at once for which its database was busy, and bothers no client with it.

    Prefect begins most of its transactions for reading. SQLite refuses the first write of such a one at once when
    another connection has written meanwhile; Prefect answers 503, and its client waits two seconds. Between two stages
    of a run, while the events of the first are being written, that was the case every other time. What was refused is
    rolled back, so that it can be tried again as the client would.
    """

    def __init__(self, app: App, pauses: tuple[float, ...] = PAUSES) -> None:
        self._app, self._pauses = app, pauses
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await _whole(receive)
        if not await self._was_busy(dict(scope), _again(body, receive), send):
            return
        async with self._turn:
            for pause in self._pauses:
                await asyncio.sleep(pause)
                if not await self._was_busy(dict(scope), _again(body, receive), send):
                    return
        await self._app(scope, _again(body, receive), send)

    async def _was_busy(self, scope: Event, receive: Receive, send: Send) -> bool:
        """Answer the request, unless the answer would be that it is to be tried again."""
        is_busy = False

        async def sent(event: Event) -> None:
            nonlocal is_busy
            if event["type"] == "http.response.start":
                is_busy = event["status"] == UNAVAILABLE
            if not is_busy:
                await send(event)

        try:
            await self._app(scope, receive, sent)
        except Exception:
            if not is_busy:
                raise
        return is_busy


async def _whole(receive: Receive) -> list[Event]:
    """All parts of a request's body."""
    parts = [await receive()]
    while parts[-1].get("more_body"):
        parts.append(await receive())
    return parts


def _again(parts: list[Event], receive: Receive) -> Receive:
    """What gives the same body once more, and then what comes after it."""
    left = iter([dict(part) for part in parts])

    async def given() -> Event:
        for part in left:
            return part
        return await receive()

    return given


def served() -> Any:
    """Prefect's server, which says in one line on stderr why it could not start, however quiet its log is."""
    from prefect.server.api.server import create_app  # noqa: PLC0415

    app = create_app()
    lifespan = app.router.lifespan_context

    @asynccontextmanager
    async def told(served: Any) -> AsyncIterator[Any]:
        try:
            async with lifespan(served) as state:
                yield state
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            sys.stderr.write(f"{reason or type(error).__name__}\n")
            raise

    app.router.lifespan_context = told
    return Patient(app)


def main() -> None:
    """Serve until the parent ends."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    import uvicorn  # noqa: PLC0415 (slow; the parent is to be watched before)

    config = uvicorn.Config("flows.server:served", factory=True, log_level="error", lifespan="on")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])


if __name__ == "__main__":
    main()

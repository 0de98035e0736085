"""Prefect's API in a process of its own, that ends with the process which started it.

``python -m flows.execution.prefect_server_process FD``: the number of a listening socket that the parent hands over.
Prefect can start such a server by itself, but only when the first flow runs, and one that outlives a kill -9. Started
here it comes up while the rest of the program is still being imported.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

HOST = "127.0.0.1"
"""Where it listens. Not ``localhost``: that may be another address too, at which another user listens."""


def _follow_parent() -> None:
    """The parent holds the other end of stdin; when it is gone, so is the reason to be here."""
    while os.read(0, 1024):  # not sys.stdin: Python cannot end in good order while a thread reads that
        pass
    os._exit(0)


def guarded() -> Any:
    """Prefect's server, for requests and websockets that are meant for this address.

    A web page whose name has been pointed at this machine (DNS rebinding) is of the server's origin for the browser,
    but sends its own name as the host. Prefect's own app stays as it is: parts of it ask it under another name.
    """
    from starlette.middleware.trustedhost import TrustedHostMiddleware  # noqa: PLC0415

    return TrustedHostMiddleware(telling(), allowed_hosts=[HOST], www_redirect=False)


def telling() -> Any:
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
    return app


def main() -> None:
    """Serve until the parent ends."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    import uvicorn  # noqa: PLC0415 (slow; the parent is to be watched before)

    config = uvicorn.Config(
        "flows.execution.prefect_server_process:guarded", factory=True, log_level="error", lifespan="on"
    )
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])


if __name__ == "__main__":
    main()

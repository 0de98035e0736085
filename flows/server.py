"""Prefect's API in a process of its own, that ends with the process which started it.

``python -m flows.server FD``: the number of a listening socket that the parent hands over. Prefect can start such a
server by itself, but only when the first flow runs, and one that outlives a kill -9. Started here it comes up while the
rest of the program is still being imported.
"""

from __future__ import annotations

import os
import socket
import sys
import threading


def _follow_parent() -> None:
    """The parent holds the other end of stdin; when it is gone, so is the reason to be here."""
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    """Serve until the parent ends."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    import uvicorn  # noqa: PLC0415 (slow; the parent is to be watched before)

    config = uvicorn.Config("prefect.server.api.server:create_app", factory=True, log_level="error", lifespan="on")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])


if __name__ == "__main__":
    main()

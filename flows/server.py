"""Prefect's API in a process of its own, that ends with the process which started it.

``python -m flows.server PORT``. Prefect can start such a server by itself, but only when the first flow runs, and one
that outlives a kill -9. Started here it comes up while the rest of the program is still being imported.
"""

from __future__ import annotations

import os
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

    uvicorn.run(
        "prefect.server.api.server:create_app",
        factory=True,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_level="error",
        lifespan="on",
    )


if __name__ == "__main__":
    main()

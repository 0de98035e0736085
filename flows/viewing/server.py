"""Serves a store on the loopback address until it is stopped."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from flows.reporting.html import library
from flows.reporting.html.page import chart_script
from flows.support.errors import UsageError
from flows.viewing.app import make_app
from flows.viewing.grading import Grading
from flows.viewing.guard import Guard
from flows.viewing.live_store import LiveStore

HOST = "127.0.0.1"
"""Where it listens. Not ``localhost``: that may be another address too, at which another user listens."""


def serve(
    live: LiveStore, port: int, tell: Callable[[str], None], *, opens: bool, grading: Grading | None = None
) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        live: The store.
        port: Where to listen; 0 takes a free one.
        tell: Is called once with the address, which holds a token that is new each time.
        opens: Whether to open the address in a browser.
        grading: What takes a person's grades; without it there is no grading.

    Raises:
        UsageError: the port is taken, or may not be had.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise UsageError(f"--port {port}: cannot listen there: {error.strerror}; 0 takes a free port") from None
        listening.listen(128)
        host, token = f"{HOST}:{listening.getsockname()[1]}", secrets.token_urlsafe(24)
        if library.is_installed():
            threading.Thread(target=chart_script, daemon=True).start()  # two seconds, while the page is being read
        threading.Thread(target=live.prepare, daemon=True).start()
        address = f"http://{host}/{token}/"
        tell(address)
        if opens:
            webbrowser.open(address)
        app = Guard(make_app(live, grading), host, token)
        config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, lifespan="off")
        with suppress(KeyboardInterrupt):  # uvicorn has ended in good order, and hands it on
            uvicorn.Server(config).run(sockets=[listening])

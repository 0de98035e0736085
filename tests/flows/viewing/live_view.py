"""A live view as a process of its own, and its answers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from flows.database.scores_db import connect
from flows.reporting.html import library
from flows.reporting.text_tables import fetch_rows
from flows.store.store import Store
from tests.flows.reporting.html.report_browser import CHROMIUM, DRIVER, WHY_NOT

needs_browser = [
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=WHY_NOT),
    pytest.mark.skipif(not library.is_installed(), reason=f"needs {library.INSTALL}"),
]


@contextmanager
def viewed(store: Store, *arguments: str) -> Iterator[str]:
    """The address at which the command shows a store, without the slash at its end."""
    command = [sys.executable, "-m", "flows", "view", str(store.root), "--no-open", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip().rstrip("/")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        process.stdout.close()


def ask(address: str, name: str, **values: Any) -> Any:
    """The answer of the server as data."""
    with urlopen(f"{address}/data/{name}?{urlencode(values)}") as answer:
        return json.load(answer)


def refused(address: str, name: str, **values: Any) -> tuple[int, str]:
    """Status and sentence of an answer that is an error."""
    with pytest.raises(HTTPError) as caught:
        ask(address, name, **values)
    return caught.value.code, caught.value.read().decode()


def rows(store: Store, query: str) -> list[dict[str, Any]]:
    with connect(store.database) as connection:
        return fetch_rows(connection, query).dicts()

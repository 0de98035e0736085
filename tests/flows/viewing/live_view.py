"""A live view as a process of its own, and its answers."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

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

SCORED = (
    "SELECT answer_id, method, text, session_id FROM int_answer_scores JOIN answers USING (answer_id, session_id) "
    "WHERE dimension = 'overall'"
)


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


def grade(address: str, grades: Any, **headers: str) -> tuple[int, str]:
    """Status and text of the answer to grades that are sent as the page's script sends them."""
    origin = address.rsplit("/", 1)[0]
    given = {"Origin": origin, "Content-Type": "application/json"} | headers
    content = grades if isinstance(grades, bytes) else json.dumps(grades).encode()
    try:
        with urlopen(Request(f"{address}/data/grades", content, given)) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def refused(address: str, name: str, **values: Any) -> tuple[int, str]:
    """Status and sentence of an answer that is an error."""
    with pytest.raises(HTTPError) as caught:
        ask(address, name, **values)
    return caught.value.code, caught.value.read().decode()


def rows(store: Store, query: str) -> list[dict[str, Any]]:
    with connect(store.database) as connection:
        return fetch_rows(connection, query).dicts()


def lines_of(labels: Path) -> list[dict[str, str]]:
    """The rows of a rater's file."""
    with labels.open(newline="") as file:
        return list(csv.DictReader(file))

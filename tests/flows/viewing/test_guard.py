"""The live view answers its own address with the token alone, and says so in one sentence to others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from flows.viewing.guard import GRADES, MOST_BYTES, SAFE, Guard

HOST = "127.0.0.1:8899"
SECRET = "a-token_of-32"


def ask(path: str, method: str = "GET", kind: str = "http", **headers: str) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers of the answer to a request."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse(f"shown {scope['path']}")(scope, receive, send)

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    given = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in given.items() if value]
    scope = {"type": kind, "path": path, "method": method, "headers": raw, "query_string": b""}
    asyncio.run(Guard(app, HOST, SECRET)(scope, receive, send))
    answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], sent[1]["body"].decode(), answered


def test_whoever_has_the_address_is_answered_and_nothing_is_kept() -> None:
    status, text, headers = ask(f"/{SECRET}/data/session")
    assert (status, text) == (200, "shown /data/session")
    assert {name.lower(): value for name, value in SAFE.items()}.items() <= headers.items()


def test_its_own_pages_are_answered() -> None:
    assert ask(f"/{SECRET}/", origin=f"http://{HOST}", sec_fetch_site="same-origin")[0] == 200
    assert ask(f"/{SECRET}/", sec_fetch_site="none")[0] == 200


@pytest.mark.parametrize("path", ["/", "/data/session", f"/{SECRET[:-1]}/", f"/{SECRET}x/", f"//{SECRET}/", "/é/"])
def test_without_the_token_nothing_is_shown(path: str) -> None:
    status, text, headers = ask(path)
    assert status == 404
    assert "token" in text
    assert SECRET not in text
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8899", "127.0.0.1", "127.0.0.1:80", "localhost:8899", ""]
)
def test_another_host_is_refused(host: str) -> None:
    assert ask(f"/{SECRET}/", host=host)[0] == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", f"https://{HOST}"])
def test_another_origin_is_refused(origin: str) -> None:
    assert ask(f"/{SECRET}/data/query", origin=origin)[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_is_refused_whatever_it_asks(site: str) -> None:
    assert ask(f"/{SECRET}/", sec_fetch_site=site)[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(method: str) -> None:
    assert ask(f"/{SECRET}/", method)[0] == 405


OWN = {"origin": f"http://{HOST}", "content_type": "application/json", "content_length": "2"}
"""Headers of the page's own script when it sends a grade."""


def test_its_own_page_may_send_grades_and_to_no_other_path() -> None:
    assert ask(f"/{SECRET}{GRADES}", "POST", **OWN)[:2] == (200, f"shown {GRADES}")
    for path in ("/", "/data/query", f"{GRADES}/", f"{GRADES}x"):
        assert ask(f"/{SECRET}{path}", "POST", **OWN)[0] == 405
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        assert ask(f"/{SECRET}{GRADES}", method, **OWN)[0] == 405


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"origin": ""}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"host": "evil.example"}, 421),
        ({"content_type": ""}, 415),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"content_length": ""}, 413),
        ({"content_length": "-1"}, 413),
        ({"content_length": str(MOST_BYTES + 1)}, 413),
        ({"content_length": "9" * 5000}, 413),
    ],
)
def test_grades_that_do_not_come_from_its_own_page_are_refused(wrong: dict[str, str], status: int) -> None:
    assert ask(f"/{SECRET}{GRADES}", "POST", **{**OWN, **wrong})[0] == status


def test_grades_without_the_token_are_refused() -> None:
    assert ask(f"/{SECRET}x{GRADES}", "POST", **OWN)[0] == 404


def test_websockets_are_refused() -> None:
    assert ask(f"/{SECRET}/", kind="websocket")[0] == 403

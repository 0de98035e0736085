"""What is around Prefect's own server: a database that is busy for a moment is no client's problem."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from flows.server import Event, Patient, Receive, Send

BODY = [
    {"type": "http.request", "body": b"one ", "more_body": True},
    {"type": "http.request", "body": b"two", "more_body": False},
    {"type": "http.disconnect"},
]


class Busy:
    """An app that answers 503 so often, as Starlette does for an error, then 200."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.asked: list[bytes] = []

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part["body"], part["more_body"]
        self.asked.append(body)
        scope["state"] = "touched"
        status = 503 if self.left else 200
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": str(status).encode()})
        assert (await receive())["type"] == "http.disconnect"
        if self.left:
            self.left -= 1
            raise RuntimeError("database is locked")


def asked(app: Any, scope: dict[str, Any], events: Iterator[Event]) -> list[Event]:
    """What a connection is sent."""
    sent: list[Event] = []

    async def receive() -> Event:
        return next(events, {"type": "http.disconnect"})

    async def send(event: Event) -> None:
        sent.append(event)

    asyncio.run(app(scope, receive, send))
    return sent


@pytest.mark.parametrize("times", [0, 1, 3])
def test_a_request_that_found_the_database_busy_is_tried_again_whole(times: int) -> None:
    app = Busy(times)
    sent = asked(Patient(app, (0.0, 0.0, 0.0)), {"type": "http"}, iter(BODY))
    assert [event.get("status", event.get("body")) for event in sent] == [200, b"200"]
    assert app.asked == [b"one two"] * (times + 1)


def test_one_that_is_refused_again_and_again_is_the_clients() -> None:
    app = Busy(9)
    sent: list[Event] = []
    with pytest.raises(RuntimeError, match="locked"):
        sent = asked(Patient(app, (0.0, 0.0)), {"type": "http"}, iter(BODY))
    assert sent == []
    assert len(app.asked) == 4


def test_any_other_error_is_passed_on_at_once_and_so_is_what_is_no_request() -> None:
    async def broken(scope: Event, receive: Receive, send: Send) -> None:
        await send({"type": scope["type"]})
        raise RuntimeError("no such thing")

    for kind in ("http", "websocket", "lifespan"):
        with pytest.raises(RuntimeError, match="no such thing"):
            asked(Patient(broken, (0.0,)), {"type": kind}, iter(BODY))


@pytest.mark.slow
def test_stages_that_follow_each_other_do_not_wait_for_the_events_of_the_last(prefect_server: str) -> None:
    """On a real server, writers side by side: nobody is told to come again."""
    import httpx

    async def write(client: httpx.AsyncClient, writer: int) -> list[int]:
        found = []
        for number in range(12):
            flow = await client.post("/flows/", json={"name": f"writer {writer}"})
            run = await client.post("/flow_runs/", json={"flow_id": flow.json()["id"], "state": {"type": "RUNNING"}})
            body = {"flow_run_id": run.json()["id"], "task_key": "key", "dynamic_key": str(number)}
            found += [flow.status_code, run.status_code, (await client.post("/task_runs/", json=body)).status_code]
        return found

    async def all_of() -> list[list[int]]:
        async with httpx.AsyncClient(base_url=prefect_server, timeout=60) as client:
            return await asyncio.gather(*(write(client, writer) for writer in range(6)))

    codes = {code for found in asyncio.run(all_of()) for code in found}
    assert codes <= {200, 201}

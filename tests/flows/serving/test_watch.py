"""``serve`` keeps its server alive while Prefect's client waits for one that has ended."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from flows.serving import serve
from flows.serving.plan import ServePlan
from flows.store.store import Store


class _Hanging:
    """Nights whose server never answers."""

    def __init__(self, plan: ServePlan) -> None:
        del plan

    async def ended(self) -> list[str]:
        await asyncio.Event().wait()
        raise AssertionError


class _Server:
    """A server that has ended each time one looks."""

    def __init__(self) -> None:
        self.n_revived = 0
        self.enough = asyncio.Event()

    def revive(self) -> str:
        self.n_revived += 1
        if self.n_revived == 3:
            self.loop.call_soon_threadsafe(self.enough.set)
        return "exit code -9"

    loop: asyncio.AbstractEventLoop


def test_a_server_that_has_ended_is_followed_by_another_while_a_look_at_nights_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(serve, "LOOK_WITHIN", 0.01)
    monkeypatch.setattr("flows.serving.deployment.NightRuns", _Hanging)

    async def watch() -> int:
        server: Any = _Server()
        server.loop = asyncio.get_running_loop()
        store = Store.create(str(tmp_path / "store"), "o200k_base")
        plan = ServePlan("one-place", "0 2 * * *", "UTC", {}, store, now=False)
        watching = asyncio.create_task(serve._Serving(plan, server)._watch())
        await asyncio.wait_for(server.enough.wait(), 20)
        watching.cancel()
        return int(server.n_revived)

    assert asyncio.run(watch()) >= 3

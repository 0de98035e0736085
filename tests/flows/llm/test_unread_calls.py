"""Calls that were sent when the process was killed are booked with an estimate, and no others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flows.llm.cache.call_cache import CallCache
from tests.flows.llm.scripted import wait_until
from tests.flows.llm.server import MockProvider

SCRIPT = """
import sys
from pathlib import Path
from concurrent.futures import ThreadPoolExecutor
from compaction.model import ModelRequest
from compaction.transcript import Message
from flows.llm.cache.call_cache import CallCache
from flows.llm.gateway import Gateway
from flows.llm.settings import make_settings
given = {"base_url": sys.argv[2], "timeout": 60.0, "input_usd": 1.0, "output_usd": 2.0}
settings = make_settings("openai:m", given, "test")
with CallCache(Path(sys.argv[1])) as cache, Gateway(cache, concurrency=3) as gateway, ThreadPoolExecutor(9) as pool:
    calls = [ModelRequest((Message("user", f"{n} " * 2_000),), 100) for n in range(9)]
    list(pool.map(lambda call: gateway.complete(settings, call), calls))
"""


def test_what_was_in_flight_at_a_kill_is_booked(provider: MockProvider, tmp_path: Path) -> None:
    provider.script.extend([None, None])
    provider.faults = {"hang": 1.0}
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "cache"), provider.openai_url]
    with subprocess.Popen(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}) as process:
        wait_until(lambda: len(provider.requests) == 5)
        process.send_signal(signal.SIGKILL)
    for _ in range(2):
        with CallCache(tmp_path / "cache") as cache:
            entries = [entry for _, entry in cache.journal_after(0)]
            assert sorted(entry.status for entry in entries) == ["done", "done", "sent", "sent", "sent"]
    unread = [entry for entry in entries if entry.status == "sent"]
    assert all(entry.error and "estimates" in entry.error for entry in unread)
    assert [entry.output_tokens for entry in unread] == [50] * 3
    for entry in unread:
        assert entry.input_tokens == pytest.approx(1_000, rel=0.1)
        assert entry.cost_usd == pytest.approx((1.0 * (entry.input_tokens or 0) + 2.0 * 50) / 1e6)

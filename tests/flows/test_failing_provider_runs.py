"""Runs whose provider fails for all: they end soon, with one sentence, and go on when it is back."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from flows.llm import breaker
from tests.flows.conftest import Command
from tests.flows.llm.server import HttpError, MockProvider
from tests.flows.test_model_runs import OPTIONS, handler, provider, query, sessions

__all__ = ["provider", "sessions"]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("fault", ["429", "500", "reset", "403", "closed"])
def test_a_provider_that_fails_ends_the_run_with_one_sentence_and_the_next_one_goes_on(
    provider: MockProvider,
    sessions: Path,
    tmp_path: Path,
    working_command: Command,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    monkeypatch.setattr(breaker, "THROTTLED_WAITS", (0.01,) * len(breaker.THROTTLED_WAITS))
    monkeypatch.setattr(breaker, "WAITS", (0.01,) * len(breaker.WAITS))
    options = ("run", sessions, "--store", tmp_path / "store", *OPTIONS, "--responder", "openai:m", "--concurrency", 8)
    if fault == "403":

        def wall(_: object) -> str:
            raise HttpError(403, "", type=None)

        provider.handler = wall
    elif fault == "closed":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{free.getsockname()[1]}/v1")
    else:
        provider.faults = {fault: 1.0}
    first = working_command(*options)
    assert first.exit_code == 4, first.output
    assert len(provider.requests) <= 3 * 8
    assert "openai:m failed" in " ".join(first.output.split())
    assert first.output.count("so it is not asked any more") == 1
    provider.faults, provider.handler = {}, handler
    monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
    again = working_command(*options)
    assert again.exit_code == 0, again.output
    assert query(tmp_path / "store", "SELECT DISTINCT status FROM answers") == [("done",)]

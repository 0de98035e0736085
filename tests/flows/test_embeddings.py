"""A whole run with a method that asks for embeddings, against an endpoint on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flows.conftest import Command, write_session
from tests.flows.llm.server import MockProvider
from tests.flows.test_model_runs import bodies, query

pytestmark = pytest.mark.slow


def test_embeddings_are_asked_for_once_whatever_summarises_and_without_an_endpoint_the_method_does_not_apply(
    tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    sessions = tmp_path / "logs"
    for number, (word, turns) in enumerate({"orchard": 30, "harbour": 25}.items()):
        write_session(sessions / f"{word}.jsonl", f"session-{number}", turns, word)
    store = tmp_path / "store"
    given = ("--points", "messages:20", "--strategies", "none,retrieval_vector(recent=4)", "--quiet")
    with MockProvider() as provider, monkeypatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", provider.openai_url)
        first = working_command("run", sessions, "--store", store, *given)
        assert first.exit_code == 0, first.output
        assert {request.path for request in provider.requests} == {"/v1/embeddings"}
        assert set(bodies(provider.requests).values()) == {1}
        sent = len(provider.requests)
        rows = query(
            store,
            "SELECT model, sum(input_tokens) > 0, sum(output_tokens) FROM calls WHERE stage = 'compact' GROUP BY ALL",
        )
        assert rows == [("openai:text-embedding-3-small", True, 0)]
        assert query(store, "SELECT DISTINCT summarizer FROM methods") == [(None,)]
        assert query(store, "SELECT status, count(*) FROM compactions GROUP BY status") == [("done", 8)]
        again = working_command("run", sessions, "--store", store, *given, "--replicates", "2")
        assert again.exit_code == 0, again.output
        assert len(provider.requests) == 2 * sent  # a replicate asks anew
    alone = tmp_path / "alone"
    assert working_command("run", sessions, "--store", alone, *given).exit_code == 0
    (said,) = query(alone, "SELECT DISTINCT error FROM compactions WHERE status = 'not_applicable'")
    assert said[0].startswith("no endpoint for the embeddings of openai:text-embedding-3-small: set OPENAI_API_KEY, or")

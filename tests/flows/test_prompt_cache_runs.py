"""Runs whose provider keeps the beginnings of prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.llm.settings import BASE_URLS
from tests.flows.conftest import Command
from tests.flows.llm.prompt_caches import PromptCaches
from tests.flows.llm.server import MockProvider
from tests.flows.test_model_runs import OPTIONS, provider, query, sessions

__all__ = ["provider", "sessions"]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["openai:gpt-5.2", "anthropic:claude-sonnet-4-5"])
def test_most_of_what_a_study_sends_is_in_the_providers_prompt_cache_as_the_plan_foresees(
    provider: MockProvider,
    sessions: Path,
    tmp_path: Path,
    working_command: Command,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    provider.caches, provider.delay = PromptCaches(), 0.05
    for word, url in (("openai", provider.openai_url), ("anthropic", provider.anthropic_url)):
        monkeypatch.setitem(BASE_URLS, word, url)  # type: ignore[index]
        monkeypatch.setenv(f"{word.upper()}_API_KEY", "sk-of-the-test")
    monkeypatch.delenv("OPENAI_BASE_URL")
    options = (sessions, "--store", tmp_path / "store", *OPTIONS, "--responder", name, "--judge", name)
    plan = json.loads(working_command("plan", *options, "--json").stdout)
    planned = {line["stage"]: line["cached_input_tokens"] for line in plan["calls"]}
    run = working_command("run", *options)
    assert run.exit_code == 0, run.output
    rows = query(
        tmp_path / "store",
        "SELECT stage, input_tokens, cached_input_tokens, cost_usd FROM costs WHERE stage IN ('answer', 'score')",
    )
    shares = {stage: read / sent for stage, sent, read, _ in rows}
    assert shares["score"] >= 0.6
    assert all(cost > 0 for *_, cost in rows)
    answers = next(read for stage, _, read, _ in rows if stage == "answer")
    assert planned["answer"] == pytest.approx(answers, rel=0.2)

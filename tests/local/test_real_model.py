"""The whole client path against a real server with a real model; of what it says only the form is looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from compaction.model import ModelError, ModelRequest
from compaction.transcript import Message
from flows.llm.cache.call_cache import CallCache
from flows.llm.gateway import Gateway
from flows.llm.remote_model import RemoteModel
from flows.llm.settings import make_settings
from judge import load_rubric
from judge.audit.clear_cases import clear_cases, mean_score
from judge.llm import ModelJudge
from tests.local.conftest import CONTEXT, LocalServer

pytestmark = pytest.mark.slow

COLOUR = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green", "blue"]}, "sure": {"type": "boolean"}},
    "required": ["colour", "sure"],
    "additionalProperties": False,
}


class Wire:
    """One gateway over one cache, and the models behind it."""

    def __init__(self, server: LocalServer, folder: Path) -> None:
        self.server = server
        self.cache = CallCache(folder)
        self.gateway = Gateway(self.cache, run_id="local", concurrency=4)

    def model(self, spec: str | None = None, **given: Any) -> RemoteModel:
        given = {"base_url": self.server.base_url, **given}
        return RemoteModel(make_settings(spec or self.server.spec, given, "test"), lambda: self.gateway)

    def journal(self) -> list[tuple[str, bool]]:
        self.gateway.close()
        return [(entry.status, entry.cached) for _, entry in self.cache.journal_after(0)]


@pytest.fixture
def path(local_server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    found = Wire(local_server, tmp_path)
    yield found
    found.gateway.close()
    found.cache.close()


def asked(text: str, max_tokens: int = 60, **more: Any) -> ModelRequest:
    return ModelRequest(
        (Message("system", "You answer in one short sentence."), Message("user", text)), max_tokens, **more
    )


APIS = pytest.mark.parametrize("api", ["chat", "responses"])
HELLO = "Say hello in three words and stop."
STORY = "Tell a very long story about a river, with all its bends."


@APIS
def test_an_answer_comes_with_the_tokens_that_the_server_counted_and_costs_nobody_knows_what(
    path: Wire, api: str
) -> None:
    answer = path.model(api=api).complete(asked(HELLO, 200))
    assert answer.text.strip()
    assert 10 < answer.input_tokens < 100
    assert 0 < answer.output_tokens <= 200
    assert answer.cost_usd is None
    assert answer.seconds > 0
    assert not answer.cached


@APIS
def test_the_same_question_again_is_served_from_the_cache(path: Wire, api: str) -> None:
    model = path.model(api=api)
    first, second = model.complete(asked(HELLO, 200)), model.complete(asked(HELLO, 200))
    assert (second.text, second.cached) == (first.text, True)
    assert path.journal() == [("done", False), ("done", True)]


@APIS
def test_a_schema_is_kept_to_by_the_server(path: Wire, api: str) -> None:
    request = asked("What colour is the sky at noon? Answer with JSON.", 120, schema=COLOUR)
    found = json.loads(path.model(api=api).complete(request).text)
    assert found["colour"] in ("red", "green", "blue")
    assert isinstance(found["sure"], bool)


@APIS
def test_an_answer_that_was_cut_is_truncated_and_not_kept(path: Wire, api: str) -> None:
    model = path.model(api=api)
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            model.complete(asked(STORY, 8))
        assert caught.value.kind == "truncated"
    assert path.journal() == [("truncated", False)] * 2


@APIS
def test_a_prompt_that_is_longer_than_the_window_is_an_overflow(path: Wire, api: str) -> None:
    with pytest.raises(ModelError) as caught:
        path.model(api=api).complete(asked("river " * (CONTEXT + 100)))
    assert caught.value.kind == "overflow"
    assert path.journal() == [("overflow", False)]


def test_an_answer_of_another_model_than_the_one_asked_is_no_answer(path: Wire) -> None:
    with pytest.raises(ModelError) as caught:
        path.model("openai:gpt-5.2").complete(asked(HELLO))
    assert path.server.spec.removeprefix("openai:") in str(caught.value)
    assert path.journal() == [("wrong_model", False)]


def test_questions_that_are_asked_at_once_are_all_answered_and_equal_ones_once(path: Wire) -> None:
    model = path.model()
    requests = [asked(f"Say the number {n} and stop.", 200) for n in (1, 2, 3)] * 2
    with ThreadPoolExecutor(len(requests)) as pool:
        answers = [done.text for done in pool.map(model.complete, requests)]
    assert answers[:3] == answers[3:]
    assert sorted(path.journal()) == [("done", False)] * 3 + [("done", True)] * 3


def test_anthropics_interface_of_the_same_server_answers_too(path: Wire) -> None:
    pytest.importorskip("anthropic", reason="the extra for anthropic: models is not installed")
    model = path.model(path.server.spec.replace("openai:", "anthropic:"), base_url=path.server.anthropic_url)
    answer = model.complete(asked(HELLO, 200))
    assert answer.text.strip()
    assert answer.input_tokens > 10
    with pytest.raises(ModelError) as caught:
        model.complete(asked(STORY, 8))
    assert caught.value.kind == "truncated"


def test_a_verdict_of_a_real_model_is_whole_or_the_answer_stays_unscored(path: Wire) -> None:
    case = clear_cases()[0].case
    judge = ModelJudge(path.model(), load_rubric(), "closed")
    score, reason = mean_score(judge, case)
    if score is None:  # a very small model writes reasons without an end
        assert "cut at the limit" in reason or "context" in reason
    else:
        assert [one.criterion for one in judge.score(case)] == list(case.criteria)
        assert 0 <= score <= 5

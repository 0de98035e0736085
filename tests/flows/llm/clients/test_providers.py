"""Other providers behind OpenAI's interface, each as its documentation describes it: address, names, errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from starlette.responses import Response

from flows.llm.clients.transport import CallFault
from flows.llm.retries import without_keys
from flows.llm.settings import ModelSettings, make_settings
from flows.support.errors import UsageError
from tests.flows.llm import shapes
from tests.flows.llm.asking import SCHEMA, answer, fault, make_request
from tests.flows.llm.server import MockProvider

JUDGED = '{"score": 4, "why": "named"}'


@dataclass(frozen=True)
class Provider:
    """A provider: where it answers, which model is asked, which name it answers by, and what its errors look like."""

    prefix: str
    model: str
    answers_as: str
    busy: Any
    """The body of its answer 429."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    refuses: tuple[str, ...] = ()
    before: str = ""
    """Text that stands before every answer."""


GOOGLE = [{"error": {"code": 429, "message": "Resource has been exhausted", "status": "RESOURCE_EXHAUSTED"}}]
PLAIN = {"error": {"message": "Too many requests", "type": "rate_limit_error", "code": None}}
PROVIDERS = {
    "gemini": Provider("/v1beta/openai", "gemini-3.5-flash", "gemini-3.5-flash", GOOGLE),
    "vertex": Provider(
        "/v1/projects/p/locations/l/endpoints/openapi", "google/gemini-3.5-flash", "google/gemini-3.5-flash", GOOGLE
    ),
    "azure": Provider(
        "/openai/v1",
        "our-judge",
        "gpt-5.2-2025-12-11",
        {"error": {"code": "429", "message": "Requests have exceeded call rate limit. Please retry after 1 second."}},
        {"check_model": False, "temperature": False},
        ("max_tokens",),
    ),
    "bedrock": Provider(
        "/openai/v1",
        "openai.gpt-oss-120b-1:0",
        "openai.gpt-oss-120b-1:0",
        {"error": {"message": "Too many tokens, please wait before trying again.", "type": "throttling"}},
        before="<reasoning>The file is named.</reasoning>",
    ),
    "openrouter": Provider(
        "/api/v1",
        "openai/gpt-5.2",
        "openai/gpt-5.2-20251211",
        {"error": {"code": 429, "message": "Provider returned error", "metadata": {"raw": "slow down"}}},
    ),
    "ollama": Provider("/v1", "qwen2.5-coder:1.5b", "qwen2.5-coder:1.5b", {"error": "server busy"}),
    "vllm": Provider("/v1", "Qwen/Qwen3-32B", "Qwen/Qwen3-32B", PLAIN),
}


@pytest.fixture(params=PROVIDERS)
def served(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A provider that serves, and the settings of its model."""
    known = PROVIDERS[request.param]
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    monkeypatch.setenv("ANOTHER_KEY", "key-of-another")
    with MockProvider(prefix=known.prefix, model=known.answers_as, refuses=known.refuses) as provider:
        given = {"base_url": provider.openai_url + "/", "timeout": 20.0, "key_variable": "ANOTHER_KEY"}
        yield known, provider, make_settings(f"openai:{known.model}", {**given, **known.settings}, "test")


def test_it_answers_a_text_and_a_verdict_and_gets_its_own_key(
    served: tuple[Provider, MockProvider, ModelSettings],
) -> None:
    known, provider, settings = served
    provider.handler = lambda body: known.before + (JUDGED if shapes.schema_of(body) else "flows/run.py")
    assert answer(settings).text == "flows/run.py"
    assert orjson.loads(answer(settings, make_request(schema=SCHEMA)).text) == orjson.loads(JUDGED)
    assert {one.path for one in provider.requests} == {f"{known.prefix}/chat/completions"}
    assert {one.headers["authorization"] for one in provider.requests} == {"Bearer key-of-another"}
    assert not [words for words in provider.refusals if "max_tokens" not in words]


def test_its_429_is_waited_for(served: tuple[Provider, MockProvider, ModelSettings]) -> None:
    known, provider, settings = served
    provider.handler = lambda _: Response(orjson.dumps(known.busy), 429, media_type="application/json")
    found = fault(settings)
    assert found.kind == "rate_limited"
    assert "429" in str(found)


def test_a_filter_of_azure_is_a_refusal(provider: MockProvider) -> None:
    said = {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "code": "content_filter",
        "param": "prompt",
        "status": 400,
    }
    provider.handler = lambda _: shapes.error(False, 400, said)
    found = fault(make_settings("openai:our-judge", {"base_url": provider.openai_url}, "test"))
    assert found.kind == "refused"


def test_an_error_of_openrouter_comes_with_status_200(provider: MockProvider) -> None:
    given = {"error": {"code": 502, "message": "Provider returned error"}}
    provider.handler = lambda _: shapes.reply(given)
    found = fault(make_settings("openai:openai/gpt-5.2", {"base_url": provider.openai_url}, "test"))
    assert found.kind == "server"


def test_a_variable_that_is_not_set_is_named(provider: MockProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANOTHER_KEY", raising=False)
    given = {"base_url": provider.openai_url, "key_variable": "ANOTHER_KEY"}
    found = fault(make_settings("openai:any", given, "test"))
    assert isinstance(found, CallFault)
    assert "ANOTHER_KEY is not set" in str(found)
    assert provider.requests == []


def test_no_key_of_any_variable_stays_in_a_reason_and_other_words_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "AIzaSyA0123456789")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    assert without_keys("AIzaSyA0123456789 is false") == "[key] is false"


@pytest.mark.parametrize("given", ["sk-proj-0123456789", "AIzaSyA0123456789", "A B", "$GEMINI_API_KEY"])
def test_a_key_in_the_place_of_its_variable_is_refused_and_not_repeated(given: str) -> None:
    with pytest.raises(UsageError, match="the name of an environment variable") as refused:
        make_settings("openai:any", {"key_variable": given}, "test")
    assert given not in str(refused.value)

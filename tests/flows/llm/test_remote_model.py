"""A provider's model as the rest of the project sees it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compaction.model import (
    BlankSummaryError,
    CallsStoppedError,
    ContextOverflowError,
    ModelError,
    NativeRequest,
    SummaryError,
)
from flows.llm.budget import Budget
from flows.llm.clients.transport import FaultKind
from flows.llm.gateway import Gateway
from flows.llm.remote_model import RemoteCompactor, RemoteModel
from flows.llm.settings import BASE_URLS, ModelSettings
from tests.flows.llm.scripted import SETTINGS, ScriptedTransport, faults, reply, request

OFFICIAL = ModelSettings("openai:gpt-5.2", BASE_URLS["openai"])
NATIVE = NativeRequest("openai", "/v1/responses/compact", {"input": []})


def nobody() -> Gateway:
    raise AssertionError("the gateway was asked for")


def test_a_model_has_a_name_and_an_identity_before_any_run() -> None:
    model = RemoteModel(OFFICIAL, nobody)
    assert (model.name, model.identity) == ("openai:gpt-5.2", OFFICIAL.identity)
    assert RemoteCompactor(OFFICIAL, nobody).name == "openai:gpt-5.2"


def test_the_name_says_the_host_of_a_server_that_is_not_the_providers() -> None:
    assert RemoteModel(SETTINGS, nobody).name == "openai:m (localhost:1)"


def test_a_model_calls_through_the_gateway_of_the_moment() -> None:
    gateways = [Gateway(None, transport=ScriptedTransport(lambda asked, n, name=name: reply(name))) for name in "ab"]
    current = gateways[0]
    model = RemoteModel(SETTINGS, lambda: current)
    first = model.complete(request())
    current = gateways[1]
    assert (first.text, model.complete(request()).text) == ("a", "b")
    for gateway in gateways:
        gateway.close()


def test_a_models_errors_pass_through() -> None:
    with (
        Gateway(None, transport=ScriptedTransport(faults("refused"))) as gateway,
        pytest.raises(ModelError, match="scripted refused"),
    ):
        RemoteModel(SETTINGS, lambda: gateway).complete(request())


def test_a_compactor_gives_the_response_and_its_replicate_is_part_of_the_call() -> None:
    transport = ScriptedTransport(lambda asked, n: reply("", body={"n": n}))
    with Gateway(None, transport=transport) as gateway:
        body, completion = RemoteCompactor(SETTINGS, lambda: gateway).compact(NATIVE)
        assert (body, completion.cost_usd) == ({"n": 1}, pytest.approx(120e-6))
    assert transport.sent == [NATIVE]


@pytest.mark.parametrize(
    ("kind", "error", "is_the_providers"),
    [
        ("overflow", ContextOverflowError, False),
        ("blank", BlankSummaryError, False),
        ("refused", SummaryError, False),
        ("truncated", SummaryError, False),
        ("rejected", SummaryError, True),
        ("unusable", SummaryError, True),
        ("wrong_model", SummaryError, True),
    ],
)
def test_a_compactors_faults_are_summary_errors_and_it_remembers_those_of_the_provider(
    kind: FaultKind, error: type[SummaryError], is_the_providers: bool
) -> None:
    with Gateway(None, transport=ScriptedTransport(faults(kind))) as gateway:
        compactor = RemoteCompactor(SETTINGS, lambda: gateway)
        with pytest.raises(SummaryError, match=f"scripted {kind}") as caught:
            compactor.compact(NATIVE)
    assert type(caught.value) is error
    assert (compactor.failure is not None) == is_the_providers


def test_a_stop_is_no_summary_error_and_is_remembered() -> None:
    with Gateway(None, transport=ScriptedTransport(), budget=Budget(tokens=0)) as gateway:
        compactor = RemoteCompactor(SETTINGS, lambda: gateway)
        with pytest.raises(CallsStoppedError) as caught:
            compactor.compact(NATIVE)
    assert compactor.failure is not None
    assert str(compactor.failure) == str(caught.value)


def test_a_compactor_refuses_another_providers_request() -> None:
    with pytest.raises(SummaryError, match="cannot make a compaction of anthropic's"):
        RemoteCompactor(SETTINGS, nobody).compact(replace(NATIVE, provider="anthropic"))

"""Every request that the program makes, against what the providers' published rules refuse.

A strategy that is registered is tested here: nothing has to be added for a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest

from compaction import compact, load_registry, make_method
from compaction.model import Completion, ModelRequest, NativeRequest, SummaryError, SummaryRequest
from compaction.strategy import NotApplicable, StrategyError
from compaction.summarizers.model import ModelSummarizer
from compaction.testing import EMBEDDER, ScriptedProvider, history, talk
from compaction.tokens import counted
from compaction.transcript import Message, ToolCall
from flows.llm.batch.anthropic_batches import AnthropicBatches
from flows.llm.batch.openai_batches import OpenAIBatches
from flows.llm.clients import anthropic_client, openai_client
from flows.llm.clients.http import _bytes
from flows.llm.clients.requests import CLOSING, OPENING, native_body
from flows.llm.remote_model import RemoteCompactor, RemoteModel
from flows.llm.settings import ModelSettings, make_settings
from judge import load_rubric
from judge.audit.attacks import load_attacks, measure_attacks
from judge.llm.judge import PROTOCOLS, ModelJudge
from judge.llm.prober import ModelProber
from judge.llm.responder import ModelResponder
from judge.scoring import JudgeError
from tests.compaction.histories import COUNTER, build, compacted
from tests.flows.llm import strict
from tests.flows.llm.asking import answer, settings_for
from tests.flows.llm.server import MockProvider
from tests.judge.llm.cases import HOSTILE, case, perfect
from tests.judge.llm.probe_cases import POINT, SESSION, writer

HEADERS = {"authorization": "Bearer k", "x-api-key": "k", "anthropic-version": anthropic_client.API_VERSION}
URLS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
MODELS = tuple(
    make_settings(spec, {"base_url": URLS[spec.partition(":")[0]], **given}, "test")
    for spec, given in (
        ("openai:gpt-5.2", {}),
        ("openai:gpt-4.1", {}),
        ("openai:gpt-5.2", {"api": "responses"}),
        ("openai:gpt-4.1", {"api": "responses", "structured": "json_object"}),
        ("anthropic:claude-opus-5-5", {}),
        ("anthropic:claude-haiku-4-5", {}),
        ("anthropic:claude-sonnet-4-6", {"structured": "json_object"}),
        ("anthropic:claude-opus-5-5", {"structured": "json_object"}),
        ("anthropic:claude-haiku-4-5", {"top_p": 0.9, "structured": "prompt"}),
        ("openai:ft:o4-mini-2025-04-16:org::1", {"structured": "prompt"}),
    )
)
every_model = pytest.mark.parametrize("settings", MODELS, ids=lambda s: f"{s.model} {s.api} {s.structured}")


def sent_of(settings: ModelSettings, request: ModelRequest) -> tuple[str, bytes]:
    """Path and body of a request, as the live client sends it."""
    if settings.provider == "anthropic":
        return "/v1/messages", _bytes(anthropic_client.request_body(settings, request))
    path = "/v1/responses" if settings.api == "responses" else "/v1/chat/completions"
    return path, _bytes(openai_client.request_body(settings, request))


class Calls:
    """Calls that are held against the rules and answered by a function."""

    def __init__(self, reply: Any = lambda request: "SUMMARY") -> None:
        self.sent: list[tuple[str, bytes]] = []
        self.refused: list[str] = []
        """What was refused; a method may go on after an error."""
        self._reply = reply

    def complete(self, settings: ModelSettings, request: ModelRequest) -> Completion:
        self._check(*sent_of(settings, request))
        return Completion(self._reply(request), settings.model)

    def native(
        self, settings: ModelSettings, request: NativeRequest, replicate: int = 0
    ) -> tuple[Mapping[str, Any], Completion]:
        body = {"model": settings.model, **native_body(request)}
        self._check(request.path, _bytes(body), {"anthropic-beta": ",".join(request.betas)})
        return ScriptedProvider().compact(request)

    def close(self) -> None:
        """Nothing is open."""

    def _check(self, path: str, raw: bytes, headers: Mapping[str, str] | None = None) -> None:
        try:
            strict.check(path, {**HEADERS, **(headers or {})}, raw)
        except strict.Refusal as refusal:
            self.refused.append(f"{refusal} in {raw[:2000].decode()}")
        self.sent.append((path, raw))


class Together:
    """A summariser that asks every model the same."""

    name = "all models"

    def __init__(self, calls: Calls) -> None:
        self._each = [ModelSummarizer(RemoteModel(settings, lambda: calls)) for settings in MODELS]

    def summarize(self, request: SummaryRequest) -> Completion:
        return [each.summarize(request) for each in self._each][-1]


# Histories


def numbered(*messages: Message) -> tuple[Message, ...]:
    return tuple(counted(replace(message, seq=seq), COUNTER) for seq, message in enumerate(messages))


def called(*ids: str, name: str = "read", arguments: str = '{"path": "a.py"}', text: str = "") -> Message:
    return Message("assistant", text, tool_calls=tuple(ToolCall(id, name, arguments) for id in ids))


def result(id: str, text: str = "done", **more: Any) -> Message:
    return Message("tool", text, tool_call_id=id, **more)


def odd() -> tuple[Message, ...]:
    """Ids, names, arguments and texts that no interface takes as they are."""
    long = "call_" + "x" * 90
    arguments = (
        "{",
        "[1]",
        '{"a": NaN}',
        '{"a": "\\u0000\\ud800"}',
        "[" * 5000,
        '{"a":' * 150 + "1" + "}" * 150,
        f'{{"n": {2**80}}}',
        "",
        '{"path": "\ud83d"}',
    )
    messages = [Message("system", "rules\0"), Message("user", "cut \ud83d here\0")]
    for number, text in enumerate(arguments):
        id = f"odd.{number}/é"
        messages += [called(id, name="functions.read:π" + "n" * 99 * (number % 2), arguments=text), result(id, "")]
    messages += [
        called(long + "1", long + "2", "toolu_a.b", "toolu_a/b", ""),
        result("toolu_a/b", "b"),
        result(long + "2", "2"),
        result("toolu_a.b", "a"),
        result(long + "1", "1"),
        result("", "of an empty id"),
        called("e"),
        result("e", " \n", is_error=True),
        called("n", name=""),
        result("n", "\0"),
        Message("user", "[image]"),
        Message("assistant", " \n "),
        Message("assistant", "done \n"),
    ]
    return numbered(*messages)


HISTORIES: Mapping[str, tuple[Message, ...]] = {
    "parallel calls and late results": build(
        "system user call3 text late_result result user call2 result result late_result user text call1 result".split()
        * 3
    ),
    "orphans": talk("s u a1 t c u c t a2 u t a1 a a u c", tokens=None),
    "ids used again": build(
        "user call1 result reused_call result reused_call reused_call result user text".split() * 3
    ),
    "odd": odd(),
    "the assistant speaks first and last": talk("a a1 r e u a2 a e a1 u a a r", tokens=None),
    "system messages in the middle": build("system user text system call1 system result user system text".split() * 3),
    "nothing said": numbered(
        *[Message("user", " "), Message("assistant", "\n"), Message("assistant", reasoning="hm")] * 9
    ),
    "many calls at once": numbered(
        Message("user", "go"),
        called(*map(str, range(300))),
        *(result(str(n)) for n in range(300)),
        *[Message("user", "on"), Message("assistant", "yes")] * 20,
    ),
    "giant": build("user call1 giant result text giant user call1 result giant text user call1 result".split() * 4),
}

ASKING = {id: found for id, found in load_registry().items() if found.needs != "nothing"}
MORE: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "anthropic_compact": [{"form": "edit"}, {"instructions": "Briefly."}],
    "anthropic_clear": [{"clear_at_least": 5, "exclude_tools": "functions.read:π read", "clear_tool_inputs": True}],
}
"""Parameters that change the form of a request."""


@pytest.mark.parametrize("id", sorted(ASKING))
def test_no_request_of_a_strategy_is_refused(id: str) -> None:
    calls = Calls()
    embedder = make_settings(EMBEDDER, {"base_url": URLS["openai"]}, "test")
    natives = {"openai": MODELS[2], "anthropic": MODELS[5], EMBEDDER: embedder}
    for messages in HISTORIES.values():
        for params in ({}, *ASKING[id].variants, *MORE.get(id, ())):
            given = replace(
                history(messages, budget=300, counter=COUNTER, session=messages, recorded=compacted(messages)),
                summarizer=Together(calls),
                natives={name: RemoteCompactor(each, lambda: calls) for name, each in natives.items()},
            )
            try:
                once = compact(given, make_method(id, params)).messages
                if id != "recorded":
                    compact(replace(given, messages=(*once, *_later(messages))), make_method(id, params))
            except (SummaryError, StrategyError, NotApplicable):
                continue
    assert not calls.refused, calls.refused[0]
    assert calls.sent, "no history made it ask"


def _later(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What is said after a compaction, for the next one."""
    start = len(messages)
    return tuple(replace(m, seq=start + n) for n, m in enumerate(numbered(*talk("u a2 a1 u a", tokens=None))))


@every_model
def test_no_request_of_prober_responder_and_judge_is_refused(settings: ModelSettings) -> None:
    written = writer()
    calls = Calls(lambda request: written.complete(request).text)
    ModelProber(RemoteModel(settings, lambda: calls)).probes(SESSION, POINT)
    answering = Calls()
    responder = ModelResponder(RemoteModel(settings, lambda: answering))
    for messages in HISTORIES.values():
        responder.answer(messages, "What was\0 changed \ud83d?", 5)
    judging = Calls(perfect)
    for protocol in PROTOCOLS:
        judge = ModelJudge(RemoteModel(settings, lambda: judging), load_rubric(), protocol)
        for answered in ("It was 401.", "", "\0 \ud83d", *HOSTILE):
            judge.score(case(answered))
        measure_attacks(judge, [case()], load_attacks())
    again = Calls(lambda request: "no verdict")
    with pytest.raises(JudgeError):
        ModelJudge(RemoteModel(settings, lambda: again), load_rubric(), "study").score(case())
    assert len(again.sent) == 2, "a verdict that cannot be read is asked for once more"
    for each in (calls, answering, judging, again):
        assert each.sent
        assert not each.refused, each.refused[0]


# What is sent


def tool_history() -> tuple[Message, ...]:
    return numbered(
        Message("system", "Sum up."),
        called("a.1", "a/1", name="fs.read", text="Looking."),
        result("a/1", "second"),
        Message("user", "and?"),
        result("a.1", "", is_error=True),
        result("gone", "orphan"),
        called("c"),
    )


CHAT = [
    {"role": "system", "content": "Sum up."},
    {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": [
            {"id": "a_1", "type": "function", "function": {"name": "fs_read", "arguments": '{"path": "a.py"}'}},
            {"id": "a_1_2", "type": "function", "function": {"name": "fs_read", "arguments": '{"path": "a.py"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "a_1", "content": ""},
    {"role": "tool", "tool_call_id": "a_1_2", "content": "second"},
    {"role": "user", "content": "and?"},
    {"role": "user", "content": "[result without a call] orphan"},
    {"role": "assistant", "content": '[call without a result] read {"path": "a.py"}'},
]


def test_calls_and_results_are_sent_to_openai_as_such() -> None:
    request = ModelRequest(tool_history(), 50)
    assert orjson.loads(sent_of(MODELS[1], request)[1])["messages"] == CHAT
    assert [item.get("type", item.get("role")) for item in orjson.loads(sent_of(MODELS[2], request)[1])["input"]] == [
        "system",
        "assistant",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "user",
        "user",
        "assistant",
    ]


def test_a_compatible_server_is_not_left_with_an_assistants_turn_at_the_end() -> None:
    settings = make_settings("openai:qwen", {"base_url": "http://localhost:1/v1"}, "test")
    sent = orjson.loads(sent_of(settings, ModelRequest(tool_history(), 50))[1])["messages"]
    assert sent == [*CHAT, {"role": "user", "content": CLOSING}]


def test_calls_and_results_are_sent_to_anthropic_as_blocks_between_turns_of_the_user() -> None:
    body = orjson.loads(sent_of(MODELS[4], ModelRequest(tool_history(), 50))[1])
    assert body["system"] == "Sum up."
    assert body["tools"] == [{"name": "fs_read", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}
    use = {"type": "tool_use", "name": "fs_read", "input": {"path": "a.py"}}
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": OPENING}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Looking."}, {**use, "id": "a_1"}, {**use, "id": "a_1_2"}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a_1", "content": "(no output)", "is_error": True},
                {"type": "tool_result", "tool_use_id": "a_1_2", "content": "second"},
                {"type": "text", "text": "and?"},
                {"type": "text", "text": "[result without a call] orphan"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": '[call without a result] read {"path": "a.py"}'}]},
        {"role": "user", "content": [{"type": "text", "text": CLOSING}]},
    ]


@pytest.mark.parametrize("spec", ["openai:gpt-5.2", "openai:wren-2", "anthropic:claude-opus-5-5", "anthropic:wren-2"])
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_history_with_calls_is_answered_over_the_wire(provider: MockProvider, spec: str, api: str) -> None:
    settings = settings_for(provider, spec, api=api)
    assert answer(settings, ModelRequest(odd(), 50)).text
    assert not provider.refusals


@every_model
def test_a_request_of_a_batch_is_the_live_one(settings: ModelSettings) -> None:
    """So what holds of the ones holds of the others, and a key stands for both."""
    request = ModelRequest(odd(), 50)
    client: Any = AnthropicBatches if settings.provider == "anthropic" else OpenAIBatches
    line = client.line(object.__new__(client), settings, request, "k" * 64)
    body = orjson.loads(line)["params" if settings.provider == "anthropic" else "body"]
    assert body == orjson.loads(sent_of(settings, request)[1])

"""The strict provider itself: what it refuses of requests that are right but for one thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from tests.flows.llm import strict
from tests.flows.llm.asking import SCHEMA

HEADERS = {"authorization": "Bearer k", "anthropic-version": "2023-06-01", "anthropic-beta": "x"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
DONE = {"role": "tool", "tool_call_id": "c", "content": ""}
USER = {"role": "user", "content": "x"}
USE = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
GAVE = {"type": "tool_result", "tool_use_id": "c", "content": ""}
TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]
BOUNDED = {**SCHEMA, "properties": {**SCHEMA["properties"], "why": {"type": "string", "maxLength": 9}}}  # type: ignore[dict-item]


def form(schema: Any, name: str = "answer") -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def said(*content: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(content)}


RIGHT: Mapping[str, list[dict[str, Any]]] = {
    "/v1/chat/completions": [
        {"model": "gpt-5.2", "messages": [USER, CALLED, DONE, USER], "max_completion_tokens": 9},
        {"model": "gpt-4.1", "messages": [USER], "max_tokens": 9, "temperature": 0, "seed": 1, "stop": "x"},
        {
            "model": "gpt-4.1",
            "messages": [USER],
            "response_format": form(
                {**SCHEMA, "properties": {"score": {"type": "integer", "minimum": 0}, "why": {"type": "string"}}}
            ),
        },
    ],
    "/v1/responses": [
        {
            "model": "gpt-5.2",
            "max_output_tokens": 16,
            "input": [
                USER,
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": ""},
            ],
        },
    ],
    "/v1/messages": [
        {
            "model": "claude-opus-5-5",
            "max_tokens": 9,
            "tools": TOOLS,
            "messages": [USER, said(USE, role="assistant"), said(GAVE, {"type": "text", "text": "x"})],
        },
        {
            "model": "claude-sonnet-4-5",
            "max_tokens": 9,
            "temperature": 0,
            "messages": [USER, {"role": "assistant", "content": "The best answer is ("}],
        },
    ],
}


def check(path: str, body: Any, **headers: str) -> None:
    strict.check(path, {**HEADERS, **headers}, body if isinstance(body, bytes) else orjson.dumps(body))


@pytest.mark.parametrize(("path", "number"), [(path, n) for path, bodies in RIGHT.items() for n in range(len(bodies))])
def test_what_is_right_is_taken(path: str, number: int) -> None:
    check(path, RIGHT[path][number])


CHAT, RESPONSES, MESSAGES = RIGHT
ITEMS = RIGHT[RESPONSES][0]["input"]
WRONG: list[tuple[str, int, dict[str, Any], str]] = [
    (CHAT, 0, {"max_tokens": 9}, "'max_tokens' is not supported"),
    (CHAT, 0, {"temperature": 0}, "'temperature' is not supported"),
    (CHAT, 0, {"logprobs": True}, "'logprobs' is not supported"),
    (CHAT, 0, {"thinking": 1}, "Unknown parameter"),
    (CHAT, 0, {"tool_choice": "none"}, "only allowed when"),
    (CHAT, 0, {"messages": []}, "empty array"),
    (CHAT, 0, {"messages": [USER, CALLED, USER]}, "did not have response messages"),
    (CHAT, 0, {"messages": [USER, CALLED]}, "did not have response messages"),
    (CHAT, 0, {"messages": [USER, DONE]}, "must be a response"),
    (CHAT, 0, {"messages": [USER, CALLED, DONE, DONE]}, "must be a response"),
    (CHAT, 0, {"messages": [USER, {**CALLED, "tool_calls": [CALL, CALL]}, DONE]}, "Duplicate"),
    (CHAT, 0, {"messages": [USER, {**CALLED, "tool_calls": [{**CALL, "id": "c" * 41}]}]}, "too long"),
    (CHAT, 0, {"messages": [USER, {**CALLED, "tool_calls": []}]}, "expected a string"),
    (CHAT, 0, {"messages": [{"role": "user", "content": None}]}, "expected a string"),
    (CHAT, 0, {"messages": [{**USER, "tool_call_id": "c"}]}, "Unknown parameter"),
    (CHAT, 0, {"messages": [{"role": "human", "content": "x"}]}, "Invalid value"),
    (CHAT, 1, {"reasoning_effort": "low"}, "'reasoning_effort' is not supported"),
    (CHAT, 1, {"temperature": 3}, "out of range"),
    (CHAT, 1, {"max_completion_tokens": 9}, "both limits"),
    (CHAT, 1, {"response_format": {"type": "json_object"}}, "the word 'json'"),
    (CHAT, 2, {"response_format": form(SCHEMA, "my answer")}, "pattern"),
    (CHAT, 2, {"response_format": form(BOUNDED)}, "'maxLength' is not permitted"),
    (CHAT, 2, {"response_format": form({**SCHEMA, "required": ["why"]})}, "'required'"),
    (CHAT, 2, {"response_format": form({**SCHEMA, "additionalProperties": True})}, "'additionalProperties'"),
    (CHAT, 2, {"response_format": form({"type": "array", "items": SCHEMA})}, "root"),
    (RESPONSES, 0, {"max_output_tokens": 15}, ">= 16"),
    (RESPONSES, 0, {"seed": 1}, "Unknown parameter"),
    (RESPONSES, 0, {"response_format": {}}, "Unknown parameter"),
    (RESPONSES, 0, {"input": ITEMS[:2]}, "No tool output found"),
    (RESPONSES, 0, {"input": [ITEMS[0], ITEMS[2]]}, "No tool call found"),
    (RESPONSES, 0, {"input": [*ITEMS, ITEMS[2]]}, "Duplicate output"),
    (RESPONSES, 0, {"input": [DONE]}, "Unknown parameter"),
    (MESSAGES, 0, {"temperature": 1}, "`temperature` is deprecated"),
    (MESSAGES, 0, {"seed": 1}, "Extra inputs"),
    (MESSAGES, 0, {"max_tokens": None}, "max_tokens"),
    (MESSAGES, 0, {"tools": [], "messages": [USER, said(USE, role="assistant"), said(GAVE)]}, "must define tools"),
    (MESSAGES, 0, {"tools": [], "tool_choice": {"type": "none"}, "messages": [USER]}, "only allowed with tools"),
    (MESSAGES, 0, {"tools": [{**TOOLS[0], "name": "a.b"}], "messages": [USER]}, "should match pattern"),
    (MESSAGES, 0, {"tool_choice": {"type": "tool", "name": "f"}}, "forced tool use"),
    (MESSAGES, 0, {"messages": [USER, said(USE, role="assistant"), USER]}, "without `tool_result`"),
    (MESSAGES, 0, {"messages": [USER, said(USE, role="assistant")]}, "without `tool_result`"),
    (MESSAGES, 0, {"messages": [USER, said(GAVE)]}, "unexpected `tool_use_id`"),
    (MESSAGES, 0, {"messages": [USER, said(USE, role="assistant"), USER, said(GAVE)]}, "must come first"),
    (MESSAGES, 0, {"messages": [USER, *[said(USE, role="assistant"), said(GAVE)] * 2]}, "must be unique"),
    (MESSAGES, 0, {"messages": [USER, said({**USE, "id": "a.b"}, role="assistant")]}, "should match pattern"),
    (MESSAGES, 0, {"messages": [USER, said({**USE, "input": "x"}, role="assistant")]}, "valid dictionary"),
    (MESSAGES, 0, {"messages": [USER, said(USE, role="assistant"), said({**GAVE, "is_error": True})]}, "is_error"),
    (MESSAGES, 0, {"messages": [said(USE, role="assistant"), said(GAVE)]}, "first message"),
    (MESSAGES, 0, {"messages": [USER, {"role": "assistant", "content": "So"}]}, "prefill"),
    (MESSAGES, 0, {"messages": [USER, {"role": "tool", "content": "x"}]}, 'Unexpected role "tool"'),
    (MESSAGES, 0, {"messages": [{"role": "system", "content": "x"}, USER]}, 'Unexpected role "system"'),
    (MESSAGES, 0, {"messages": [{"role": "user", "content": " \n"}]}, "non-whitespace"),
    (MESSAGES, 0, {"messages": [said()]}, "non-empty content"),
    (MESSAGES, 0, {"messages": []}, "at least one message"),
    (MESSAGES, 0, {"system": " "}, "non-empty"),
    (MESSAGES, 0, {"stop_sequences": ["\n"]}, "non-whitespace"),
    (MESSAGES, 0, {"compaction": {"type": "summarize"}}, "Extra inputs"),
    (MESSAGES, 0, {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}, "'minimum' is not"),
    (MESSAGES, 0, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, "not supported"),
    (MESSAGES, 1, {"top_p": 0.5}, "cannot both"),
    (MESSAGES, 1, {"temperature": 1.5}, "range"),
    (MESSAGES, 1, {"messages": [USER, {"role": "assistant", "content": "So "}]}, "trailing whitespace"),
]


@pytest.mark.parametrize(("path", "number", "change", "why"), WRONG)
def test_what_is_wrong_is_refused(path: str, number: int, change: dict[str, Any], why: str) -> None:
    with pytest.raises(strict.Refusal, match=why):
        check(path, {**RIGHT[path][number], **change})


@pytest.mark.parametrize("path", RIGHT)
@pytest.mark.parametrize("text", [b'"half \\ud83d"', b'"null \\u0000"', b'"\\\\\\u0000"', b"NaN", b'"\xff"'])
def test_a_body_that_is_no_json_for_the_provider_is_refused(path: str, text: bytes) -> None:
    with pytest.raises(strict.Refusal):
        check(path, b'{"model": "m", "messages": [], "input": ' + text + b"}")


def test_a_text_about_an_escape_is_none() -> None:
    strict.parse_body(b'{"text": "\\\\u0000"}')


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (CHAT, {"authorization": ""}),
        (CHAT, {"authorization": "Bearer "}),
        (MESSAGES, {"authorization": ""}),
        (MESSAGES, {"anthropic-version": ""}),
    ],
)
def test_headers_are_wanted(path: str, headers: dict[str, str]) -> None:
    with pytest.raises(strict.Refusal):
        check(path, RIGHT[path][0], **headers)


def test_the_newer_version_of_anthropics_interface_takes_no_temperature_for_any_model() -> None:
    with pytest.raises(strict.Refusal, match="temperature: Extra inputs"):
        check(MESSAGES, RIGHT[MESSAGES][1], **{"anthropic-version": "2026-10-21"})


LINE = {"custom_id": "a", "method": "POST", "url": CHAT, "body": {"model": "m"}}


@pytest.mark.parametrize(
    "lines",
    [[], [LINE, LINE], [{**LINE, "url": RESPONSES}], [LINE, {**LINE, "custom_id": "b", "body": {"model": "n"}}]],
)
def test_a_wrong_batch_of_openais_is_refused(lines: list[Any]) -> None:
    strict.check_openai_batch([LINE], CHAT)
    with pytest.raises(strict.Refusal):
        strict.check_openai_batch(lines, CHAT)


@pytest.mark.parametrize("ids", [[], ["a", "a"], ["a.b"], ["a" * 65], [""]])
def test_a_wrong_batch_of_anthropics_is_refused(ids: list[str]) -> None:
    strict.check_anthropic_batch([{"custom_id": "a" * 64, "params": {}}])
    with pytest.raises(strict.Refusal):
        strict.check_anthropic_batch([{"custom_id": id, "params": {}} for id in ids])

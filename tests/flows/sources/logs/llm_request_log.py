"""Requests and responses made by hand: each request repeats what was said."""

from __future__ import annotations

from typing import Any

from tests.flows.sources.logs.openai_chat import chat_call


def request(messages: list[Any], **more: Any) -> dict[str, Any]:
    params = {"model": "alias", "messages": messages}
    return {"timestamp": "2026-02-01T10:00:00", "type": "request", "request_params": params, **more}


def answer(key: str, content: str | None, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {})}
    body = {"id": key, "model": "model-test-1", "choices": [{"index": 0, "message": message}]}
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    return {
        "timestamp": "2026-02-01T10:00:01",
        "type": "response",
        "response": {**body, "usage": usage},
        "cost": 0.5,
        **more,
    }


_CALL = chat_call("call_1", "run", '{"cmd":"ls"}')
_START = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "token-0"}]

LINES = [
    request(_START),
    answer("r1", "token-1", _CALL),
    request(
        [
            *_START,
            {"role": "assistant", "content": "token-1", "tool_calls": [_CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": "token-2"},
        ]
    ),
    answer("r2", "token-3"),
    {"type": "log", "message": "token-4"},
]
DOCUMENT = LINES

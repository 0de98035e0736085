"""Histories, requests and documented answers for the tests of provider-side compaction and their recorder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compaction.model import NativeRequest
from compaction.strategies import provider_native as native
from compaction.testing import talk
from compaction.transcript import Message
from tests.compaction.histories import build, random_words

QUESTION = "What was the error?"
TALKS = ("s u a2 u a", "u a1 t c u", "s s u r a1 e s u", "u", "a u a3")
HISTORIES = (*TALKS, *(f"history {seed}" for seed in range(24)))


def messages_of(shape: str) -> tuple[Message, ...]:
    """The history of a case."""
    return talk(shape) if shape in TALKS else build(random_words(int(shape.split()[1])))


def requests_of(messages: Sequence[Message]) -> dict[str, NativeRequest]:
    """Every request that we know how to make for a history."""
    plain = {"trigger": 60_000, "max_tokens": 900}
    return {
        "openai_compact": native.openai_request(messages),
        "summarize": native.anthropic_compact_request(messages, form="summarize", instructions=None, **plain),
        "summarize with instructions": native.anthropic_compact_request(
            messages, form="summarize", instructions="Keep paths.", **plain
        ),
        "edit": native.anthropic_compact_request(messages, form="edit", instructions=None, **plain),
        "clear": native.anthropic_clear_request(messages, 100, 2, None, (), False),
        "clear at least": native.anthropic_clear_request(messages, 100, 0, 50, ("tool_4",), True),
    }


def brief(value: Any) -> Any:
    """A JSON value; of a long one its digest."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return value if len(text) <= 1500 else hashlib.sha256(text.encode()).hexdigest()


def _compacted(body: Mapping[str, Any]) -> dict[str, Any]:
    said = [
        {
            "id": f"msg_{n}",
            "type": "message",
            "status": "completed",
            "role": "user",
            "content": [{"type": "input_text", "text": item["content"]}],
        }
        for n, item in enumerate(body["input"])
        if item.get("role") == "user"
    ]
    usage = {
        "input_tokens": 9594,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 412,
        "output_tokens_details": {"reasoning_tokens": 64},
        "total_tokens": 10006,
    }
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAB…=="}
    return {
        "id": "resp_1",
        "object": "response.compaction",
        "created_at": 1,
        "output": [*said, item],
        "usage": usage,
    }


def _message(content: list[dict[str, Any]], stop: str, **more: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "output_tokens": 1,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 3,
        "iterations": [
            {
                "type": "compaction",
                "input_tokens": 700,
                "output_tokens": 90,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 5,
            }
        ],
    }
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }


def _block(body: Mapping[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = {
        "type": "compaction",
        "content": "It was 401.",
        "encrypted_content": None,
        "signature": "c2ln",
        "tool_changes": [],
    }
    return _message([block], "compaction")


def _edited(body: Mapping[str, Any]) -> dict[str, Any]:
    applied = [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1, "cleared_input_tokens": 40}]
    text = [{"type": "text", "text": "."}]
    return _message(text, "max_tokens", context_management={"applied_edits": applied})


ANSWERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "openai_compact": _compacted,
    "summarize": _block,
    "summarize with instructions": _block,
    "edit": _block,
    "clear": _edited,
    "clear at least": _edited,
}
"""By request: what the documentation says that the service answers."""

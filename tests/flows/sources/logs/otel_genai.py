"""Traces of OpenTelemetry, after what Pydantic AI 2.68 and Strands 1.62 recorded with scripted models."""

from __future__ import annotations

import json
from typing import Any

SYSTEM = [{"type": "text", "content": "You mend mills."}]


def said(role: str, *parts: Any) -> dict[str, Any]:
    """A message of the conventions; a text stands for its part."""
    return {"role": role, "parts": [{"type": "text", "content": one} if isinstance(one, str) else one for one in parts]}


def call(own: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": own, "name": "ls", "arguments": arguments}


def response(own: str, value: Any, key: str = "response") -> dict[str, Any]:
    return {"type": "tool_call_response", "id": own, key: value}


def span(at: int, prompt: Any = None, *answers: Any, operation: str = "chat", **more: Any) -> dict[str, Any]:
    """A span as the SDK prints it."""
    held = {"gen_ai.input.messages": prompt, "gen_ai.output.messages": list(answers) or None}
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.request.model": "mill",
        "gen_ai.response.model": "mill-1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        **{name: json.dumps(value) for name, value in held.items() if value is not None},
        **more,
    }
    return {
        "name": operation,
        "context": {"trace_id": "0x01", "span_id": f"0x{at:02}", "trace_state": "[]"},
        "parent_id": None,
        "start_time": f"2026-03-01T10:00:{at:02}.000000Z",
        "end_time": f"2026-03-01T10:00:{at:02}.500000Z",
        "attributes": attributes,
        "events": [],
    }


LOOK = said("assistant", {"type": "reasoning", "content": "hm"}, "I look.", call("c1", path="."))
TURNS = [said("user", "token-0"), LOOK, said("user", response("c1", "token-2")), said("assistant", "Mended.")]
LINES = [
    span(0, TURNS[:1], LOOK),
    span(1, operation="execute_tool", **{"gen_ai.tool.call.result": "token-1"}),
    span(2, TURNS[:3], said("assistant", "Mended.")),
    span(3, operation="invoke_agent", note="token-3"),
    span(4, [*TURNS, said("user", "token-4")], said("assistant", "token-4 done")),
]


def typed(value: Any) -> dict[str, Any]:
    """A value as OTLP writes it."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": typed(held)} for key, held in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(one) for one in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def pairs(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": typed(value)} for key, value in values.items()]


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    """Spans of the SDK as a request of OTLP."""
    found = [
        {
            "traceId": "kc6dBj/OxxwqAlJJ4t7SIw==",
            "spanId": one["context"]["span_id"],
            "name": one["name"],
            "startTimeUnixNano": f"17723592{int(one['start_time'][17:19]):02}000000000",
            "endTimeUnixNano": f"17723592{int(one['start_time'][17:19]):02}500000000",
            "attributes": pairs(one["attributes"]),
            "events": [{"name": name, "attributes": pairs(held)} for name, held in one["events"]],
        }
        for one in spans
    ]
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": found}]}]}


def told(at: int, *events: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A span with the older events, in OTLP."""
    return span(at) | {"events": [(f"gen_ai.{name}", held) for name, held in events]}


BLOCKS = [{"text": "I look."}, {"toolUse": {"toolUseId": "c1", "name": "ls", "input": {"path": "."}}}]
RESULT = [{"toolResult": {"toolUseId": "c1", "status": "error", "content": [{"text": "a.c"}, {"json": {"n": 1}}]}}]
OLD = [
    ("system.message", {"content": '[{"text": "You mend mills."}]'}),
    ("user.message", {"content": "Mend the mill."}),
]
OLDER = [
    *OLD,
    ("assistant.message", {"content": json.dumps(BLOCKS)}),
    ("tool.message", {"content": json.dumps(RESULT)}),
]
SUMMED = [
    OLD[0],
    ("user.message", {"content": "The mill was looked at."}),
    ("assistant.message", {"content": "Mended."}),
    ("user.message", {"content": "Oil it."}),
]
DOCUMENT = otlp(
    told(3, *OLDER, ("choice", {"message": "Mended.", "finish_reason": "end_turn"})),
    told(0, *OLD, ("choice", {"message": json.dumps(BLOCKS), "finish_reason": "tool_use"})),
    told(5, *OLDER, *SUMMED[2:]),
    told(6, *SUMMED, ("choice", {"message": "Oiled.", "finish_reason": "end_turn"})),
)

"""What the interfaces' responses look like: written after the SDKs' types (openai 3.54, anthropic 2.12)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from string import ascii_lowercase
from typing import Any

import orjson
from starlette.responses import Response

Json = dict[str, Any]

REFUSED = "I cannot help with that."


def reply(body: Json) -> Response:
    """A response of this JSON."""
    return Response(orjson.dumps(body), media_type="application/json")


def error(anthropic: bool, status: int, said: Json, headers: Mapping[str, str] | None = None) -> Response:
    """An error response; ``said`` is the object ``error`` in it."""
    types = {
        429: "rate_limit_error",
        401: "authentication_error",
        404: "not_found_error",
        413: "request_too_large",
        529: "overloaded_error",
    }
    usual = types.get(status, "invalid_request_error" if status < 500 else "api_error")
    inner = {"type": usual, **said} if anthropic else {"type": usual, "param": None, "code": None, **said}
    body = {"type": "error", "error": inner, "request_id": "req_1"} if anthropic else {"error": inner}
    return Response(orjson.dumps(body), status, dict(headers or {}), "application/json")


def schema_of(body: Json) -> Json | None:
    """The JSON schema that an answer is asked for, however it is asked."""
    found = body.get("response_format") or (body.get("text") or {}).get("format")
    found = found or (body.get("output_config") or {}).get("format") or {}
    tools = body.get("tools") or [{}]
    schema: Json | None = (found.get("json_schema") or found).get("schema") or (
        tools[0].get("input_schema") if body.get("tool_choice") else None
    )
    return schema


def sample(schema: Json) -> Any:
    """The simplest value that a schema takes."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for name in ("anyOf", "oneOf"):
        if name in schema:
            return sample(schema[name][0])
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: sample(inner) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [sample(schema.get("items", {"type": "string"})) for _ in range(schema.get("minItems", 0))]
    simple: Json = {
        "string": "text",
        "integer": schema.get("minimum", 0),
        "number": schema.get("minimum", 0),
        "boolean": True,
        "null": None,
    }
    return simple[kind]


def default_text(body: Json) -> str:
    """The same text for the same messages; a sample where a schema is asked for."""
    schema = schema_of(body)
    if schema is not None:
        return orjson.dumps(sample(schema)).decode()
    return "ANSWER " + hashlib.sha256(orjson.dumps(body.get("messages") or body.get("input"))).hexdigest()[:8]


def _tokens(value: Any) -> int:
    return len(orjson.dumps(value)) // 4


def chat(body: Json, text: str, model: str, fault: str | None) -> Json:
    """Of ``/v1/chat/completions``."""
    read, written = _tokens(body["messages"]), len(text) // 4
    refused = fault == "refusal"
    message = {"role": "assistant", "content": None if refused else text, "refusal": REFUSED if refused else None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }


def responses(body: Json, text: str, model: str, fault: str | None) -> Json:
    """Of ``/v1/responses``."""
    read, written = _tokens(body["input"]), len(text) // 4
    part = {"type": "output_text", "text": text, "annotations": []}
    part = {"type": "refusal", "refusal": REFUSED} if fault == "refusal" else part
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "model": model,
        "error": None,
        "incomplete_details": None,
        "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, message],
        "usage": {
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def compact(body: Json, text: str, model: str, fault: str | None) -> Json:
    """Of ``/v1/responses/compact``: the user messages, then one encrypted item."""
    kept = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": item["content"]}]}
        for item in body["input"]
        if item.get("role") == "user" and isinstance(item["content"], str)
    ]
    if fault != "empty":
        kept.append({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA" + text})
    return {
        "id": "resp_1",
        "object": "response.compaction",
        "created_at": 1_790_000_000,
        "output": kept,
        "usage": {
            "input_tokens": _tokens(body["input"]),
            "output_tokens": 40,
            "total_tokens": 0,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 8},
        },
    }


def embeddings(body: Json, model: str) -> Json:
    """Of ``/v1/embeddings``: how often each letter stands in a text."""
    vectors = [[float(text.lower().count(letter)) for letter in ascii_lowercase] for text in body["input"]]
    n_tokens = _tokens(body["input"])
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)],
        "model": model,
        "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
    }


def messages(body: Json, text: str, model: str, fault: str | None) -> Json:
    """Of ``/v1/messages``: an answer, a forced tool's input, a compaction block, or cleared tool uses."""
    stop = "refusal" if fault == "refusal" else "end_turn"
    content: list[Json] = [{"type": "text", "text": text}] if text and fault != "refusal" else []
    usage: Json = {
        "input_tokens": _tokens(body["messages"]),
        "output_tokens": len(text) // 4,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    found: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_reason": stop,
        "stop_sequence": None,
        "content": content,
        "usage": usage,
    }
    choice = body.get("tool_choice") or {}
    if choice.get("type") == "tool" and content:
        found["content"] = [{"type": "tool_use", "id": "toolu_1", "name": choice["name"], "input": orjson.loads(text)}]
        found["stop_reason"] = "tool_use"
    edits = (body.get("context_management") or {}).get("edits") or []
    kinds = [edit["type"] for edit in edits]
    if "compaction" in body or "compact_20260112" in kinds:
        found["content"] = [{"type": "compaction", "content": text or None, "signature": "sig"}]
        found["stop_reason"] = "compaction"
        usage["iterations"] = [{"type": "compaction", "input_tokens": 300, "output_tokens": 30}]
    elif edits:
        used = [part for said in body["messages"] for part in said["content"] if isinstance(part, dict)]
        uses = sum(part["type"] == "tool_use" for part in used)
        cleared = max(0, uses - edits[0].get("keep", {"value": 3})["value"])
        done = {"type": edits[0]["type"], "cleared_tool_uses": cleared, "cleared_input_tokens": 50 * cleared}
        found["context_management"] = {"applied_edits": [done]}
        found["stop_reason"] = "max_tokens"
    return found

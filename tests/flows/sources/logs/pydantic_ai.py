"""Histories of Pydantic AI, after what `all_messages_json` of version 2.68 wrote for an agent with a tool."""

from __future__ import annotations

from typing import Any

OF = {"run_id": "01a21e5f-72fb", "conversation_id": "01a21e5f-c19b"}


def part(kind: str, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"content": content, "part_kind": kind, **more}


def call(own: str, args: Any, name: str = "ls", kind: str = "tool-call") -> dict[str, Any]:
    return {"tool_name": name, "args": args, "tool_call_id": own, "tool_kind": None, "id": None, "part_kind": kind}


def returned(own: str, content: Any, outcome: str = "success", kind: str = "tool-return") -> dict[str, Any]:
    more = {"tool_name": "ls", "tool_call_id": own, "timestamp": "2026-03-01T10:00:02Z", "outcome": outcome}
    return part(kind, content, **more)


def request(*parts: Any, **more: Any) -> dict[str, Any]:
    return (
        {"parts": list(parts), "timestamp": "2026-03-01T10:00:00Z", "kind": "request", "state": "complete"} | OF | more
    )


def response(*parts: Any, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 62, "cache_read_tokens": 8, "output_tokens": 13, "details": {}, "cost": None}
    about = {"usage": usage, "model_name": "mill-1", "timestamp": "2026-03-01T10:00:01Z", "kind": "response"}
    return {"parts": list(parts)} | about | OF | more


PICTURE = {"data": "aWlpaQ==", "media_type": "image/png", "kind": "binary", "identifier": "30531c"}
LINK = {"url": "https://example.org/a.png", "force_download": False, "kind": "image-url", "media_type": "image/png"}
LINES = [
    request(part("system-prompt", "token-0"), part("user-prompt", "Mend the mill.")),
    response(part("thinking", "token-1"), part("text", "I look."), call("c1", '{"path": "."}')),
    request(returned("c1", "token-2"), instructions="Be brief."),
    response(part("text", "token-3")),
]
DOCUMENT = [
    request(
        part("system-prompt", "You mend mills."),
        part("user-prompt", ["Mend the mill.", PICTURE, LINK], timestamp="2026-03-01T10:00:00Z"),
        instructions="Be brief.",
    ),
    response(
        part("thinking", "hm", signature="c2ln"),
        part("text", "I look."),
        call("c1", {"path": "."}),
        call("c2", "{}"),
    ),
    request(
        returned("c1", {"files": ["a.c"], "n": 1}), returned("c2", "no such path", "retried"), instructions="Be brief."
    ),
    response(
        call("c3", {"query": "mills"}, "web_search", "builtin-tool-call"),
        returned("c3", [{"title": "Mills"}], kind="builtin-tool-return"),
        part("text", "Done."),
    ),
    request(part("retry-feedback", "Say more.", retry={"cause": "model_retry", "attempt": 1})),
    response(part("compaction", "The mill was mended.", provider_name="anthropic"), part("text", "It turns.")),
]

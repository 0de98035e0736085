"""Messages that traces record, with the blocks of OpenTelemetry, Anthropic or Bedrock → chat-completions messages."""

from __future__ import annotations

from typing import Any

import orjson

from flows.sources.reading.base import Record
from flows.sources.reading.blocks import text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.values import as_dict, as_list, first_text, nested, text_or_none

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}
_CALLS = ("tool_call", "tool_use", "toolUse", "server_tool_call", "server_tool_use")
_RESULTS = ("tool_call_response", "tool_result", "toolResult", "server_tool_call_response")
_ARGUMENTS = ("arguments", "input", "args", "server_tool_call")
_GIVEN = ("response", "result", "content", "server_tool_call_response")
_THOUGHTS = ("reasoning", "thinking", "reasoningContent")
_FILES = ("blob", "uri", "file", "binary", "image", "audio", "video", "document")


def as_chat(message: Record, role: str = "user") -> list[Record]:
    """A message as chat-completions has it, with a message of its own for each result of a call.

    Args:
        message: It has its blocks under ``content`` or ``parts``.
        role: Whose it is, where it does not say.
    """
    own = text_or_none(message.get("role")) or text_or_none(message.get("type")) or role
    named = {**message, "role": _ROLES.get(own, own)}
    if named["role"] == "tool" and "tool_call_id" not in named:
        named["tool_call_id"] = named.get("id")
    calls = [_call(one) if "args" in as_dict(one) else one for one in as_list(named.get("tool_calls"))]
    if calls:
        named["tool_calls"] = calls
    blocks = named.pop("parts", None) if isinstance(named.get("parts"), list) else named.get("content")
    if not isinstance(blocks, list):
        return [named]
    texts: list[Any] = []
    results, thoughts = [], [named.get("reasoning_content")]
    for block in blocks:
        kind, held = _opened(block)
        if kind in _CALLS:
            calls.append(_call(held))
        elif kind in _RESULTS:
            results.append(_result(held))
        elif kind in _THOUGHTS:
            thoughts.append(
                first_text(*(held.get(key) for key in ("content", "text", "thinking")), _read_thought(held))
            )
        else:
            texts.append(_show(kind, held) if isinstance(block, dict) else block)
    told = {**named, "content": texts}
    if calls:
        told["tool_calls"] = calls
    if any(thoughts):
        told["reasoning_content"] = "\n".join(filter(None, thoughts))
    if results and not texts and not calls:
        return results
    return [told, *results] if named["role"] == "assistant" else [*results, told]


def chat_of(values: list[Any], role: str = "user") -> list[Record]:
    """Messages, or items of the Responses API, as chat-completions messages; items of one response are one."""
    found: list[Record] = []
    response: list[Any] = []
    for value in [*values, None]:
        one = as_dict(value)
        kind, content = one.get("type"), one.get("content")
        if kind == "function_call":
            response.append({**one, "type": "tool_call", "id": one.get("call_id")})
        elif kind == "reasoning" and "role" not in one:
            response.append({"type": "reasoning", "text": text_of(one.get("summary"))})
        elif kind == "message" and one.get("role") == "assistant" and isinstance(content, list):
            response += content
        else:
            if response:
                found += as_chat({"role": "assistant", "content": response})
            response = []
            if kind == "function_call_output":
                found.append({"role": "tool", "tool_call_id": one.get("call_id"), "content": _value(one.get("output"))})
            elif value is not None:
                found += as_chat(value if isinstance(value, dict) else {"content": value}, role)
    return found


def decoded(value: Any) -> Any:
    """The objects or the object that a text is as JSON, since many traces hold only text; else the value as it is."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            found = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
        is_blocks = isinstance(found, dict) or any(isinstance(one, dict) for one in found)
        return found if is_blocks or not found else value
    return value


def _opened(block: Any) -> tuple[str, Record]:
    """The kind of a block, and what it holds: Bedrock's blocks say their kind by the name of their one field."""
    block = as_dict(block)
    if isinstance(block.get("type"), str):
        return block["type"], block
    kind = next((kind for kind in (*_CALLS, *_RESULTS, *_THOUGHTS, *_FILES) if isinstance(block.get(kind), dict)), "")
    return kind, block[kind] if kind else block


def _call(held: Record) -> Record:
    arguments = next((held[key] for key in _ARGUMENTS if key in held), None)
    return {
        "id": held.get("id") or held.get("toolUseId"),
        "function": {"name": held.get("name"), "arguments": arguments},
    }


def _result(held: Record) -> Record:
    own = first_text(*(held.get(key) for key in ("id", "tool_use_id", "toolUseId")))
    given = next((held[key] for key in _GIVEN if key in held), "")
    failed = held.get("is_error") is True or held.get("status") == "error"
    return {"role": "tool", "tool_call_id": own, "name": held.get("name"), "content": _value(given), "is_error": failed}


def _value(value: Any) -> Any:
    """What a result says: its text blocks, or the value as JSON."""
    if isinstance(value, str):
        return value
    blocks = as_list(value)
    if blocks and all(isinstance(block, dict) and ("text" in block or "json" in block) for block in blocks):
        return [block if "text" in block else dumps(block["json"]) for block in blocks]
    return dumps(value)


def _read_thought(held: Record) -> Any:
    """The reasoning in a block of Bedrock, which older traces wrap once more."""
    inner = as_dict(held.get("content")) or held
    return nested(inner, "reasoningText", "text")


def _show(kind: str, held: Record) -> Any:
    """A block of text or of a file as chat-completions shows it."""
    if kind in ("text", "") and isinstance(held.get("content"), str):
        return {"type": "text", "text": held["content"]}
    if kind not in _FILES and not kind.endswith("-url"):
        text = held.get("content") if "text" not in held else None
        return {**held, "text": text} if isinstance(text, str) else held
    inner = as_dict(held.get("content")) or held
    media = first_text(*(held.get(key) for key in ("mime_type", "media_type"))) or text_or_none(inner.get("format"))
    is_image = "image" in (kind, kind.removesuffix("-url"), held.get("modality")) or str(media).startswith("image/")
    data = held.get("content") if kind in ("blob", "binary") else None
    about = {"type": "image" if is_image else "file", "media_type": media, "url": held.get("uri") or held.get("url")}
    return {**about, "data": data, "file_id": held.get("file_id")}

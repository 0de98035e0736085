"""Messages in attributes of flat names, with the number of each in the name → chat-completions messages.

OpenLLMetry has ``gen_ai.prompt.0.content`` and ``gen_ai.completion.0.tool_calls.0.name``, OpenInference
``llm.input_messages.0.message.content`` and ``llm.output_messages.0.message.tool_calls.0.tool_call.function.name``.
"""

from __future__ import annotations

import re
from typing import Any

from flows.sources.reading.base import Record
from flows.sources.reading.parts import as_chat, decoded
from flows.sources.reading.values import as_dict, nested

_ASKED = re.compile(r"(?:gen_ai\.prompt|llm\.input_messages)\.(\d+\..+)", re.DOTALL)
_ANSWERED = re.compile(r"(?:gen_ai\.completion|llm\.output_messages)\.(\d+\..+)", re.DOTALL)


def is_flat(name: str) -> bool:
    """Whether an attribute of this name has a piece of a message."""
    return _ASKED.fullmatch(name) is not None or _ANSWERED.fullmatch(name) is not None


def flat_messages(attributes: Record) -> tuple[list[Record], list[list[Record]]]:
    """The messages of a request, and those of each choice of its answer."""
    prompt = [one for held in _collect(attributes, _ASKED) for one in _chat(held, "user")]
    return prompt, [_chat(held, "assistant") for held in _collect(attributes, _ANSWERED)]


def _collect(attributes: Record, names: re.Pattern[str]) -> list[Record]:
    """What has names of this kind, as objects in the order of their numbers."""
    tree: Record = {}
    for name, value in attributes.items():
        found = names.fullmatch(name)
        if found is not None:
            *way, last = found[1].split(".")
            at = tree
            for step in way:
                at = at.setdefault(step, {})
                if not isinstance(at, dict):
                    break
            else:
                at.setdefault(last, value)
    return _list_numbered(tree)


def _list_numbered(value: Any) -> list[Record]:
    """The objects under the numbers of an object, in their order."""
    held = as_dict(value)
    return [as_dict(held[key]) for key in sorted((key for key in held if key.isdecimal()), key=int)]


def _chat(held: Record, role: str) -> list[Record]:
    message = as_dict(held.get("message")) or held
    calls = [_call(as_dict(one.get("tool_call")) or one) for one in _list_numbered(message.get("tool_calls"))]
    if "function_call_name" in message:
        function = {"name": message["function_call_name"], "arguments": message.get("function_call_arguments_json")}
        calls.append({"id": None, "function": function})
    blocks = [_block(one) for one in _list_numbered(message.get("contents"))]
    known = {call["id"] for call in calls}
    content = [block for block in blocks if block.get("type") != "tool_call" or block.get("id") not in known]
    told = message.get("content")
    listed = decoded(told)
    named: Record = {key: message[key] for key in ("role", "tool_call_id", "name") if key in message}
    named["content"] = content or (listed if isinstance(listed, list) else told)
    return as_chat({**named, "tool_calls": calls} if calls else named, role)


def _call(held: Record) -> Record:
    function = as_dict(held.get("function")) or held
    return {
        "id": held.get("id"),
        "function": {"name": function.get("name"), "arguments": function.get("arguments")},
    }


def _block(one: Record) -> Record:
    held = as_dict(one.get("message_content"))
    if held.get("type") == "tool_use":
        call = _call(as_dict(one.get("tool_call")))
        return {"type": "tool_call", "id": call["id"], **call["function"]}
    url = nested(held, "image", "image", "url")
    return {**held, "image": None, "url": url} if url is not None else held

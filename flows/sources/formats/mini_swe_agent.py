"""mini-swe-agent trajectories (``.traj.json``): three generations of one list of messages.

The oldest is the bare list. Version 1 wraps it in an object; its action is the one fenced block of the assistant's
text and the observation is the next user message. Version 2 uses tool calls and ends with a message of role ``exit``;
with a model of the Responses API its messages are responses and outputs as that API has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from compaction.transcript import Transcript, Usage
from flows.sources.reading.base import Head, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.chat import add_message, add_reasoning, first_choice, has_messages, is_message
from flows.sources.reading.responses import Items
from flows.sources.reading.session import SessionDraft
from flows.sources.reading.usage import from_openai, make_usage
from flows.sources.reading.values import as_dict, need_list, need_object, nested, text_or_none

NAME = "mini_swe_agent"
_BLOCK = re.compile(r"```(?:mswea_bash_command|bash)[ \t]*\r?\n(.*?)\n?```", re.DOTALL)

_TIMED_OUT = "The last command <command>"


def detect(head: Head) -> bool:
    """Whether the file is a trajectory: its own header, or a bare list with its text actions."""
    value = head.document
    if isinstance(value, dict):
        info = value.get("info")
        named = str(value.get("trajectory_format", "")).startswith("mini-swe-agent")
        known = isinstance(info, dict) and bool(info.keys() & {"mini_version", "model_stats", "exit_status"})
        return (named or known) and has_messages(value)
    if not isinstance(value, list) or not any(is_message(message) for message in value[:5]):
        return False
    texts = [str(message.get("content")) for message in value[:8] if isinstance(message, dict)]
    return head.name.endswith(".traj.json") or any(
        text.startswith("<returncode>") or "```mswea_bash_command" in text for text in texts
    )


def read(source: Source) -> Iterator[Transcript]:
    """The session of the file."""
    document = source.document
    about = as_dict(document)
    messages: list[Any] = about.get("messages", document)
    session = SessionDraft(source)
    has_calls = any(isinstance(message, dict) and message.get("tool_calls") for message in messages)
    identity = [str(about.get("instance_id", ""))]
    items = Items(session, has_compactions=False)
    open_call: str | None = None
    usages: list[Usage] = []
    answered_by: str | None = None
    for index, message in enumerate(messages):
        with source.setting_aside(None, f"message {index}", message):
            if _is_item(message):
                _take_items(items, message, f"{source.name}#{index}")
            else:
                open_call = _take(session, message, f"{source.name}#{index}", open_call, not has_calls)
        if isinstance(message, dict) and (message.get("role") == "assistant" or "output" in message):
            response = _response(message)
            if len(identity) == 1:
                identity.append(str(response.get("id", "")))
            answered_by = answered_by or text_or_none(response.get("model"))
            usages += filter(None, [_usage(message, response)])
    info = about.get("info")
    cost = make_usage(cost=nested(info, "model_stats", "instance_cost"))
    for usage in usages:  # what the session cost as a whole is known better than by response
        session.use(None, replace(usage, cost_usd=None) if cost else usage)
    session.use(None, cost)
    session.model = text_or_none(nested(info, "config", "model", "model_name")) or answered_by
    session.cwd = text_or_none(nested(info, "config", "environment", "cwd"))
    session.exit_status = text_or_none(nested(info, "exit_status"))
    yield from session.build(NAME, None, identity=identity)


def _take(session: SessionDraft, message: Any, ref: str, open_call: str | None, text_actions: bool) -> str | None:
    """Adds one message; returns the id of the text action that the next user message answers."""
    message = need_object(message, "a message")
    role = message.get("role")
    if role == "exit":
        session.leave_out("exit marker")
        return None
    time = iso_time(
        nested(message, "extra", "timestamp") or _response(message).get("created") or message.get("timestamp")
    )
    if role == "user" and open_call is not None:
        text = text_of(message.get("content"))
        session.result(open_call, text, ref, time, is_error=text.startswith(_TIMED_OUT))
        return None
    draft = add_message(session, message, ref)
    if draft is None:
        return None
    draft.timestamp = time
    if role != "assistant":
        return open_call
    if not draft.reasoning:
        add_reasoning(draft, first_choice(_response(message)) | {"content": None})
    if not text_actions:
        return None
    text = "\n".join(draft.texts)
    actions = list(_BLOCK.finditer(text))
    if len(actions) != 1:
        return None  # the harness refuses it, and its next message says so
    action = actions[0]
    rest = text[: action.start()].rstrip() + "\n" + text[action.end() :].lstrip()
    draft.texts = [rest.strip()] if rest.strip() else []
    return session.call(draft, None, "bash", {"command": action.group(1)})


def _is_item(message: Any) -> bool:
    """Whether a message is a response of the Responses API, or the output of a call."""
    return isinstance(message, dict) and (
        message.get("object") == "response" or str(message.get("type")).endswith("_call_output")
    )


def _take_items(items: Items, message: Record, ref: str) -> None:
    time = iso_time(nested(message, "extra", "timestamp") or message.get("created_at"))
    if message.get("object") != "response":
        items.take(message, ref, time)
        return
    output = need_list(message.get("output"), "output", "a list of items")
    items.end_response()
    for item in output:
        items.take(item, ref, time)
    items.end_response()


def _usage(message: Record, response: Record) -> Usage | None:
    usage = from_openai(response.get("usage"))
    cost = make_usage(cost=nested(message, "extra", "cost"))
    if usage is None or cost is None:
        return usage or cost
    return replace(usage, cost_usd=cost.cost_usd)


def _response(message: Record) -> Record:
    if message.get("object") == "response":
        return message
    return as_dict(nested(message, "extra", "response"))


FORMAT = SourceFormat(
    NAME,
    "mini-swe-agent trajectory (.traj.json), the bare list, version 1 and version 2",
    "an object with messages and a trajectory_format or info of mini-swe-agent, or a bare list with its bash blocks",
    detect,
    read,
    order=110,
    version=2,
    suffixes=(".json",),
)

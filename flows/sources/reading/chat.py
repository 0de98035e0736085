"""OpenAI chat-completions messages, which several agents write as they are."""

from __future__ import annotations

from typing import Any

from flows.sources.reading.base import MalformedError, Record, Source
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.kinds import has_only, knows_most, says_kind
from flows.sources.reading.session import MessageDraft, SessionDraft
from flows.sources.reading.values import as_dict, as_list, first_item, need_list, need_object, nested, objects_in

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


def is_message(value: Any) -> bool:
    """Whether a value is a chat-completions message (and not one of the look-alikes with blocks of its own)."""
    if not isinstance(value, dict) or value.get("role") not in _ROLES or "parts" in value:
        return False
    content = value.get("content")
    if isinstance(content, list):
        kinds = {block.get("type") for block in objects_in(content)}
        if kinds & {"tool_use", "tool_result", "toolCall"}:
            return False
    return "content" in value or "tool_calls" in value or "function_call" in value


_BLOCKS = frozenset(
    """text input_text output_text refusal thinking redacted_thinking reasoning image_url input_image image input_audio
    audio video_url file input_file document""".split()
)


def knows(value: Any) -> bool:
    """Whether a value is a message without blocks of another API, holds such messages, or says no kind."""
    if isinstance(nested(value, "messages"), list):
        return knows_most(knows, value["messages"])
    return not isinstance(value, dict) or (("role" in value or not says_kind(value)) and has_only(value, _BLOCKS))


def has_messages(value: Any) -> bool:
    """Whether a value is an object with a list of chat messages under ``messages``."""
    return any(map(is_message, as_list(nested(value, "messages"))[:5]))


def add_message(session: SessionDraft, message: Any, ref: str) -> MessageDraft | None:
    """Adds one chat message to a session.

    Raises:
        MalformedError: It is no chat message.
    """
    message = need_object(message, "a message")
    role, time = message.get("role"), iso_time(message.get("timestamp") or message.get("created_at"))
    text = text_of(message.get("content"))
    if role in ("system", "developer"):
        return session.say("system", text, ref, time)
    if role == "user":
        return session.say("user", text, ref, time, typed=True)
    if role in ("tool", "function"):
        failed = message.get("is_error") is True or message.get("status") == "error"
        # A function message of the first API has no id: its name is all that pairs it.
        call_id = message.get("tool_call_id") or (
            _open_call(session, message.get("name")) if role == "function" else None
        )
        return session.result(call_id, text, ref, time, is_error=failed, name=message.get("name"))
    if role != "assistant":
        raise MalformedError(f"role is {role!r}, expected system, developer, user, assistant, tool or function")
    draft = session.respond(None, ref, time)
    draft.add_text(text)
    add_reasoning(draft, message)
    add_calls(session, draft, message)
    return draft


def _open_call(session: SessionDraft, name: Any) -> str | None:
    for draft in reversed(session.drafts):
        if draft.role == "assistant":
            return next((call.id for call in draft.calls if call.name == name), None)
    return None


def add_reasoning(draft: MessageDraft, message: Record) -> None:
    """The readable reasoning of an assistant message, under the names that providers give it."""
    for key in ("reasoning_content", "reasoning"):
        if isinstance(message.get(key), str) and message[key]:
            draft.add_reasoning(message[key])
            return
    content = message.get("content")
    for block in message.get("thinking_blocks") or as_list(content):
        if isinstance(block, dict):
            kind = block.get("type")
            draft.add_reasoning(block.get("thinking") or (block.get("text") if kind == "reasoning" else None))


def first_choice(response: Record) -> Record:
    """The assistant message of a response's first choice; empty when there is none."""
    return as_dict(nested(first_item(response.get("choices")), "message"))


def add_calls(session: SessionDraft, draft: MessageDraft, message: Record) -> None:
    """The calls of an assistant message."""
    for value in need_list(message.get("tool_calls") or [], "tool_calls"):
        call = need_object(value, "a tool call")
        function = call.get("function") or call.get("custom") or call
        if not isinstance(function, dict):
            function = {"name": function, **{key: call[key] for key in ("arguments",) if key in call}}
        session.call(draft, call.get("id"), function.get("name"), function.get("arguments", function.get("input")))
    legacy = message.get("function_call")
    if isinstance(legacy, dict) and legacy.get("name"):
        session.call(draft, None, legacy["name"], legacy.get("arguments"))


def add_all(source: Source, session: SessionDraft, messages: list[Any], ref: str, line: int | None = None) -> None:
    """Adds a list of chat messages; one that cannot be used is set aside with its position."""
    for index, message in enumerate(messages):
        with source.setting_aside(line, f"message {index}", message):
            add_message(session, message, f"{ref}#{index}")

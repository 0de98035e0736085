"""Chat messages as Inspect writes them: attachments, blocks, server-side tools."""

from __future__ import annotations

from typing import Any

from compaction.transcript import Usage
from flows.sources.reading.base import MalformedError, Record, kind_of
from flows.sources.reading.blocks import block_text, text_of
from flows.sources.reading.session import MessageDraft, SessionDraft
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, int_or_none, objects_in

MISSING_ATTACHMENT = "attachment that is not in the log"
_PROTOCOLS = ("attachment://", "tc://")
_MEDIA = ("audio", "video", "document")


class Attachments:
    """Long strings that a sample stores separately, by the reference that replaces them."""

    def __init__(self, texts: Any) -> None:
        self.texts = as_dict(texts)
        self.missing: set[str] = set()

    def find(self, text: str) -> str:
        """The text that a reference stands for; any other text as it is."""
        if not text.startswith(_PROTOCOLS):
            return text
        name = text.partition("://")[2]
        found = self.texts.get(name)
        if isinstance(found, str):
            return found
        if len(name) <= 32 and name.isalnum():
            self.missing.add(name)
        return text

    def within(self, value: Any) -> Any:
        """The value with every reference in it resolved."""
        if isinstance(value, str):
            return self.find(value)
        if isinstance(value, list):
            return [self.within(item) for item in value]
        if isinstance(value, dict):
            return {key: self.within(item) for key, item in value.items()}
        return value


def visible_text(message: Record, attachments: Attachments) -> str:
    """The text of a message, without reasoning, calls and the provider's own payload."""
    content = message.get("content")
    if isinstance(content, str):
        return text_of(attachments.find(content))
    if not isinstance(content, list):
        return text_of(content)
    return "\n".join(text for block in content if (text := _block(block, attachments)) is not None)


def _block(block: Any, attachments: Attachments) -> str | None:
    if not isinstance(block, dict):
        return block_text(block)
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return text_of(attachments.find(block["text"]))
    if kind == "data":
        return None  # the provider's own payload, which no one reads as text
    held = block.get(kind) if isinstance(kind, str) else None
    if kind == "image":
        return block_text({"type": "image", "image_url": attachments.within(held or block.get("url"))})
    if kind in _MEDIA and isinstance(held, str):
        return block_text({"type": "file", "url": attachments.find(held)})
    return block_text(block)


def add_message(
    session: SessionDraft, message: Record, ref: str, time: str | None, attachments: Attachments
) -> MessageDraft | None:
    """Adds a message to a session.

    Raises:
        MalformedError: It is no message of Inspect.
    """
    role, text = message.get("role"), visible_text(message, attachments)
    if role == "system":
        return session.say("system", text, ref, time)
    if role == "user":
        return session.say("user", text, ref, time, typed=True)
    if role == "tool":
        text, failed = _with_error(message, text)
        return session.result(
            message.get("tool_call_id"), text, ref, time, is_error=failed, name=message.get("function")
        )
    if role != "assistant":
        raise MalformedError(f"role is {role!r}, expected system, user, assistant or tool")
    draft = session.respond(None, ref, time)
    draft.add_text(text)
    _add_reasoning(draft, message, attachments)
    for call in calls_of(message):
        arguments = attachments.within(call.get("arguments"))
        if not arguments and call.get("parse_error"):
            arguments = call["parse_error"]  # it quotes what could not be parsed
        session.call(draft, call.get("id"), _function(call), arguments)
    _add_server_tools(session, draft, message, ref, attachments)
    return draft


def calls_of(message: Record) -> list[Record]:
    """The calls of an assistant message.

    Raises:
        MalformedError: They are no list of objects.
    """
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise MalformedError(f"tool_calls is {kind_of(calls)}, expected a list of objects")
    return calls


def _function(call: Record) -> Any:
    function = call.get("function")
    return function.get("name") if isinstance(function, dict) else function


def _with_error(message: Record, text: str) -> tuple[str, bool]:
    """The model reads the error of a failed call; the text beside it is what the tool had said before it failed."""
    error = message.get("error") or message.get("tool_error")
    reason = error.get("message") if isinstance(error, dict) else error
    if isinstance(reason, str) and reason and reason not in text:
        text = f"{text}\n{reason}" if text else reason
    return text, bool(error)


def _add_reasoning(draft: MessageDraft, message: Record, attachments: Attachments) -> None:
    for block in objects_in(message.get("content")):
        if block.get("type") == "reasoning":
            said = block.get("summary") if block.get("redacted") else block.get("reasoning") or block.get("summary")
            draft.add_reasoning(attachments.within(said))
    draft.add_reasoning(attachments.within(message.get("reasoning")))  # before blocks had it (2025-02)


def _add_server_tools(
    session: SessionDraft, draft: MessageDraft, message: Record, ref: str, attachments: Attachments
) -> None:
    """Tools that the provider ran: call and result are one block of the response."""
    for block in objects_in(message.get("content")):
        if block.get("type") == "tool_use":
            own = session.call(draft, block.get("id"), block.get("name"), attachments.within(block.get("arguments")))
            text, failed = _with_error(block, text_of(attachments.within(block.get("result"))))
            session.result(own, text, ref, draft.timestamp, is_error=failed, name=block.get("name"))


def usage_of(usage: Any) -> Usage | None:
    """Usage of one response, or of a sample.

    ``input_tokens`` holds the cached part in logs before mid-2025 and leaves it out since then; the total says which.
    """
    if not isinstance(usage, dict):
        return None
    counts = [usage.get(f"input_tokens{part}") for part in ("", "_cache_read", "_cache_write")]
    own, *cached = [int_or_none(count) or 0 for count in counts]
    output, total = usage.get("output_tokens"), usage.get("total_tokens")
    whole = own + sum(cached)
    if type(total) is int and type(output) is int and 0 < total < whole + output:
        whole = own
    known = any(type(count) is int for count in counts)
    return make_usage(whole if known else None, output, counts[1], usage.get("total_cost"))

"""Logs of Anthropic's Messages API: a list of messages, an object with ``messages``, or JSON lines of either.

An object may hold the prompt under ``system``, and the answer to its messages under ``response``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from compaction.transcript import Message, ToolCall, Transcript, Usage
from flows.sources.formats.anthropic._stream import join_stream
from flows.sources.reading.anthropic_blocks import Turns, is_message, knows, prompt_text
from flows.sources.reading.base import Head, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.identity import fingerprint
from flows.sources.reading.requests import drop_openings, native_id, request_and_response
from flows.sources.reading.session import SessionDraft
from flows.sources.reading.usage import sum_usages
from flows.sources.reading.values import as_list, first_text, nested, objects_in, text_or_none

NAME = "anthropic_messages"
_OTHER_ROLES = {"tool", "function", "developer", "model"}


def detect(head: Head) -> bool:
    """Whether the file holds messages with blocks that only this API has."""
    return _are_messages(head.values()) or any(map(is_exchange, head.values()))


def _are_messages(values: Any) -> bool:
    """Whether one message is of this API, and none of another one that has some of the same blocks."""
    found = False
    for value in objects_in(list(values)):
        if _is_other(value) or "parts" in value:
            return False
        found = found or is_message(value)
    return found


def _is_other(message: Record) -> bool:
    role = message.get("role")
    return (isinstance(role, str) and role in _OTHER_ROLES) or "tool_calls" in message


def is_exchange(value: Any) -> bool:
    """Whether a value is a request, with or without its response."""
    if not isinstance(value, dict):
        return False
    request, response = request_and_response(value, "messages", "content")
    messages = [one for one in objects_in(request.get("messages")) if "role" in one]
    if not messages:
        return False
    if _are_messages(messages):
        return True
    if any(map(_is_other, messages)):
        return False
    return _is_answer(response) or isinstance(request.get("system"), list) or "anthropic_version" in request


def _is_answer(response: Record | None) -> bool:
    return response is not None and response.get("role") == "assistant" and response.get("type") == "message"


def read(source: Source) -> Iterator[Transcript]:
    """One session per object; messages on lines of their own are one session together."""
    yield from drop_openings(source, _sessions(source))


def _sessions(source: Source) -> Iterator[Transcript]:
    document = source.document
    together = _Session(source)
    told: dict[str, _ResponseDetails] = {}
    found = False
    for where, ref, value in source.values():
        if isinstance(value, dict) and "role" not in value and _has_messages(value):
            found = True
            for transcript in _exchange(source, where, ref, value):
                yield told.setdefault(transcript.session_id, _ResponseDetails()).of_all(transcript)
        elif isinstance(value, dict) and "role" not in value and document is None:
            together.session.leave_unknown(value)
        else:
            together.message(where, ref, value)
    if together.session.drafts or not found:
        yield from together.session.build(NAME, None)


class _ResponseDetails:
    """Details of answers that a log says only once, although it repeats the conversation with each request."""

    def __init__(self) -> None:
        self.usages: list[Usage] = []
        self.reasoning: dict[tuple[int | None, str, tuple[ToolCall, ...]], str] = {}

    def of_all(self, transcript: Transcript) -> Transcript:
        """The conversation, with the usage of all its answers and the reasoning that the client did not send back."""
        self.usages.append(transcript.usage)
        messages = tuple(map(self._recalled, transcript.messages))
        return replace(transcript, usage=sum_usages(self.usages), messages=messages)

    def _recalled(self, message: Message) -> Message:
        if message.role != "assistant":
            return message
        key = (message.seq, message.text, message.tool_calls)
        if message.reasoning:
            self.reasoning[key] = message.reasoning
            return message
        return replace(message, reasoning=self.reasoning.get(key, ""))


def _has_messages(value: Record) -> bool:
    request, _ = request_and_response(value, "messages", "content")
    return isinstance(request.get("messages"), list)


def _exchange(source: Source, where: int | None, ref: str, record: Record) -> Iterator[Transcript]:
    request, response = request_and_response(record, "messages", "content")
    response = response or join_stream(record)
    session = _Session(source)
    prompt = request.get("system")
    if prompt:
        session.prompt(where, ref, prompt)
    for index, message in enumerate(as_list(request.get("messages"))):
        session.message(where, f"{ref}#{index}", message)
    if response is not None and response is not record:
        session.answer(where, f"{ref}/response", {"role": "assistant", **response})
    draft = session.session
    draft.model = first_text(request.get("model"), nested(response, "model"))
    draft.title = text_or_none(record.get("title"))
    draft.cwd = text_or_none(record.get("cwd"))
    draft.started_at = iso_time(record.get("timestamp") or record.get("created_at"))
    native = native_id(record, request)
    for built in draft.build(NAME, native):
        if native is None and response is not None:
            # Not every client sends back the reasoning that the answer had.
            plain = [replace(message, reasoning="") for message in built.messages]
            yield replace(built, session_id=f"{NAME}-{fingerprint(plain)}")
        else:
            yield built


class _Session:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.turns = Turns(self.session)

    def prompt(self, where: int | None, ref: str, prompt: Any) -> None:
        with self.source.setting_aside(where, f"{ref}: system", prompt):
            self.session.say("system", prompt_text(prompt), ref)

    def message(self, where: int | None, ref: str, message: Any) -> None:
        with self.source.setting_aside(where, ref, message):
            self.turns.take(message, ref)
            if message.get("role") == "assistant":
                self.session.model = self.session.model or text_or_none(message.get("model"))

    def answer(self, where: int | None, ref: str, response: Record) -> None:
        """Adds the answer.

        If the request ends with an assistant message, that message is the beginning of the answer.
        """
        last = self.session.drafts[-1] if self.session.drafts else None
        begun = last if last is not None and last.role == "assistant" and not last.calls else None
        with self.source.setting_aside(where, ref, response):
            self.turns.answer(response, ref, iso_time(response.get("created_at")), begun)


FORMAT = SourceFormat(
    NAME,
    "Anthropic Messages API: a list of messages, an object with `messages`, or JSON lines of either",
    "messages with blocks such as tool_use, tool_result and thinking; a request with its response of type message",
    detect,
    read,
    order=210,
    version=3,
    knows=knows,
    of_list=lambda messages: {"messages": messages},
)

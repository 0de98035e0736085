"""Logs of OpenAI's Responses API: a list of items, an object with ``input`` and ``output``, or JSON lines of either.

Requests that name the response before them (``previous_response_id``, ``conversation``) hold only what is new and are
one session with it; requests that repeat the conversation so far are the same session growing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.kinds import says_kind
from flows.sources.reading.requests import drop_openings, native_id, request_and_response
from flows.sources.reading.responses import Items, is_item, is_known
from flows.sources.reading.session import BOOKKEEPING, SessionDraft
from flows.sources.reading.usage import from_openai
from flows.sources.reading.values import as_dict, as_list, nested, text_or_none

NAME = "openai_responses"
_MOST_OPEN = 64
_LISTS = ("items", "data")


def detect(head: Head) -> bool:
    """Whether the file holds items, or requests and responses of them."""
    return any(is_item(value) or is_exchange(value) for value in head.values())


def is_exchange(value: Any) -> bool:
    """Whether a value is a request, a response, or both."""
    if not isinstance(value, dict) or "messages" in value:
        return False
    if _finished_response(value) is not None:
        return True
    if any(any(map(is_item, as_list(value.get(key)))) for key in _LISTS):
        return True
    request, response = request_and_response(value, "input", "output")
    outputs = as_list(response.get("output")) if response is not None else []
    if any(map(is_item, outputs)) or (response is not None and response.get("object") == "response"):
        return True
    given = request.get("input")
    if isinstance(given, str):
        return "instructions" in request and ("model" in request or "tools" in request)
    return any(is_item(one) for one in as_list(given)) or (
        any(isinstance(one, dict) and "role" in one for one in as_list(given))
        and ("instructions" in request or "previous_response_id" in request)
    )


def _knows(value: Any) -> bool:
    """Whether a value is an item, an exchange, an event of a stream, or says no kind."""
    kind = nested(value, "type")
    if kind is None:
        return is_exchange(value) or "role" in as_dict(value) or not says_kind(as_dict(value))
    return is_known(str(kind)) or str(kind).startswith("response.") or is_exchange(value)


def _finished_response(record: Record) -> Record | None:
    """The finished response of a stream's event."""
    kind, response = record.get("type"), record.get("response")
    return response if isinstance(kind, str) and kind.startswith("response.") and isinstance(response, dict) else None


def read(source: Source) -> Iterator[Transcript]:
    """One session per conversation; items on lines of their own are one session together."""
    yield from drop_openings(source, _sessions(source))


def _sessions(source: Source) -> Iterator[Transcript]:
    log = _Log(source)
    for where, ref, value in source.values():
        yield from log.take(where, ref, value)
    yield from log.close()


class _Log:
    """Hands every record to its conversation; at most 64 of them are open at a time."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.bare = _Conversation(source)
        self.open: OrderedDict[str, _Conversation] = OrderedDict()
        self.alone = 0
        self.found = False

    def take(self, where: int | None, ref: str, record: Any) -> Iterator[Transcript]:
        if not isinstance(record, dict):
            self.source.quarantine(where, f"{ref}: expected an object, found {kind_of(record)}", record)
        elif is_exchange(record):
            yield from self._exchange(where, ref, record)
        elif is_item(record) or "role" in record or "type" in record:
            self.bare.item(where, ref, record)
        elif says_kind(record):
            self.bare.session.leave_unknown(record)
        else:
            self.bare.note(record)

    def _exchange(self, where: int | None, ref: str, record: Record) -> Iterator[Transcript]:
        self.found = True
        request, response = request_and_response(record, "input", "output")
        streamed = _finished_response(record)
        if streamed is not None:
            if str(record.get("type")) not in ("response.completed", "response.incomplete", "response.failed"):
                self.bare.session.leave_out(BOOKKEEPING)
                return
            request, response = {}, streamed
        before = request.get("previous_response_id") or (response or {}).get("previous_response_id")
        named = _conversation_of(request) or _conversation_of(response or {})
        key = f"conversation {named}" if named else f"response {before}"
        conversation = self.open.pop(key, None)
        if conversation is None:
            conversation = _Conversation(self.source, native_id(record, request) or named)
        conversation.exchange(where, ref, record, request, response)
        if not named:
            self.alone += 1
            own = text_or_none((response or {}).get("id"))
            key = f"response {own}" if own else f"alone {self.alone}"
        if not named and before is None and "previous_response_id" not in request and not _is_chained(response):
            # Nothing can follow that does not repeat it.
            yield from conversation.close()
            return
        again = self.open.pop(key, None)  # the same response once more
        self.open[key] = conversation
        if again is not None:
            yield from again.close()
        if len(self.open) > _MOST_OPEN:
            yield from self.open.popitem(last=False)[1].close()

    def close(self) -> Iterator[Transcript]:
        for conversation in self.open.values():
            yield from conversation.close()
        if self.bare.session.drafts or not self.found:
            yield from self.bare.close()


def _is_chained(response: Record | None) -> bool:
    """Whether a later request may continue from this response, which the provider stores unless told otherwise."""
    return response is not None and isinstance(response.get("id"), str) and response.get("store") is not False


def _conversation_of(holder: Record) -> str | None:
    value = holder.get("conversation")
    return text_or_none(value.get("id") if isinstance(value, dict) else value)


class _Conversation:
    def __init__(self, source: Source, native: str | None = None) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.items = Items(self.session)
        self.native = native
        self.prompts: set[str] = set()

    def item(self, where: int | None, ref: str, item: Any, time: str | None = None) -> None:
        with self.source.setting_aside(where, ref, item):
            if not isinstance(item, dict):
                raise MalformedError(f"expected an object, found {kind_of(item)}")
            self.items.take(item, ref, time or iso_time(item.get("timestamp") or item.get("created_at")))

    def note(self, record: Record) -> None:
        """Takes the facts about the session from a line that is no item."""
        self.session.leave_out(BOOKKEEPING)
        self._describe(record)

    def exchange(self, where: int | None, ref: str, record: Record, request: Record, response: Record | None) -> None:
        answer = response or {}
        time = iso_time(answer.get("created_at") or record.get("timestamp") or record.get("created_at"))
        self._prompt(where, ref, request.get("instructions") or answer.get("instructions"), time)
        given = request.get("input", answer.get("input"))
        if isinstance(given, str):
            self.items.end_response()
            self.session.say("user", given, ref, time, typed=True)
        self._list(where, f"{ref}/input", as_list(given), time)
        for key in _LISTS:
            self._list(where, f"{ref}/{key}", as_list(record.get(key)), None)
        self.items.end_response()
        self._list(where, f"{ref}/output", as_list(answer.get("output")), time)
        self.items.end_response()
        self.session.use(text_or_none(answer.get("id")), from_openai(answer.get("usage")))
        for holder in (record, request, answer):
            self._describe(holder)

    def _prompt(self, where: int | None, ref: str, prompt: Any, time: str | None) -> None:
        if isinstance(prompt, str) and prompt and prompt not in self.prompts:
            self.prompts.add(prompt)
            self.session.say("system", prompt, ref, time)
        elif isinstance(prompt, list):
            self._list(where, f"{ref}/instructions", prompt, time)

    def _list(self, where: int | None, ref: str, items: list[Any], time: str | None) -> None:
        for index, item in enumerate(items):
            self.item(where, f"{ref}#{index}", item, time)

    def _describe(self, holder: Record) -> None:
        session = self.session
        session.model = session.model or text_or_none(holder.get("model"))
        session.title = session.title or text_or_none(holder.get("title"))
        session.cwd = session.cwd or text_or_none(holder.get("cwd"))

    def close(self) -> list[Transcript]:
        return self.session.build(NAME, self.native)


FORMAT = SourceFormat(
    NAME,
    "OpenAI Responses API: a list of items, an object with `input` and `output`, or JSON lines of either",
    "items such as function_call and function_call_output with a call_id, or messages with input_text and output_text",
    detect,
    read,
    order=190,
    version=4,
    knows=_knows,
    of_list=lambda items: {"items": items},
)

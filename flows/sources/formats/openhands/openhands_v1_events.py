"""OpenHands V1 conversations: a folder with one file per event, or the same events as JSON lines.

Actions of one model response share ``llm_response_id``. A ``Condensation`` event says which events left the context
and holds the summary that took their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.account import Kind
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.opening import event_number
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, MessageDraft, SessionDraft
from flows.sources.reading.usage import from_openhands, sum_usages
from flows.sources.reading.values import as_dict, first_text, need_list, need_object, nested, objects_in, text_or_none

NAME = "openhands_v1_events"
_MEMBER = re.compile(r"[^/]*/event-\d+-[\w.-]*\.json\Z")
_KINDS = frozenset(
    """SystemPromptEvent SystemPromptUpdateEvent MessageEvent ActionEvent ObservationEvent AgentErrorEvent
    UserRejectObservation Condensation CondensationRequest CondensationSummaryEvent PauseEvent
    ConversationStateUpdateEvent ConversationErrorEvent ACPToolCallEvent""".split()
)
_RESULTS = ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation")
_PROMPTS = ("SystemPromptEvent", "SystemPromptUpdateEvent")
_OF_ANOTHER_AGENT = "ACPToolCallEvent"
"""What an agent that the SDK drives over the Agent Client Protocol did: a call, and again with its result."""
_SEEN_BY_MODEL = {"MessageEvent", "ActionEvent", *_RESULTS, *_PROMPTS}
"""Kinds of events in the model's view; the place of a summary is counted in these events."""
_TEXT_KEYS = ("content", "output", "message", "text", "result")


def detect(head: Head) -> bool:
    """Whether one of the first records is an event of the SDK."""
    return any(map(_is_event, head.records if head.document is None else _events_of(head.document)))


def _is_event(record: Record) -> bool:
    return record.get("kind") in _KINDS and ("source" in record or "id" in record)


def _events_of(document: Any) -> list[Record]:
    """The events of a document: the one, a list, or a list under a key."""
    lists = (document, nested(document, "events"), nested(document, "trajectory"), [document])
    return objects_in(next(filter(objects_in, lists), None))


def read(source: Source) -> Iterator[Transcript]:
    """The conversation of the folder or file."""
    events = list(source.records() if source.document is None else enumerate(_events_of(source.document), 1))
    native = None
    if source.members:
        # After a resume two files can have the same number: then the earlier one comes first.
        events.sort(key=lambda event: (event_number(source.members[event[0]].name), str(event[1].get("timestamp"))))
        folder = source.input.path.absolute()
        native = folder.parent.name if folder.name == "events" else folder.name
    conversation = Conversation(source)
    for where, event in events:
        source.guard(conversation.take, where, event)
    yield from conversation.session.build(NAME, native or None)


class Conversation:
    """Builds a conversation from its events."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.drafts: dict[str, MessageDraft | None] = {}
        self.view: list[tuple[str, MessageDraft | None]] = []
        """Events that the model sees while none is forgotten: id and message."""
        self.forgotten: set[str] = set()
        self.foreign: set[str] = set()

    def take(self, where: int, event: Record) -> None:
        """Adds one event."""
        own, kind = event.get("id"), event.get("kind")
        if isinstance(own, str) and own in self.drafts:
            for what in _kinds(event):
                self.session.leave_out(DUPLICATE, what)
            return
        ref, time = self.source.ref(where), iso_time(event.get("timestamp"))
        draft = None
        if kind == "ActionEvent":
            draft = self._action(event, ref, time)
        elif kind in _RESULTS:
            draft = self._observation(event, ref, time)
        elif kind == "MessageEvent":
            draft = self._message(event, ref, time)
        elif kind in _PROMPTS:
            parts = [text_of(event.get(key)) for key in ("system_prompt", "dynamic_context")]
            draft = self.session.say("system", "\n".join(filter(None, parts)), ref, time)
        elif kind == "Condensation":
            self._condensation(event)
        elif kind == _OF_ANOTHER_AGENT:
            self._foreign_call(event, ref, time)
        elif kind not in _KINDS and ("llm_message" in event or "tool_call_id" in event):
            raise MalformedError(f"an event of the unknown kind {kind!r} holds a message")
        elif isinstance(kind, str):
            self.session.leave_out(BOOKKEEPING)
            if kind == "ConversationStateUpdateEvent":
                self._state(event)
        else:
            raise MalformedError("an event without a kind")
        if isinstance(own, str):
            self.drafts[own] = draft
            if kind in _SEEN_BY_MODEL:
                self.view.append((own, draft))

    def _message(self, event: Record, ref: str, time: str | None) -> MessageDraft:
        message = need_object(event.get("llm_message"), "llm_message")
        # Knowledge that the harness appends to a prompt reaches the model as part of it.
        texts = [text_of(message.get("content")), text_of(event.get("extended_content"))]
        text = "\n".join(filter(None, texts))
        role = message.get("role")
        if role in ("system", "user"):
            return self.session.say(role, text, ref, time, typed=role == "user")
        if role != "assistant":
            raise MalformedError(f"role is {role!r}, expected system, user or assistant")
        draft = self.session.respond(text_or_none(event.get("llm_response_id")), ref, time)
        draft.add_text(text)
        _add_reasoning(draft, message)
        return draft

    def _action(self, event: Record, ref: str, time: str | None) -> MessageDraft:
        draft = self.session.respond(text_or_none(event.get("llm_response_id")), ref, time)
        draft.add_text(text_of(event.get("thought")))
        _add_reasoning(draft, event)
        call = as_dict(event.get("tool_call"))
        function = as_dict(call.get("function")) or call
        arguments = function.get("arguments")
        if arguments is None and isinstance(event.get("action"), dict):
            arguments = {key: value for key, value in event["action"].items() if key != "kind"}
        name = event.get("tool_name") or function.get("name")
        self.session.call(draft, event.get("tool_call_id") or call.get("id"), name, arguments)
        return draft

    def _foreign_call(self, event: Record, ref: str, time: str | None) -> None:
        """A call of the other agent. Several events report its progress; the last one has the result."""
        own, drafts = text_or_none(event.get("tool_call_id")), self.session.drafts
        if own is None:
            raise MalformedError("a call without an id")
        if own not in self.foreign:
            last = drafts[-1] if drafts and drafts[-1].role == "assistant" else None
            draft = last or self.session.respond(None, ref, time)
            asked = event.get("raw_input")
            arguments = asked if isinstance(asked, dict) else {"title": event.get("title"), "input": asked}
            self.session.call(draft, own, event.get("tool_kind") or "tool", arguments)
            self.foreign.add(own)
        else:
            self.session.leave_out(BOOKKEEPING)
        if event.get("status") not in ("completed", "failed"):
            return
        texts = [text_of(one.get("content", one)) for one in event.get("content") or () if isinstance(one, dict)]
        told = event.get("raw_output")
        text = "\n".join(filter(None, texts)) or (told if isinstance(told, str) else dumps(told) if told else "")
        self.session.result(own, text, ref, time, is_error=event.get("is_error") is True or event["status"] == "failed")

    def _observation(self, event: Record, ref: str, time: str | None) -> MessageDraft | None:
        kind, seen = event["kind"], event.get("observation")
        if kind == "AgentErrorEvent":
            text, failed = text_of(event.get("error")), True
        elif kind == "UserRejectObservation":
            text, failed = text_of(event.get("rejection_reason")), True
        else:
            text, failed = _observation_text(seen if isinstance(seen, dict) else {"content": seen})
        return self.session.result(
            event.get("tool_call_id"), text, ref, time, is_error=failed, name=event.get("tool_name")
        )

    def _condensation(self, event: Record) -> None:
        """Notes a compaction. It drops messages without remaining events, and calls or results without their pair."""
        self.forgotten.update(map(str, need_list(event.get("forgotten_event_ids"), "forgotten_event_ids")))
        kept = {id(draft) for own, draft in self.drafts.items() if own not in self.forgotten}
        gone = [
            draft
            for own, draft in self.drafts.items()
            if own in self.forgotten and draft is not None and id(draft) not in kept
        ]
        dropped = {id(draft): draft for draft in [*gone, *self._find_unmatched({id(draft) for draft in gone})]}
        self.session.compacted(
            summary=text_or_none(event.get("summary")),
            dropped=dropped.values(),
            summary_at=self._place(event.get("summary_offset"), set(dropped)),
        )

    def _find_unmatched(self, gone: set[int]) -> list[MessageDraft]:
        """Messages that the SDK keeps from the model because the other half of a call was forgotten."""
        calls, results = set[str](), set[str]()
        for draft in self.session.drafts:
            if id(draft) not in gone:
                calls.update(call.id for call in draft.calls)
                results.update(filter(None, [draft.tool_call_id]))
        lost = {call.id for draft in self.session.drafts if id(draft) in gone for call in draft.calls} - calls
        unread = {draft.tool_call_id for draft in self.session.drafts if id(draft) in gone} - results
        return [
            draft
            for draft in self.session.drafts
            if id(draft) not in gone
            and (draft.tool_call_id in lost or (draft.calls and all(call.id in unread for call in draft.calls)))
        ]

    def _place(self, offset: object, dropped: set[int]) -> int | None:
        """Count the messages of the view before a summary, whose place is counted in events of the view."""
        if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
            return None
        view = [draft for own, draft in self.view if own not in self.forgotten]
        return len({id(draft) for draft in view[:offset] if draft is not None} - dropped)

    def _state(self, event: Record) -> None:
        """Totals so far: the last ones count."""
        key, value = event.get("key"), event.get("value")
        if not isinstance(value, dict):
            return
        stats = as_dict(value if key == "stats" else value.get("stats"))
        found = as_dict(stats.get("usage_to_metrics") or stats.get("service_to_metrics"))
        metrics = objects_in(list(found.values()))
        usages = [usage for one in metrics if (usage := from_openhands(one)) is not None]
        self.session.use("totals", sum_usages(usages) if usages else None)
        llm = nested(value, "agent", "llm")
        named = [llm.get("model")] if isinstance(llm, dict) else [one.get("model_name") for one in metrics]
        self.session.model = self.session.model or first_text(*named)


def _kinds(event: Record) -> list[Kind | None]:
    """The kinds of message that an event would have become, to count it as left out."""
    kind, message = event.get("kind"), event.get("llm_message")
    if kind == "ActionEvent":
        return ["assistant", "tool_call"]
    if kind in _RESULTS:
        return ["tool"]
    if kind in _PROMPTS:
        return ["system"]
    if kind == "Condensation":
        return ["user" if event.get("summary") else None]
    role = nested(message, "role") if kind == "MessageEvent" else None
    return [role if role in ("system", "user", "assistant") else None]


def _add_reasoning(draft: MessageDraft, holder: Record) -> None:
    reasoning = text_or_none(holder.get("reasoning_content"))
    if reasoning:
        draft.add_reasoning(reasoning)
        return
    for block in objects_in(holder.get("thinking_blocks")):
        draft.add_reasoning(block.get("thinking"))


def _observation_text(seen: Record) -> tuple[str, bool]:
    """The text of an observation, whose field differs by kind, and whether it says that the call failed."""
    details = as_dict(seen.get("metadata"))
    error = seen.get("error")
    code = seen.get("exit_code", details.get("exit_code"))
    # -1 is a command that still runs.
    failed = seen.get("is_error") is True or bool(error) or (isinstance(code, int) and code not in (0, -1))
    text = next((text for key in _TEXT_KEYS if (text := text_of(seen.get(key)))), "")
    if isinstance(error, str) and error and error not in text:
        text = f"{text}\n{error}" if text else error
    if not text and not any(key in seen for key in _TEXT_KEYS):
        text = dumps({key: value for key, value in seen.items() if key != "kind"})
    return f"{details.get('prefix') or ''}{text}{details.get('suffix') or ''}", failed


FORMAT = SourceFormat(
    NAME,
    "OpenHands V1 conversation: a folder of event files, or events as JSON lines",
    "events with a kind such as ActionEvent or MessageEvent; a folder of event-<number>-<id>.json files",
    detect,
    read,
    order=60,
    version=2,
    folder_member=_MEMBER,
)

"""Chats with Copilot in VS Code: a JSON object (`chatSessions/<id>.json`), or a log of its changes (`.jsonl`).

A request has what the model was given again in its rounds (``result.metadata``), and what the person was shown
(``response``), which is read where there are no rounds: while an answer is written, and after it was stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from compaction.transcript import Transcript
from flows.sources.formats.vscode_copilot._changes import VALUE, Changes
from flows.sources.formats.vscode_copilot._parts import (
    CALL,
    rendered_text,
    result_text,
    shown_arguments,
    shown_result,
    shown_text,
    text_in,
)
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, RECORDED_SUMMARY, REWOUND, MessageDraft, SessionDraft
from flows.sources.reading.siblings import load_sibling
from flows.sources.reading.usage import from_openai, make_usage
from flows.sources.reading.values import as_dict, as_list, first_text, need_object, nested, objects_in, text_or_none

NAME = "vscode_copilot_chat"
FOR_THE_PERSON = "shown to the person only"
_ONLY_TAGS = re.compile(r"(?:</?[\w-]+>|\s)*")


def detect(head: Head) -> bool:
    """Whether a record is a chat, or the first entry of a log of one."""
    return any(
        _is_chat(record) or (record.get("kind") == VALUE and _is_chat(record.get("v"))) for record in head.records
    )


def _is_chat(value: Any) -> bool:
    requests = nested(value, "requests")
    if not isinstance(requests, list) or not ({"sessionId", "responderUsername", "requesterUsername"} & value.keys()):
        return False
    return all("message" in request for request in objects_in(requests[:25]))


def read(source: Source) -> Iterator[Transcript]:
    """The chat, and those of its sub-agents."""
    changes, entries = Changes(), 0

    def take(_: int, record: Record) -> None:
        nonlocal entries
        if "kind" in record:
            changes.apply(record)
            entries += 1
        elif _is_chat(record):
            changes.apply({"kind": VALUE, "v": record})
        else:
            raise MalformedError("neither a chat nor an entry of a log")

    source.each(take)
    reading = _Reading(source, as_dict(changes.value))
    reading.session.leave_out(BOOKKEEPING, count=entries)
    yield from reading.read(changes.removed)


class _Reading:
    def __init__(self, source: Source, chat: Record) -> None:
        self.source = source
        self.chat = chat
        self.own = text_or_none(chat.get("sessionId"))
        self.session = SessionDraft(source)
        self.seen: set[str] = set()
        self.contexts: set[str] = set()
        self.summaries: dict[str, Record] = {}
        """Id of a round → the summary that stands for everything up to it."""
        self.helpers: dict[str, dict[str, Record]] = {}
        """Call that started a sub-agent → the sub-agent's own calls."""
        self.starts: dict[str, tuple[Record, str]] = {}
        self.time: str | None = None

    def read(self, removed: list[Record]) -> Iterator[Transcript]:
        session, requests = self.session, as_list(self.chat.get("requests"))
        for request in objects_in(requests):
            self._find_summaries(request)
        for at, request in enumerate(requests):
            with self.source.setting_aside(None, f"{self.source.name}#{at}", request):
                self._request(need_object(request, "a request"), f"{self.source.name}#{at}")
        for request in removed:
            own = str(request.get("requestId"))
            if own not in self.seen:
                self.seen.add(own)
                self._rewound(request)
        session.leave_out(RECORDED_SUMMARY, "user", len(self.summaries))  # of rounds that the log has not
        session.title = text_or_none(self.chat.get("customTitle"))
        session.cwd = self._folder() or session.cwd
        session.started_at = iso_time(self.chat.get("creationDate"))
        session.ended_at = iso_time(self.chat.get("lastMessageDate"))
        built = session.build(NAME, self.own)
        yield from built
        for call, parts in self.helpers.items():
            yield from self._helper(call, list(parts.values()), built[0].session_id if built else None)

    def _find_summaries(self, request: Record) -> None:
        details = as_dict(nested(request, "result", "metadata"))
        for one in (*objects_in(details.get("summaries")), as_dict(details.get("summary"))):
            if text_or_none(one.get("text")) and isinstance(one.get("toolCallRoundId"), str):
                self.summaries[one["toolCallRoundId"]] = one
        for one in objects_in(details.get("toolCallRounds")):
            if isinstance(one.get("id"), str) and text_or_none(one.get("summary")):
                self.summaries.setdefault(one["id"], {"text": one["summary"]})

    def _request(self, request: Record, ref: str) -> None:
        own = text_or_none(request.get("requestId"))
        if own is not None and own in self.seen:
            self.session.leave_out(DUPLICATE)
            return
        if own is not None:
            self.seen.add(own)
        if request.get("shouldBeRemovedOnSend"):
            self._rewound(request)
            return
        self.time = iso_time(request.get("timestamp"))
        details = as_dict(nested(request, "result", "metadata"))
        self._prompt(request, details, ref)
        model = first_text(details.get("resolvedModel"), request.get("modelId")) or ""
        self.session.model = self.session.model or text_or_none(model.removeprefix("copilot/"))
        used = nested(request, "result", "usage")
        counts = (nested(used, "promptTokens"), nested(used, "completionTokens")) if used else ()
        counts = counts or (details.get("promptTokens"), details.get("outputTokens"))
        self.session.use(own, make_usage(*counts) or from_openai(used))
        if nested(request, "result", "errorDetails"):
            self.session.leave_out(FOR_THE_PERSON)
        answer = [{"value": one} if isinstance(one, str) else one for one in as_list(request.get("response"))]
        parts = self._own_parts(objects_in(answer), ref)
        rounds = objects_in(details.get("toolCallRounds"))
        results = as_dict(details.get("toolCallResults"))
        thoughts = _shown_thoughts(parts, rounds)
        for at, one in enumerate(rounds):
            self._round(one, results, ref, thoughts.get(at, []))
        if not rounds:
            self._take_answer(self.session, parts, ref)

    def _rewound(self, request: Record) -> None:
        self.session.leave_out(REWOUND, "user")
        rounds = objects_in(nested(request, "result", "metadata", "toolCallRounds"))
        self.session.leave_out(REWOUND, "assistant", len(rounds) or bool(request.get("response")))

    def _prompt(self, request: Record, details: Record, ref: str) -> None:
        """Adds the typed text, behind VS Code's own: attachments, the editor, reminders."""
        message = request.get("message")
        text = text_of(first_text(message, nested(message, "text")) or "")
        context = rendered_text(details.get("renderedGlobalContext"))
        rendered = rendered_text(details.get("renderedUserMessage"))
        before, _, after = rendered.rpartition(text) if text else ("", "", rendered)
        for told in (context, before + after):
            if _ONLY_TAGS.fullmatch(told):
                continue
            if told in self.contexts:
                self.session.leave_out(DUPLICATE, "user")
            else:
                self.contexts.add(told)
                self.session.say("user", told, ref, self.time, is_harness=True)
        if text:
            is_harness = request.get("isSystemInitiated") is True
            self.session.say("user", text, ref, self.time, typed=True, is_harness=is_harness)

    def _own_parts(self, parts: list[Record], ref: str) -> list[Record]:
        """The parts but those of sub-agents; a call that was written again counts as it was written last."""
        own: dict[str, Record] = {}
        for at, part in enumerate(parts):
            call, started = text_or_none(part.get("toolCallId")), text_or_none(part.get("subAgentInvocationId"))
            path = first_text(nested(part, "baseUri", "fsPath"), nested(part, "baseUri", "path"))
            self.session.cwd = self.session.cwd or path
            if nested(part, "toolSpecificData", "kind") == "subagent" and call is not None:
                self.starts[call] = part, ref
            if started is not None and started != call:
                self.helpers.setdefault(started, {})[call or str(at)] = part
            else:
                own[call or str(at)] = part
        return list(own.values())

    def _round(self, one: Record, results: Record, ref: str, thoughts: list[str]) -> None:
        time = iso_time(one.get("timestamp")) or self.time
        draft = self.session.respond(None, ref, time)
        draft.add_text(text_in(one.get("response")))
        for thought in (text_in(nested(one, "thinking", "text")), *thoughts):
            draft.add_reasoning(thought)
        called = []
        for call in objects_in(one.get("toolCalls")):
            own = self.session.call(draft, call.get("id"), call.get("name"), call.get("arguments"))
            called.append((own, results.get(str(call.get("id"))), call.get("name")))
        for own, result, name in called:
            if result is not None:
                self.session.result(own, result_text(result), ref, time, name=name)
        summary = self.summaries.pop(one["id"], None) if isinstance(one.get("id"), str) else None
        if summary is not None:
            self._note_compaction(summary)

    def _note_compaction(self, summary: Record) -> None:
        """Notes that the summary replaces all earlier messages."""
        drafts = list(self.session.drafts)
        self.session.compacted(summary=text_in(summary["text"]), dropped=drafts, trigger=summary.get("source"))

    def _take_answer(self, session: SessionDraft, parts: list[Record], ref: str) -> None:
        """An answer as it is on the screen: one response until a call has a result."""
        draft: MessageDraft | None = None
        texts: list[str] = []
        for part in parts:
            said, kind = shown_text(part), part.get("kind")
            thought = text_in(part.get("value")) if kind == "thinking" else ""
            if said is not None:
                texts.append(said)
            elif kind == CALL or thought:
                draft = draft or session.respond(None, ref, self.time)
                draft.add_text("".join(texts).strip())
                draft.add_reasoning(thought)
                texts.clear()
            else:
                session.leave_out(BOOKKEEPING)
            if kind == CALL and draft is not None and self._call(session, draft, part, ref):
                draft = None
        text = "".join(texts).strip()
        if text:
            (draft or session.respond(None, ref, self.time)).add_text(text)

    def _call(self, session: SessionDraft, draft: MessageDraft, part: Record, ref: str) -> bool:
        """Adds a call of the screen, and says whether it has a result."""
        own = session.call(draft, part.get("toolCallId"), part.get("toolId"), shown_arguments(part))
        result, failed = shown_result(part)
        if result is not None:
            session.result(own, result, ref, self.time, is_error=failed, name=part.get("toolId"))
        return result is not None

    def _helper(self, call: str, parts: list[Record], parent: str | None) -> list[Transcript]:
        """A sub-agent: its task, its calls as far as the screen tells of them, and its answer."""
        session = SessionDraft(self.source)
        start, ref = self.starts.get(call, ({}, self.source.name))
        data = as_dict(start.get("toolSpecificData"))
        if text_in(data.get("prompt")):
            session.say("user", text_in(data["prompt"]), ref, self.time, typed=True)
        self._take_answer(session, parts, ref)
        if text_in(data.get("result")):
            session.respond(None, ref, self.time).add_text(text_in(data["result"]))
        session.title = first_text(data.get("description"), data.get("agentName"))
        session.model, session.cwd = text_or_none(data.get("modelName")), self.session.cwd
        own = f"{self.own}-{call}" if self.own else None
        return session.build(NAME, own, identity=[call], parent_session_id=parent)

    def _folder(self) -> str | None:
        """The folder that was open, which a file above the chats names."""
        place = self.source.input.path.parent
        if place.name != "chatSessions":
            return None
        path = unquote(
            urlsplit(text_or_none(nested(load_sibling(place.parent / "workspace.json"), "folder")) or "").path
        )
        return path[1:] if path[2:3] == ":" else path or None


def _shown_thoughts(parts: list[Record], rounds: list[Record]) -> dict[int, list[str]]:
    """Round → the thoughts that the person was shown before its calls, where the rounds themselves have none."""
    found: dict[int, list[str]] = {}
    if any(text_in(nested(one, "thinking", "text")) for one in rounds):
        return found
    at, calls, ahead = 0, 0, 0  # ahead: calls of the rounds before this one
    for part in parts:
        calls += part.get("kind") == CALL
        while at < len(rounds) - 1 and ahead + len(objects_in(rounds[at].get("toolCalls"))) <= calls and ahead < calls:
            ahead += len(objects_in(rounds[at].get("toolCalls")))
            at += 1
        if part.get("kind") == "thinking" and text_in(part.get("value")):
            found.setdefault(at, []).append(text_in(part["value"]))
    return found


FORMAT = SourceFormat(
    NAME,
    "a chat with Copilot in VS Code (`chatSessions`): one JSON object, or a log of its changes",
    "`requests` with a `message` beside `sessionId` or `responderUsername`; a first entry of `kind` 0 with it",
    detect,
    read,
    order=45,
)

"""Gemini CLI sessions (``~/.gemini/tmp/<project>/chats/session-*``): one JSON object, or JSON lines since version 0.40.

The lines are a log of changes (core/src/services/chatRecordingService.ts): a header, messages that are written again
when they change, ``$set`` for fields of the session and for a replaced history, ``$rewindTo`` for what was taken back.
A call and its result are one object within a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.gemini._history import Entry, GeminiHistory, HistoryChange, calls_of, result_of
from flows.sources.formats.gemini._parts import Turn, is_context, parts_of, sort_parts
from flows.sources.reading.base import Head, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, RECORDED_SUMMARY, REWOUND, MessageDraft, SessionDraft
from flows.sources.reading.usage import make_usage, sum_counts
from flows.sources.reading.values import as_dict, as_list, first_item, int_or_none, need_object, text_or_none

NAME = "gemini_cli_chat"
_SAID = ("user", "gemini")
_ON_SCREEN = ("info", "warning", "error")


def detect(head: Head) -> bool:
    """Whether there is a session with messages of Gemini CLI's types, or a record of its log."""
    return any(map(_is_session, head.records)) or any(map(_is_log, head.records))


def _is_message(value: Any) -> bool:
    known = isinstance(value, dict) and value.get("type") in (*_SAID, *_ON_SCREEN)
    return known and "content" in value and "message" not in value


def _is_session(record: Record) -> bool:
    messages = record.get("messages")
    if "sessionId" not in record or not isinstance(messages, list):
        return False
    return any(map(_is_message, messages[:5])) or "projectHash" in record


def _is_log(record: Record) -> bool:
    changes = record.get("$set")
    if "$rewindTo" in record or (isinstance(changes, dict) and {"messages", "lastUpdated", "sessionId"} & set(changes)):
        return True
    if record.get("type") == "gemini" and "id" in record and "content" in record:
        return True
    return "sessionId" in record and "projectHash" in record and "type" not in record


def read(source: Source) -> Iterator[Transcript]:
    """The session of the file."""
    log = _Log(source)
    source.each(log.take)
    yield from log.built()


class _Log:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.about: Record = {}
        self.history = GeminiHistory()
        self.early: list[tuple[int, Record]] = []
        """Updates of messages that are not there yet."""
        self.drafts: dict[int, list[MessageDraft]] = {}
        """Identity of an entry → the messages that it became."""
        self.results: dict[str, MessageDraft] = {}
        self.entry = Entry(None, {}, 0, "")
        """The message that is being said."""

    def take(self, where: int, record: Record) -> None:
        changes, ref = record.get("$set"), self.source.ref(where)
        if "$rewindTo" in record:
            self.history.rewind(record["$rewindTo"])
            self.session.leave_out(BOOKKEEPING)
        elif isinstance(changes, dict):
            self.about.update({key: value for key, value in changes.items() if key != "messages"})
            if isinstance(changes.get("messages"), list):
                self.history.replace(self._known(changes["messages"], where, ref), where, ref)
            self.session.leave_out(BOOKKEEPING)
        elif record.get("type") == "message_update":
            rest = {key: value for key, value in record.items() if key not in ("type", "id")}
            if not self.history.update(record.get("id"), rest):
                self.early.append((where, record))
            self.session.leave_out(BOOKKEEPING)
        elif "sessionId" in record and record.get("type") not in (*_SAID, *_ON_SCREEN):
            self.about.update({key: value for key, value in record.items() if key != "messages"})
            if self.source.document is None:
                self.session.leave_out(BOOKKEEPING)
            for index, message in enumerate(as_list(record.get("messages"))):
                self._put(where, message, f"{self.source.name}#{index}")
        else:
            self._put(where, record, ref)

    def _known(self, messages: list[Any], where: int, ref: str) -> list[Record]:
        return [one for at, one in enumerate(messages) if self._is_known(one, where, f"{ref}#{at}")]

    def _put(self, where: int, message: Any, ref: str) -> None:
        if self._is_known(message, where, ref) and not self.history.put(message, where, ref):
            self.session.leave_out(DUPLICATE)  # written again since it changed

    def _is_known(self, message: Any, where: int, ref: str) -> bool:
        if not isinstance(message, dict):
            self.source.quarantine(where, f"{ref}: a message is {kind_of(message)}, expected an object", message)
        elif message.get("type") not in (*_SAID, *_ON_SCREEN):
            self.source.quarantine(where, f"{ref}: type is {message.get('type')!r}, expected user or gemini", message)
        else:
            return True
        return False

    def built(self) -> list[Transcript]:
        """The session, with its compactions at the places where they happened."""
        history, session, about = self.history, self.session, self.about
        for where, record in self.early:
            rest = {key: value for key, value in record.items() if key not in ("type", "id")}
            if not history.update(record.get("id"), rest):
                self.source.quarantine(where, "an update of a message that is not in the log", record)
        history.finish()
        changes = list(history.changes)
        for position, entry in enumerate(history.order):
            while changes and changes[0].at <= position:
                self._change(changes.pop(0))
            self.entry = entry
            self.source.guard(self._say, entry.where, entry.record)
        for change in changes:
            self._change(change)
        session.leave_out(RECORDED_SUMMARY, "assistant", history.acknowledged)
        session.title = text_or_none(about.get("summary"))
        session.started_at, session.ended_at = iso_time(about.get("startTime")), iso_time(about.get("lastUpdated"))
        session.cwd = text_or_none(first_item(about.get("directories")))
        parent = self.source.input.path.absolute().parent.name if about.get("kind") == "subagent" else None
        return session.build(
            NAME,
            text_or_none(about.get("sessionId")),
            parent_session_id=f"{NAME}-{parent}" if parent and parent != "chats" else None,
        )

    def _change(self, change: HistoryChange) -> None:
        masked: dict[str, list[MessageDraft]] = {}
        for _, own, text in change.masked:
            if own in self.results and "\n".join(self.results[own].texts) != text:
                masked.setdefault(text, []).append(self.results[own])
        for text, drafts in masked.items():
            self.session.compacted(summary=None, dropped=(), trigger="mask", cleared=drafts, cleared_text=text)
        dropped = None if change.dropped is None else self._made_of(change.dropped)
        if change.summary is None and not dropped:
            return
        self.session.compacted(
            summary=change.summary,
            dropped=dropped,
            tokens_before=change.tokens,
            summary_at=len(self._made_of(change.before)) if change.summary is not None else None,
        )

    def _made_of(self, entries: list[Entry]) -> list[MessageDraft]:
        return [draft for entry in entries for draft in self.drafts.get(id(entry), ())]

    def _say(self, _: int, record: Record) -> None:
        entry, kind = self.entry, self.entry.kind
        if kind in _ON_SCREEN:
            self.session.leave_out(BOOKKEEPING)
            return
        turn = sort_parts(parts_of(record.get("content")), streamed=kind == "gemini")
        for part in turn.unknown:
            self.source.quarantine(entry.where, f"{entry.ref}: a part of an unknown kind", part)
        if entry.is_rewound:
            self._leave_out(kind, turn, calls_of(record))
            return
        start, time = len(self.session.drafts), iso_time(record.get("timestamp"))
        if kind == "gemini":
            self._model(entry, turn, time)
        else:
            self._results(turn, entry.ref, time)
            if turn.text or not turn.responses:
                self.session.say("user", turn.text, entry.ref, time, typed=not is_context(turn.text))
        self.drafts[id(entry)] = self.session.drafts[start:]

    def _leave_out(self, kind: str, turn: Turn, calls: list[Record]) -> None:
        """Counts messages that were taken back."""
        leave = self.session.leave_out
        results = len(turn.responses) + sum(result_of(call) is not None for call in calls)
        if kind == "gemini" or turn.text or not turn.responses:
            leave(REWOUND, "assistant" if kind == "gemini" else "user")
        leave(REWOUND, "tool", results)
        leave(REWOUND, "tool_call", len(calls) + len(turn.calls))

    def _model(self, entry: Entry, turn: Turn, time: str | None) -> None:
        session, record = self.session, entry.record
        session.model = session.model or text_or_none(record.get("model"))
        draft = session.respond(None, entry.ref, time)
        draft.add_text(turn.text)
        for thought in [*turn.thoughts, *as_list(record.get("thoughts"))]:
            draft.add_reasoning(thought if isinstance(thought, str) else _write_thought(thought))
        session.use(entry.own, _usage(record.get("tokens")))
        calls = calls_of(record)
        held = {call.get("id") for call in calls if isinstance(call.get("id"), str)}
        made = [(call, session.call(draft, call.get("id"), call.get("name"), call.get("args"))) for call in calls]
        for asked in turn.calls:
            if asked.id in held:
                session.leave_out(DUPLICATE, "tool_call")  # the history has it among the parts too
            else:
                session.call(draft, asked.id, asked.name, asked.arguments)
        for call, own in made:
            outcome = result_of(call)
            if outcome is not None:
                self._result(own, *outcome, call.get("name"), entry.ref, iso_time(call.get("timestamp")) or time)
        self._results(turn, entry.ref, time)

    def _results(self, turn: Turn, ref: str, time: str | None) -> None:
        for response in turn.responses:
            self._result(text_or_none(response.id), response.text, response.is_error, response.name, ref, time)

    def _result(self, own: str | None, text: str, failed: bool, name: Any, ref: str, time: str | None) -> None:
        if own is not None and own in self.results:
            self.session.leave_out(DUPLICATE, "tool")
            return
        draft = self.session.result(own, text, ref, time, is_error=failed, name=name)
        if own is not None and draft is not None:
            self.results[own] = draft


def _write_thought(thought: Any) -> str:
    """A thought as the model wrote it; Gemini CLI stores its bold heading separately."""
    thought = need_object(thought, "a thought")
    subject, text = text_or_none(thought.get("subject")), text_or_none(thought.get("description"))
    return " ".join(filter(None, [f"**{subject}**" if subject else None, text]))


def _usage(tokens: Any) -> Any:
    """Usage of a response: the prompt holds the cached part, the output leaves out the thoughts."""
    counts = {key: int_or_none(value) for key, value in as_dict(tokens).items()}
    prompt = sum_counts([counts.get("input"), counts.get("tool")])
    return make_usage(prompt, sum_counts([counts.get("output"), counts.get("thoughts")]), counts.get("cached"))


FORMAT = SourceFormat(
    NAME,
    "Gemini CLI session: one JSON object with its messages, or a log of changes as JSON lines",
    "`sessionId` and messages of type user, gemini, info, warning or error; `$set` and `$rewindTo` records",
    detect,
    read,
    order=160,
)

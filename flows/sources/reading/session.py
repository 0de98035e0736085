"""Builds a session from its pieces, which come in the order of the log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from compaction.transcript import RecordedCompaction, Role, ToolCall, Transcript, Usage
from flows.sources.reading.account import Kind
from flows.sources.reading.base import Record, Source
from flows.sources.reading.blocks import NO_TIME, arguments_text, first_line, shows_failure
from flows.sources.reading.identity import fingerprint, plain_id
from flows.sources.reading.kinds import kind_of_unknown
from flows.sources.reading.message_draft import MessageDraft
from flows.sources.reading.usage import count_or_none, sum_usages
from flows.support.clock import utc_time

__all__ = ["MessageDraft", "SessionDraft"]  # readers take both from here

RECORDED_SUMMARY = "recorded compaction summary"
BOOKKEEPING = "bookkeeping"
REWOUND = "rewound branch"
ANOTHER_BEGINNING = "beginning of another conversation under this id"
INHERITED = "history of the session that this one comes from"
"""What a sub-agent or a fork was given: it is stored with the session whose work it is."""
BEHIND_COMPACTION = "beginning of the session, before its first compaction"
DEMONSTRATION = "demonstration"
DUPLICATE = "duplicate"
EMPTY = "empty response"
UNKNOWN = "line of an unknown kind"
_LOOKED_AT = 1_000
_RULES = re.compile(
    r"^\s*(?:#+ *(?:AGENTS|CLAUDE|GEMINI)(?:\.local)?\.md\b|# claudeMd\b|<user_instructions>|"
    r"Contents of \S*(?:AGENTS|CLAUDE|GEMINI)(?:\.local)?\.md\b)",
    re.MULTILINE,
)
"""How a file of rules begins when a harness hands it to the model."""


class SessionDraft:
    """Collects one session. Methods are called in the order of the log.

    Every message, call and left-out piece is counted in the account of the source at once.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.drafts: list[MessageDraft] = []
        self.left_out: Counter[str] = Counter()
        self.n_inherited = 0
        self.task_type: str | None = None
        self.resolved: bool | None = None
        self.exit_status: str | None = None
        self.ended_at: str | None = None
        self.title: str | None = None
        self.started_at: str | None = None
        self.model: str | None = None
        self.cwd: str | None = None
        self._responses: dict[str, MessageDraft] = {}
        self._calls: dict[str, list[str]] = {}
        """Id in the log → the ids under which its calls are stored, in order."""
        self._names: dict[str, str] = {}
        self._results: dict[str, list[str]] = {}
        self._compactions: list[dict[str, Any]] = []
        self._gone: set[int] = set()
        self._synthetic = 0
        self._usage: dict[str, Usage] = {}

    def leave_out(self, reason: str, kind: Kind | None = None, count: int = 1) -> None:
        """Counts something that is deliberately no message of this session.

        Args:
            reason: Why, in the words of docs/formats.md.
            kind: The role of the message that it would have been, or ``tool_call``; None for what never was one.
            count: How many.
        """
        if count:
            self.left_out[reason] += count
            self.source.account.leave_out(reason, kind, count)
            if reason == INHERITED and kind not in (None, "tool_call"):
                self.n_inherited += count

    def leave_unknown(self, record: Record) -> None:
        """Counts a line of a kind that a reader without a marker does not know; one with a call or a result as that."""
        kind = kind_of_unknown(record)
        self.leave_out(UNKNOWN if kind else BOOKKEEPING, kind)

    def use(self, key: str | None, usage: Usage | None) -> None:
        """Notes what a response used; of several reports on the response with this key the last one counts."""
        if usage is not None:
            self._usage[f"response {key}" if key else f"number {len(self._usage)}"] = usage

    def forget_usage(self) -> None:
        """Forgets what was used so far: it was another session's."""
        self._usage.clear()

    def say(
        self,
        role: Role,
        text: str,
        ref: str,
        timestamp: str | None = None,
        *,
        typed: bool = False,
        is_harness: bool = False,
    ) -> MessageDraft:
        """Adds a message of text.

        Args:
            role: Who it is from for the model.
            text: What it says.
            ref: Where it stands.
            timestamp: When it was written.
            typed: A person wrote it: the first such message gives the title.
            is_harness: The log says that a machine wrote it in the person's name, and so it is no request.
        """
        draft = MessageDraft(role, ref, timestamp)
        if text:
            draft.texts.append(text)
        draft.typed = typed and not is_harness
        if is_harness:
            draft.author = "rules" if _RULES.search(text[:_LOOKED_AT]) else "harness"
        self.drafts.append(draft)
        self.source.account.met[role] += 1
        return draft

    def respond(self, key: str | None, ref: str, timestamp: str | None = None) -> MessageDraft:
        """Adds the assistant message of a response; pieces with the same key become one, at the place of the first."""
        if key is None:
            return self.say("assistant", "", ref, timestamp)
        draft = self._responses.get(key)
        if draft is None:
            draft = self._responses[key] = self.say("assistant", "", ref, timestamp)
        return draft

    def number_kept(self) -> int:
        """How many of the messages so far no compaction has dropped."""
        return sum(id(draft) not in self._gone for draft in self.drafts)

    def has_response(self, key: str) -> bool:
        """Whether there is a message of the response with this key."""
        return key in self._responses

    def has_call(self, call_id: Any) -> bool:
        """Whether the log has a call with this id."""
        return _id(call_id) in self._calls

    def call(self, draft: MessageDraft, call_id: Any, name: Any, arguments: Any) -> str:
        """Adds a call to a response and returns its id.

        A call without an id gets one. Some providers number the calls of each response anew: an id that another
        response has used gets a suffix, and so do its results.
        """
        logged = _id(call_id) or self.new_id()
        given = self._calls.setdefault(logged, [])
        again = next((call.id for call in draft.calls if call.id in given), None)
        if again is not None:
            self.leave_out(DUPLICATE, "tool_call")
            return again
        own = f"{logged}#{len(given) + 1}" if given else logged
        while own in self._names:
            own += "#"
        self.source.account.met["tool_call"] += 1
        name = name if isinstance(name, str) else ""
        draft.calls.append(ToolCall(own, name, arguments_text(arguments)))
        given.append(own)
        self._names[own] = name
        return own

    def new_id(self) -> str:
        """An id for a call that the log gives none; no id that the log has used so far."""
        self._synthetic += 1
        while f"call-{self._synthetic}" in self._names:
            self._synthetic += 1
        return f"call-{self._synthetic}"

    def result(
        self,
        call_id: Any,
        text: str,
        ref: str,
        timestamp: str | None = None,
        *,
        is_error: bool = False,
        name: Any = None,
    ) -> MessageDraft | None:
        """Adds a tool result; None when it repeats one that is there (a resumed session copies its history)."""
        own = self._find_call(_id(call_id), text)
        if own is not None:
            before = self._results.setdefault(own, [])
            if text in before:
                self.leave_out(DUPLICATE, "tool")
                return None
            before.append(text)
        draft = self.say("tool", text, ref, timestamp)
        draft.tool_call_id = own
        draft.tool_name = name if isinstance(name, str) and name else None
        draft.is_error = is_error or shows_failure(text)
        return draft

    def _find_call(self, logged: str | None, text: str) -> str | None:
        """The call that a result belongs to, where several have the id: the latest, if it has no result yet.

        Otherwise the first without a result; where all have one, the one whose result this repeats.
        """
        given = self._calls.get(logged, ()) if logged is not None else ()
        if len(given) < 2:
            return given[0] if given else logged
        waiting = [own for own in given if own not in self._results]
        if waiting:
            return given[-1] if given[-1] in waiting else waiting[0]
        return next((own for own in given if text in self._results[own]), given[-1])

    def compacted(
        self,
        *,
        summary: str | None,
        dropped: Iterable[MessageDraft] | None,
        tokens_before: Any = None,
        trigger: Any = None,
        summary_at: int | None = None,
        cleared: Iterable[MessageDraft] = (),
        cleared_text: str = "",
        has_opaque_summary: bool = False,
        at: int | None = None,
    ) -> dict[str, Any]:
        """Adds a compaction that the agent made; the fields are those of ``RecordedCompaction``.

        It fired at this place of the log, or after the first ``at`` messages. A message that an earlier
        compaction dropped is not dropped again. The event is returned: a summary that the log holds further down can
        be put in under ``summary``.
        """
        gone = None
        if dropped is not None:
            gone = [draft for draft in dropped if id(draft) not in self._gone]
            self._gone.update(id(draft) for draft in gone)
        event = {
            "at": len(self.drafts) if at is None else at,
            "summary": summary or None,
            "dropped": gone,
            "tokens_before": count_or_none(tokens_before),
            "trigger": trigger if isinstance(trigger, str) else None,
            "summary_at": summary_at,
            "cleared": list(cleared),
            "cleared_text": cleared_text,
            "has_opaque_summary": has_opaque_summary,
        }
        self._compactions.append(event)
        if summary or has_opaque_summary or not event["cleared"]:
            # A summary stands in the context as a message of the user.
            self.leave_out(RECORDED_SUMMARY, "user" if summary else None)
        return event

    def take_back(self, start: int, reason: str) -> None:
        """Takes back the messages from position ``start`` on, and the compactions since; they count as left out."""
        gone = self.drafts[start:]
        del self.drafts[start:]
        for event in [event for event in self._compactions if event["at"] > start]:
            self._compactions.remove(event)
            self._gone.difference_update(id(draft) for draft in event["dropped"] or ())
        self._gone.difference_update(map(id, gone))
        self.n_inherited += len(gone) if reason == INHERITED else 0
        account = self.source.account
        for draft in gone:
            self.left_out[reason] += 1 + len(draft.calls)
            account.aside[draft.role, reason] += 1
            if draft.calls:
                account.aside["tool_call", reason] += len(draft.calls)

    def build(
        self,
        format: str,
        native_id: str | None,
        *,
        identity: Collection[str] = (),
        parent_session_id: str | None = None,
        is_fork: bool = False,
    ) -> list[Transcript]:
        """The one transcript; none when nothing was said: the source then says what there was instead.

        Args:
            format: Name of the format, first part of the session's id.
            native_id: The id that the log gives the session; without one the id comes from the first messages.
            identity: What else tells this session from one with the same first messages (a response's id).
            parent_session_id: The session that started this one, or that it was forked from.
            is_fork: It was forked from that session.
        """
        self._leave_empty()
        if not self.drafts:
            if self.left_out and not self.source.set_aside:
                counts = ", ".join(f"{count} {reason}" for reason, count in sorted(self.left_out.items()) if count)
                self.source.quarantine(None, f"no message in it: {counts}")
            return []
        ordered = self._order()
        for seq, draft in enumerate(ordered):
            draft.seq = seq
            draft.timestamp = self._held_time(draft.timestamp)
        self.started_at, self.ended_at = self._held_time(self.started_at), self._held_time(self.ended_at)
        messages = tuple(draft.message(self._names) for draft in ordered)
        typed = next((draft for draft in ordered if draft.typed and draft.texts), None)
        title = self.title or (first_line("\n".join(typed.texts)) if typed else None)
        built = Transcript(
            session_id=f"{format}-{plain_id(native_id) or fingerprint(messages, identity)}",
            messages=messages,
            source_format=format,
            source_path=self.source.input.label,
            title=first_line(title) if title else None,
            started_at=self.started_at or next((m.timestamp for m in messages if m.timestamp), None),
            ended_at=self.ended_at or next((m.timestamp for m in reversed(messages) if m.timestamp), None),
            model=self.model,
            cwd=self.cwd,
            parent_session_id=parent_session_id,
            forked_at=self.n_inherited if is_fork and parent_session_id else None,
            n_inherited=self.n_inherited,
            task_type=self.task_type,
            resolved=self.resolved,
            exit_status=first_line(self.exit_status) if self.exit_status else None,
            usage=sum_usages(self._usage.values()),
            compactions=tuple(self._compaction(event) for event in self._compactions),
            set_aside={reason: count for reason, count in sorted(self.left_out.items()) if count},
        )
        return [built]

    def _leave_empty(self) -> None:
        """Leaves out responses that say nothing and call nothing: a request that failed or was stopped."""
        empty = {id(draft) for draft in self.drafts if draft.is_empty_response}
        if not empty:
            return
        gone: set[int] = set()
        for event in self._compactions:
            before = self.drafts[: event["at"]]
            gone.update(map(id, event["dropped"] or ()))
            if event["summary_at"] is not None:
                kept = [draft for draft in before if id(draft) not in gone][: event["summary_at"]]
                event["summary_at"] -= sum(id(draft) in empty for draft in kept)
            event["at"] -= sum(id(draft) in empty for draft in before)
            if event["dropped"] is not None:
                event["dropped"] = [draft for draft in event["dropped"] if id(draft) not in empty]
        self.drafts = [draft for draft in self.drafts if id(draft) not in empty]
        self.left_out[EMPTY] += len(empty)
        self.source.account.aside["assistant", EMPTY] += len(empty)

    def _held_time(self, text: str | None) -> str | None:
        """A recorded time; one that no clock holds is set aside."""
        if text is None or utc_time(text) is not None:
            return text
        self.leave_out(NO_TIME)
        return None

    def _order(self) -> list[MessageDraft]:
        """The messages with every result behind its call: a few logs have a result's line before its call's."""
        holder: dict[str, int] = {}
        for at, draft in enumerate(self.drafts):
            for call in draft.calls:
                holder.setdefault(call.id, at)
        early: dict[int, list[MessageDraft]] = {}
        for at, draft in enumerate(self.drafts):
            if draft.role == "tool" and draft.tool_call_id is not None and holder.get(draft.tool_call_id, -1) > at:
                early.setdefault(holder[draft.tool_call_id], []).append(draft)
        if not early:
            return self.drafts
        moved = {id(draft) for drafts in early.values() for draft in drafts}
        ordered: list[MessageDraft] = []
        for at, draft in enumerate(self.drafts):
            if id(draft) not in moved:
                ordered.append(draft)
            ordered += early.get(at, ())
        return ordered

    def _compaction(self, event: dict[str, Any]) -> RecordedCompaction:
        before = self.drafts[: event["at"]]
        dropped = event["dropped"]
        return RecordedCompaction(
            at_seq=max((draft.seq + 1 for draft in before), default=0),
            summary=event["summary"],
            dropped=None if dropped is None else tuple(sorted(draft.seq for draft in dropped)),
            tokens_before=event["tokens_before"],
            trigger=event["trigger"],
            summary_at=event["summary_at"],
            cleared=tuple(sorted(draft.seq for draft in event["cleared"])),
            cleared_text=event["cleared_text"],
            has_opaque_summary=event["has_opaque_summary"],
        )


def _id(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int)) and value != "" else None

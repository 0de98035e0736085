"""Pi coding agent sessions: JSON lines, linear in version 1, a tree of entries (``id``, ``parentId``) since.

OpenClaw, which is built on pi, writes the same and some entries of its own: ``leaf`` goes to another branch, ``reset``
begins the history anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from compaction.transcript import Transcript, Usage
from flows.sources.reading.account import Kind
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import block_text, iso_time, text_of
from flows.sources.reading.branches import rewound_ids
from flows.sources.reading.kinds import has_only, kind_of_unknown, knows_most
from flows.sources.reading.session import (
    BOOKKEEPING,
    DUPLICATE,
    INHERITED,
    REWOUND,
    UNKNOWN,
    MessageDraft,
    SessionDraft,
)
from flows.sources.reading.siblings import load_first, sibling_path
from flows.sources.reading.usage import from_parts
from flows.sources.reading.values import as_dict, first_text, need_list, need_object, nested, objects_in, text_or_none
from flows.support.clock import utc_time

NAME = "pi"
_LOG_NAME = re.compile(r".*_([^_]+)\.jsonl")
_ROLES = {"user", "assistant", "toolResult", "bashExecution"}
_BESIDE = {"model_change", "thinking_level_change", "custom", "label", "leaf"}
_MIRRORS = ("delivery-mirror", "gateway-injected")
"""Models that OpenClaw names for copies of what it sent to a channel."""
_FOR_PERSON = "shown to the person only"
_KINDS: dict[str, Kind] = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "bashExecution": "user",
    "custom": "user",
    "hookMessage": "user",
}
_BLOCKS = frozenset({"text", "thinking", "image", "toolCall", "toolResult"})
_BRANCH = "Summary of a branch that was left:\n\n"


def detect(head: Head) -> bool:
    """Whether a record is pi's header or one of its messages."""
    for record in head.records:
        message = record.get("message")
        if record.get("type") == "session" and "id" in record and "cwd" in record:
            return True
        if record.get("type") == "message" and isinstance(message, dict) and message.get("role") in _ROLES:
            return knows_most(_is_own, head.records)
    return False


def _is_own(record: Record) -> bool:
    """Whether a record has no blocks of another agent's messages (Factory Droid's have the same envelope)."""
    return has_only(as_dict(record.get("message")), _BLOCKS)


def read(source: Source) -> Iterator[Transcript]:
    """The session of the file, along the branch that was live at its end."""
    entries = list(_slim_entries(source))
    reading = _Reading(source)
    tree = [_link(entry) for _, entry in entries if entry.get("type") != "session" and not _is_beside(entry)]
    reading.not_live = rewound_ids(tree, "id", "parentId")
    for where, entry in entries:
        source.guard(reading.take, where, entry)
    session, header = reading.session, reading.header
    session.cwd = text_or_none(header.get("cwd"))
    session.title = session.title or text_or_none(header.get("name"))
    session.model = session.model or text_or_none(header.get("modelId"))
    # The header of a branched session is younger than the messages that it copied.
    times = [iso_time(header.get("timestamp")), *(draft.timestamp for draft in session.drafts[:1])]
    session.started_at = min(filter(None, times), default=None)
    parent = f"{NAME}-{reading.parent}" if reading.parent else None
    yield from session.build(NAME, text_or_none(header.get("id")), parent_session_id=parent, is_fork=True)


def _link(entry: Record) -> Record:
    """An entry with the one before it: from a ``leaf`` the way leads to its target."""
    return {**entry, "parentId": entry.get("targetId")} if entry.get("type") == "leaf" else entry


def _is_beside(entry: Record) -> bool:
    """Whether an entry stands beside the branch, which goes on without it."""
    return entry.get("appendMode") == "side" and entry.get("type") != "leaf"


def _is_for_person(entry: Record) -> bool:
    """Whether OpenClaw keeps a message from the model."""
    message = as_dict(entry.get("message"))
    is_mirror = message.get("provider") == "openclaw" and message.get("model") in _MIRRORS
    is_hidden = message.get("excludeFromContext") is True and message.get("role") != "bashExecution"
    return is_mirror or is_hidden or _is_beside(entry)


def _slim_entries(source: Source) -> Iterator[tuple[int, Record]]:
    """The entries without what tools keep for the screen (a diff, the whole output again)."""
    for where, entry in source.records():
        message = entry.get("message")
        if isinstance(message, dict):
            message.pop("details", None)
        yield where, entry


def _origin(source: Source, header: Record) -> tuple[str | None, bool]:
    """The id of the session that a fork comes from, and whether its log stands beside this one.

    A fork names it by the path of its log, whose name ends in the id; older versions by the id.
    """
    named = first_text(header.get("parentSession"), header.get("branchedFrom"))
    if named is None or not re.search(r"[/\\]|\.jsonl\Z", named):
        return named, False
    name = re.split(r"[/\\]", named)[-1]
    path = sibling_path(source, name)
    if path is not None:
        return text_or_none(nested(load_first(path), "id")), True
    found = _LOG_NAME.fullmatch(name)
    return (found[1] if found else None), False


class _Reading:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.header: Record = {}
        self.parent: str | None = None
        self.given_before: datetime | None = None
        """What is older was copied from the log beside this one."""
        self.not_live: set[str] = set()
        self.seen: set[str] = set()
        self.starts: list[int] = []
        """For each entry of the file how many messages came before it."""
        self.places: dict[str, int] = {}

    def take(self, where: int, entry: Record) -> None:
        session = self.session
        kind, own = entry.get("type"), entry.get("id")
        self.starts.append(len(session.drafts))
        if kind == "session":
            if not self.header:
                self.header = entry
                self.parent, is_beside = _origin(self.source, entry)
                self.given_before = utc_time(iso_time(entry.get("timestamp"))) if is_beside else None
            session.leave_out(BOOKKEEPING)
            return
        if isinstance(own, str):
            if own in self.seen:
                self._leave_out(DUPLICATE, entry)
                return
            self.seen.add(own)
            self.places[own] = len(session.drafts)
            if own in self.not_live:
                self._leave_out(REWOUND, entry)
                return
        ref, time = self.source.ref(where), iso_time(entry.get("timestamp"))
        at = utc_time(time) if self.given_before else None
        if at and self.given_before and at < self.given_before:
            self._leave_out(INHERITED, entry)
            return
        if _is_for_person(entry):
            self._leave_out(_FOR_PERSON, entry)
        elif kind == "message":
            self._message(entry.get("message"), ref, time)
        elif kind == "custom_message":
            session.say("user", text_of(entry.get("content")), ref, time, is_harness=True)
        elif kind in ("compaction", "reset"):
            self._compaction(entry)
        elif not isinstance(kind, str):
            raise MalformedError("an entry without a type")
        elif kind == "session_info":
            session.title = text_or_none(entry.get("name")) or session.title
            session.leave_out(BOOKKEEPING)
        elif kind == "branch_summary":
            self._branch_summary(entry, ref, time)
        elif kind in _BESIDE:
            session.leave_out(BOOKKEEPING)
        else:
            session.leave_out(UNKNOWN, kind_of_unknown(entry))

    def _leave_out(self, reason: str, entry: Record) -> None:
        """Counts an entry as left out, under the kind of message that it would have become."""
        kind, message = entry.get("type"), entry.get("message")
        if kind == "message" and isinstance(message, dict):
            role = _KINDS.get(str(message.get("role")))
            self.session.leave_out(reason, role)
            if role == "assistant":
                calls = [block for block in objects_in(message.get("content")) if block.get("type") == "toolCall"]
                self.session.leave_out(reason, "tool_call", len(calls))
        else:
            says = kind in ("custom_message", "compaction", "branch_summary")
            self.session.leave_out(reason, "user" if says else None)

    def _branch_summary(self, entry: Record, ref: str, time: str | None) -> None:
        """The summary that pi gives the model of an abandoned branch; the branch itself is left out."""
        text = text_of(entry.get("summary"))
        self.session.use(None, _usage(entry.get("usage")))
        if text:
            self.session.say("user", _BRANCH + text, ref, time)
        else:
            self.session.leave_out(BOOKKEEPING)

    def _message(self, message: Any, ref: str, time: str | None) -> None:
        message = need_object(message, "message")
        session, role = self.session, message.get("role")
        if role == "user":
            session.say("user", text_of(message.get("content")), ref, time, typed=True)
        elif role == "assistant":
            self._assistant(message, session.respond(None, ref, time))
        elif role == "toolResult":
            text, failed = text_of(message.get("content")), message.get("isError") is True
            session.result(message.get("toolCallId"), text, ref, time, is_error=failed, name=message.get("toolName"))
        elif role == "bashExecution":
            if message.get("excludeFromContext"):
                session.leave_out("command of the person, kept from the model", "user")
            else:
                session.say("user", _bash(message), ref, time)
        elif role in ("custom", "hookMessage"):
            session.say("user", text_of(message.get("content")), ref, time, is_harness=True)
        else:
            raise MalformedError(f"role is {role!r}, expected user, assistant, toolResult or bashExecution")

    def _assistant(self, message: Record, draft: MessageDraft) -> None:
        self.session.model = self.session.model or text_or_none(message.get("model"))
        self.session.use(None, _usage(message.get("usage")))
        content = message.get("content")
        blocks = [content] if isinstance(content, str) else content or []
        for block in need_list(blocks, "content", "a list of blocks"):
            kind = nested(block, "type")
            if kind == "toolCall":
                self.session.call(draft, block.get("id"), block.get("name"), block.get("arguments"))
            elif kind == "thinking":
                draft.add_reasoning(block.get("thinking"))
            else:
                draft.add_text(block_text(block) or "")

    def _compaction(self, entry: Record) -> None:
        """The messages before the first kept entry left; its index counts the entries of the file from the header."""
        first, own = entry.get("firstKeptEntryIndex"), entry.get("firstKeptEntryId")
        self.session.use(None, _usage(entry.get("usage")))
        start: int | None = None
        if isinstance(first, int) and 0 <= first < len(self.starts):
            start = self.starts[first]
        elif isinstance(own, str):
            start = self.places.get(own)
        elif entry.get("type") == "reset":
            start = len(self.session.drafts)
        self.session.compacted(
            summary=text_or_none(entry.get("summary")),
            dropped=None if start is None else self.session.drafts[:start],
            tokens_before=entry.get("tokensBefore"),
            trigger="reset" if entry.get("type") == "reset" else None,
            summary_at=0,  # pi puts the summary before what it keeps
        )


def _usage(usage: Any) -> Usage | None:
    usage = as_dict(usage)
    own, read, written, output = (usage.get(key) for key in ("input", "cacheRead", "cacheWrite", "output"))
    cost = usage.get("cost")
    return from_parts(own, read, written, output, cost.get("total") if isinstance(cost, dict) else cost)


def _bash(message: Record) -> str:
    """A command that the person ran, as pi tells it to the model."""
    code = message.get("exitCode")
    text = f"Ran `{message.get('command', '')}`\n{text_of(message.get('output'))}"
    return f"{text}\n\nCommand exited with code {code}" if isinstance(code, int) and code else text


FORMAT = SourceFormat(
    NAME,
    "pi coding agent or OpenClaw session (one JSON object a line)",
    "a first line of type session with id and cwd, or lines of type message with pi's roles",
    detect,
    read,
    order=50,
    version=4,
)

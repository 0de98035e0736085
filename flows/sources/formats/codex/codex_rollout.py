"""Codex CLI rollouts: JSON lines ``{timestamp, type, payload}`` round items of the Responses API.

``response_item`` lines are the model's context; ``event_msg`` lines repeat them for the screen. Items of one response
carry no common id: assistant items in a row are one response until an output or a prompt follows. What a sub-agent or
a fork was given of another session's history is left out.
"""

from __future__ import annotations

import re
from typing import Any

from compaction.transcript import Transcript, Usage
from flows.sources.formats.codex._code_mode import add_what_ran, is_program
from flows.sources.formats.codex._lineage import Lineage
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import first_line, iso_time, text_of
from flows.sources.reading.kinds import kind_of_unknown
from flows.sources.reading.responses import ITEM_CALLS, ROLES, Items, is_item
from flows.sources.reading.session import (
    BEHIND_COMPACTION,
    BOOKKEEPING,
    INHERITED,
    REWOUND,
    UNKNOWN,
    MessageDraft,
    SessionDraft,
)
from flows.sources.reading.usage import from_openai, less
from flows.sources.reading.values import as_dict, first_text, need_object, nested, objects_in, text_or_none

NAME = "codex_rollout"
_ENVELOPES = {"session_meta", "turn_context", "response_item", "event_msg", "compacted"}
_BESIDE = {"world_state", "inter_agent_communication", "inter_agent_communication_metadata", "token_usage_record"}
_BARE_ITEMS = {"message", "reasoning", *ITEM_CALLS, *(f"{call}_output" for call in ITEM_CALLS)}
_BESIDE_TURNS = ("# AGENTS.md instructions", "<")
_INJECTED = (*_BESIDE_TURNS, "# Context from my IDE setup")
_HARNESS = (
    *("# AGENTS.md instructions", "<user_instructions>", "<environment_context>", "<permissions instructions>"),
    *("<skill>", "<hook_prompt", "<turn_aborted>", "<subagent_notification>"),
)
_REQUEST = "## My request for Codex:"
_CWD = re.compile(r"<environment_context>.{0,2000}?<cwd>([^<\n]+)</cwd>", re.DOTALL)


def detect(head: Head) -> bool:
    """Whether one of the first records is an envelope of a rollout, or the bare items of an old one."""
    for record in head.records:
        if str(record.get("type")) in _ENVELOPES and isinstance(record.get("payload"), dict):
            return True
        if record.get("record_type") == "state":
            return True
    # Bare items alone are a log of the API: the header of an old rollout tells it from one.
    has_header = any("type" not in record and "id" in record and "timestamp" in record for record in head.records)
    return has_header and any(
        str(record.get("type")) in _BARE_ITEMS
        and ("call_id" in record or str(record.get("role")) in ROLES)
        and "message" not in record
        for record in head.records
    )


def read(source: Source) -> list[Transcript]:
    """The session of the file."""
    rollout = _Rollout(source)
    source.each(rollout.take)
    rollout.finish()
    lineage = rollout.lineage
    parent = f"{NAME}-{lineage.parent}" if lineage.parent else None
    return rollout.session.build(NAME, rollout.native, parent_session_id=parent, is_fork=lineage.is_fork)


class _Rollout:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.native: str | None = None
        self.lineage = Lineage()
        self.given_from = 0
        """Where the messages that were copied from another session begin."""
        self.items = self._items()
        self.program: MessageDraft | None = None
        """The last response that called a program."""
        self.instructions: MessageDraft | None = None
        self.tokens: int | None = None
        self.used = 0
        self.runs = 1
        self.totals: Usage | None = None
        self.given_totals: Usage | None = None
        """What the other session had used when its history was copied."""

    def _items(self) -> Items:
        return Items(self.session, has_compactions=False, injected=_INJECTED, harness=_HARNESS)

    def take(self, where: int, record: Record) -> None:
        kind, payload, time = record.get("type"), record.get("payload"), iso_time(record.get("timestamp"))
        if kind in _ENVELOPES:
            payload = need_object(payload, "payload")
        elif kind is None and ("instructions" in record or "record_type" in record):
            kind, payload = ("session_meta" if "id" in record else "event_msg"), record
        else:
            kind, payload = ("response_item" if kind in _BARE_ITEMS else str(kind)), record
        if self.native is not None:
            self._follow(kind, payload, record.get("ordinal"), time)
        if kind == "response_item":
            self.items.take(payload, self.source.ref(where), time)
            if is_program(payload):
                self.program = self.items.response
        elif kind == "session_meta":
            self._meta(payload, self.source.ref(where), time)
        elif kind == "compacted":
            self._note_compaction(payload, self.source.ref(where), time)
        elif kind == "inter_agent_communication" and isinstance(payload.get("payload"), dict):
            self.items.take({**payload["payload"], "type": "agent_message"}, self.source.ref(where), time)
        elif kind not in _ENVELOPES and _holds_message(payload):
            raise MalformedError(f"a line of the unknown type {kind!r} holds a message")
        elif self.program is None or not add_what_ran(
            self.session, self.program, payload.get("item"), self.source.ref(where), time
        ):
            if kind in _ENVELOPES or kind in _BESIDE:
                self.session.leave_out(BOOKKEEPING)
            else:
                self.session.leave_out(UNKNOWN, kind_of_unknown(payload))
            self._event(kind, payload)

    def _follow(self, kind: str, payload: Record, ordinal: Any, time: str | None) -> None:
        """Takes back what was copied from another session when the rollout's own work begins."""
        before = self.lineage.is_copied
        now = self.lineage.follow(kind, payload, ordinal, time)
        if before is False and now:
            self.given_from = len(self.session.drafts)
        elif self.lineage.begins:
            self.items = self._items()
            self.program = self.tokens = self.session.model = None
            self.session.take_back(self.given_from, INHERITED)
            self.session.forget_usage()
            self.given_totals = self.totals

    def finish(self) -> None:
        """Takes from the prompts what only they say: the folder (oldest versions), requests made in an editor."""
        session = self.session
        prompts = ["\n".join(draft.texts) for draft in session.drafts if draft.role == "user"]
        if session.cwd is None:
            session.cwd = next((found[1] for text in prompts[:5] if (found := _CWD.search(text))), None)
        asked = next((text for text in prompts if not text.startswith(_BESIDE_TURNS)), "")
        if asked.startswith(_INJECTED) and _REQUEST in asked:
            session.title = first_line(asked.partition(_REQUEST)[2])

    def _meta(self, meta: Record, ref: str, time: str | None) -> None:
        if self.native is not None:
            self.session.leave_out(BOOKKEEPING)  # introduces history that a fork copied; the first names the file
            return
        session = self.session
        self.native = text_or_none(meta.get("id"))
        session.cwd = text_or_none(meta.get("cwd"))
        session.started_at = iso_time(meta.get("timestamp")) or time
        self.lineage.begin(meta, time)
        base = meta.get("base_instructions")
        text = first_text(nested(base, "text"), base, meta.get("instructions"))
        if text:
            self.instructions = session.say("system", text, ref, time)
        else:
            session.leave_out(BOOKKEEPING)
        self.given_from = len(session.drafts)

    def _event(self, kind: str, payload: Record) -> None:
        if kind == "turn_context":
            self.session.model = self.session.model or text_or_none(payload.get("model"))
            self.session.cwd = self.session.cwd or text_or_none(payload.get("cwd"))
        elif payload.get("type") == "thread_rolled_back":
            self._rolled_back(payload.get("num_turns"))
        elif payload.get("type") == "token_count":
            tokens = nested(payload, "info", "last_token_usage", "total_tokens")
            self.tokens = tokens if isinstance(tokens, int) else self.tokens
            self._use(nested(payload, "info", "total_token_usage"))

    def _rolled_back(self, count: Any) -> None:
        """Takes back the last turns: the person's prompts and everything after them."""
        drafts = self.session.drafts
        turns = [
            at
            for at, draft in enumerate(drafts)
            if draft.role == "user" and not "\n".join(draft.texts).startswith(_BESIDE_TURNS)
        ]
        if isinstance(count, int) and count > 0 and turns:
            self.items.end_response()
            self.session.take_back(turns[max(len(turns) - count, 0)], REWOUND)

    def _use(self, totals: Any) -> None:
        """Adds the totals so far, which every report repeats; a restarted client may count from 0 again."""
        usage = from_openai(totals)
        if usage is None:
            return
        used = (usage.input_tokens or 0) + (usage.output_tokens or 0)
        if used < self.used:  # a sub-agent counts from 0 too, a fork goes on counting
            self.runs, self.given_totals = self.runs + 1, None
        self.used, self.totals = used, usage
        self.session.use(f"run {self.runs}", less(usage, self.given_totals) if self.given_totals else usage)

    def _note_compaction(self, payload: Record, ref: str, time: str | None) -> None:
        """The context was replaced by ``replacement_history``; without one the log does not say what stayed."""
        self.items.end_response()
        history = payload.get("replacement_history")
        if isinstance(history, list) and not any(_is_of_session(draft) for draft in self.session.drafts):
            self._begin_behind(payload, objects_in(history), ref, time)
            return
        dropped: list[MessageDraft] | None = None
        if isinstance(history, list):
            kept = {(ROLES.get(str(item.get("role"))), text_of(item.get("content"))) for item in objects_in(history)}
            dropped = [
                draft
                for draft in self.session.drafts
                if draft is not self.instructions and (draft.role, "\n".join(draft.texts)) not in kept
            ]
        summary = text_or_none(payload.get("message"))
        event = self.session.compacted(
            summary=summary, dropped=dropped, tokens_before=self.tokens, has_opaque_summary=summary is None
        )
        if dropped is not None:  # Codex puts the summary behind what it keeps
            event["summary_at"] = self.session.number_kept()

    def _begin_behind(self, payload: Record, history: list[Record], ref: str, time: str | None) -> None:
        """The log begins behind a compaction: what that kept stands nowhere else, and is taken as messages."""
        summary = text_or_none(payload.get("message"))
        if not self.lineage.is_copied:  # else it is the other session that begins so
            self.session.leave_out(BEHIND_COMPACTION)
            self.session.compacted(summary=summary, dropped=(), at=0, has_opaque_summary=summary is None)
        said = {"\n".join(draft.texts) for draft in self.session.drafts}
        for item in history:
            text = text_of(item.get("content"))
            if text not in said and not (summary and summary in text):
                self.items.take(item, ref, time)
        self.items.end_response()


def _is_of_session(draft: MessageDraft) -> bool:
    """Whether a message is more than a client's start: instructions, rules, the environment."""
    return draft.role != "system" and draft.author is None


def _holds_message(record: Record) -> bool:
    """Whether a line of an unknown type may hold a message."""
    payload = as_dict(record.get("payload"))
    lists = [value for value in payload.values() if isinstance(value, list)]
    return is_item(payload) or any(is_item(item) for value in lists for item in value[:20])


FORMAT = SourceFormat(
    NAME,
    "Codex CLI rollout (one JSON object a line, Responses API items)",
    "lines of type session_meta, turn_context, response_item or event_msg with a payload",
    detect,
    read,
    order=30,
    version=4,
)

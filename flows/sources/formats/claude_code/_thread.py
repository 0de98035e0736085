"""One thread of a Claude Code log (the session itself or a sub-agent): its lines in file order become messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flows.sources.reading.base import MalformedError, Record, Source
from flows.sources.reading.blocks import block_text, iso_time, text_of
from flows.sources.reading.claude_lines import (
    is_harness,
    is_local,
    is_machine_text,
    is_result,
    kinds_of,
    queued_prompt,
    response_id,
)
from flows.sources.reading.session import BOOKKEEPING, MessageDraft, SessionDraft
from flows.sources.reading.values import as_dict, as_list, need_list, nested, text_or_none

CLEARED_TEXT = "[Old tool result content cleared]"
"""The text with which Claude Code replaces a tool result that it removes from the context."""


class ClaudeThread:
    """Second pass over the lines of one thread."""

    def __init__(self, source: Source, places: Mapping[str, int]) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.places = places
        """Position in the file of every line that has a uuid."""
        self.by_uuid: dict[str, MessageDraft] = {}
        self._boundary: dict[str, Any] | None = None
        self._left: set[str] = set()

    def leave_out(self, reason: str, record: Record) -> None:
        """Counts all that a line would have been as left out."""
        for kind, response in kinds_of(record):
            if response is not None:
                if response in self._left or self.session.has_response(response):
                    continue  # another piece of a message that is counted
                self._left.add(response)
            self.session.leave_out(reason, kind)

    def take(self, where: int, record: Record) -> None:
        session = self.session
        kind, uuid = record["type"], record.get("uuid")
        if session.cwd is None:
            session.cwd = text_or_none(record.get("cwd"))
        ref, time = self.source.ref(where), iso_time(record.get("timestamp"))
        if time is not None:  # lines are not in the order of their times
            session.started_at = min(session.started_at or time, time)
            session.ended_at = max(session.ended_at or time, time)
        before = len(session.drafts)
        if kind == "assistant":
            draft = self._assistant(record, ref, time)
        elif kind == "user":
            draft = self._user(record, ref, time)
        elif kind == "attachment":
            text = text_of(queued_prompt(record))
            draft = session.say("user", text, ref, time, typed=True, is_harness=is_harness(record))
        else:
            self._compaction(record)
            return
        if isinstance(uuid, str):
            found = draft or (session.drafts[before] if len(session.drafts) > before else None)
            if found is not None:
                self.by_uuid[uuid] = found

    def finish(self) -> None:
        """Notes a compaction that has no summary in the log."""
        self._note_compaction(None)

    def _assistant(self, record: Record, ref: str, time: str | None) -> MessageDraft | None:
        session, message = self.session, record["message"]
        model = message.get("model")
        if model == "<synthetic>" or record.get("isApiErrorMessage"):
            self.leave_out("synthetic assistant message", record)
            return None
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        content = need_list(content, "message.content", "a string or a list of blocks")
        if session.model is None:
            session.model = text_or_none(model)
        key = response_id(record)
        session.use(key, message.get("usage"))
        draft = session.respond(key, ref, time)
        for block in content:
            kind = nested(block, "type")
            if not isinstance(kind, str):
                draft.add_text(block_text(block) or "")
            elif kind.endswith("tool_use"):
                session.call(draft, block.get("id"), block.get("name"), block.get("input"))
            elif kind.endswith("tool_result"):
                self._result(block, ref, time)
            elif kind == "thinking":
                draft.add_reasoning(block.get("thinking"))
            else:
                draft.add_text(block_text(block) or "")
        return draft

    def _result(self, block: Record, ref: str, time: str | None) -> None:
        text = text_of(block.get("content"))
        self.session.result(block.get("tool_use_id"), text, ref, time, is_error=block.get("is_error") is True)

    def _user(self, record: Record, ref: str, time: str | None) -> MessageDraft | None:
        session, content = self.session, record["message"].get("content")
        if content is None:
            raise MalformedError("message has no content")
        if record.get("isCompactSummary") or (self._boundary is not None and record.get("isSynthetic")):
            self._note_compaction(text_of(content))
            return None
        texts: list[str] = []
        for block in content if isinstance(content, list) else [content]:
            if is_result(block):
                self._result(block, ref, time)
            else:
                texts.append(block_text(block) or "")
        if not texts:
            if not content:
                session.leave_out(BOOKKEEPING)
            return None
        text = "\n".join(texts)
        if is_local(text):
            session.leave_out("local command", "user")
            return None
        typed = not text.startswith(("<", "[Request interrupted"))
        is_machine = is_harness(record) or is_machine_text(text)
        return session.say("user", text, ref, time, typed=typed, is_harness=is_machine)

    def _compaction(self, record: Record) -> None:
        self._note_compaction(None)
        if record.get("subtype") == "compact_boundary":
            # The summary is on a later line, with what was kept counted from here.
            kept, comes_first = self._find_preserved(as_dict(record.get("compactMetadata")), record.get("uuid"))
            self._boundary = {"record": record, "at": len(self.session.drafts), "kept": kept, "first": comes_first}
            self.session.leave_out(BOOKKEEPING)
            return
        data = as_dict(record.get("microcompactMetadata"))
        gone = set(map(str, as_list(data.get("compactedToolIds"))))
        cleared = [draft for draft in self.session.drafts if draft.role == "tool" and draft.tool_call_id in gone]
        self.session.leave_out("recorded removal of old tool results")
        if cleared:
            self.session.compacted(
                summary=None,
                dropped=(),
                cleared=cleared,
                cleared_text=CLEARED_TEXT,
                tokens_before=data.get("preTokens"),
                trigger=data.get("trigger"),
            )

    def _note_compaction(self, summary: str | None) -> None:
        """Notes the compaction whose boundary came last, or one without a boundary when there is a summary."""
        boundary, self._boundary = self._boundary, None
        drafts = self.session.drafts
        if boundary is None:
            if summary is not None:
                self.session.compacted(summary=summary, dropped=drafts, summary_at=0)
            return
        data = as_dict(boundary["record"].get("compactMetadata"))
        kept: set[int] = boundary["kept"]
        self.session.compacted(
            summary=summary,
            dropped=[draft for draft in drafts[: boundary["at"]] if id(draft) not in kept],
            tokens_before=data.get("preTokens"),
            trigger=data.get("trigger"),
            summary_at=len(kept) if boundary["first"] else 0,
            has_opaque_summary=not summary,
            at=boundary["at"],
        )

    def _find_preserved(self, data: Record, boundary: Any) -> tuple[set[int], bool]:
        """Ids of the messages before the boundary that newer versions keep in the context, and whether they lead it.

        Their anchor is the summary, or the boundary itself when only later messages were summarised.
        """
        kept: set[int] = set()
        messages, segment = data.get("preservedMessages"), as_dict(data.get("preservedSegment"))
        uuids = as_list(messages.get("uuids") if isinstance(messages, dict) else messages)
        kept.update(id(self.by_uuid[uuid]) for uuid in uuids if isinstance(uuid, str) and uuid in self.by_uuid)
        first, last = (self.places.get(str(segment.get(key)), -1) for key in ("headUuid", "tailUuid"))
        if 0 <= first <= last:
            kept.update(id(draft) for uuid, draft in self.by_uuid.items() if first <= self.places[uuid] <= last)
        anchor = segment.get("anchorUuid") or nested(messages, "anchorUuid")
        return kept, bool(kept) and isinstance(anchor, str) and anchor == boundary

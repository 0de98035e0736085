"""One agent's part of a stream of OpenHands V0 events, with what was taken out of its context."""

from __future__ import annotations

from itertools import islice
from typing import Any

from compaction.transcript import Transcript, Usage
from flows.sources.formats.openhands._v0_fields import is_plain
from flows.sources.reading.base import Record, Source
from flows.sources.reading.blocks import text_of
from flows.sources.reading.session import BOOKKEEPING, MessageDraft, SessionDraft
from flows.sources.reading.values import objects_in, text_or_none

_ANSWERS = {"browse_interactive": "browse", "call_tool_mcp": "mcp"}
_RECENT = 20
"""Calls without a result among which an observation that names none finds its own."""
_KNOWLEDGE = ("repo_instructions", "additional_agent_instructions", "conversation_instructions")


class Level:
    """One agent's part of the stream: the main agent's, or a delegate's."""

    def __init__(self, source: Source, parent: Level | None = None, name: str = "") -> None:
        self.session = SessionDraft(source)
        self.parent = parent
        self.name = name
        self.built: Transcript | None = None
        self.calls: dict[Any, str] = {}  # id of the action → id of its call
        self.open: dict[str, str] = {}  # id of a call without a result → action
        self.of_response: dict[tuple[str, str], str] = {}
        self.taken: set[str] = set()
        self.by_person: set[Any] = set()
        self.view: list[tuple[Any, MessageDraft | None]] = []
        self.forgotten: set[Any] = set()
        self.usage: dict[str, Usage | None] = {}

    def find_open_call(self, kind: str, *, is_numbered: bool) -> str | None:
        """The last call without a result that an observation can answer which names none.

        Args:
            kind: What was observed.
            is_numbered: Whether the event has an id: an error then tells which action it answers.
        """
        for call, action in islice(reversed(self.open.items()), _RECENT):
            is_failure = kind in ("error", "user_rejected") and action != "finish" and not is_numbered
            if is_failure or _ANSWERS.get(action, action) == kind:
                return call
        return None

    def take_recall(self, ref: str, time: str | None, extras: Record) -> None:
        """Adds knowledge from the harness to the prompt that asked for it, as the model sees it."""
        session = self.session
        session.leave_out(BOOKKEEPING)
        session.cwd = session.cwd or text_or_none(extras.get("working_dir"))
        texts = [text_of(extras.get(key)) for key in _KNOWLEDGE]
        texts += [text_of(item.get("content")) for item in objects_in(extras.get("microagent_knowledge"))]
        prompt = next((draft for draft in reversed(session.drafts) if draft.role == "user"), None)
        for text in filter(None, texts):
            prompt = prompt or session.say("user", "", ref, time)
            prompt.add_text(text)

    def compact(self, args: Record) -> None:
        """Notes a compaction. It drops messages without remaining events; the offset counts events of the view."""
        ids, first, last = (args.get(f"forgotten_event{key}") for key in ("_ids", "s_start_id", "s_end_id"))
        is_known = True
        if isinstance(ids, list):
            self.forgotten |= {one for one in ids if is_plain(one)}
        elif isinstance(first, int) and isinstance(last, int):
            self.forgotten |= {own for own, _ in self.view if isinstance(own, int) and first <= own <= last}
        else:
            is_known = False
        dropped = _unseen_messages(self.view, self.forgotten)
        offset, summary = args.get("summary_offset"), text_or_none(args.get("summary"))
        before = None
        if summary is not None and isinstance(offset, int) and offset >= 0:
            kept = [draft for own, draft in self.view if own is None or own not in self.forgotten]
            before = len({id(draft) for draft in kept[:offset] if draft is not None and id(draft) not in dropped})
        self.session.compacted(summary=summary, dropped=dropped.values() if is_known else None, summary_at=before)


def _unseen_messages(view: list[tuple[Any, MessageDraft | None]], forgotten: set[Any]) -> dict[int, MessageDraft]:
    """The messages that the model no longer sees: no event of theirs is left, or a call or result of theirs is gone.

    The agent shows a response only with the results of all of its calls, and a result only with its response.
    """
    stay = {id(draft) for own, draft in view if own is None or own not in forgotten}
    messages = {id(draft): draft for _, draft in view if draft is not None}
    gone = {key: draft for key, draft in messages.items() if key not in stay}
    results = {draft.tool_call_id: draft for draft in messages.values() if draft.role == "tool"}
    for draft in messages.values():
        together = [draft, *(results[call.id] for call in draft.calls if call.id in results)]
        if any(id(one) in gone for one in together):
            gone.update((id(one), one) for one in together)
    return gone

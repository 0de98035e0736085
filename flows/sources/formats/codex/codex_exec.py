"""Output of ``codex exec --json``: an event a line, for items that begin and end. The prompt is not among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.codex._code_mode import what_ran
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.kinds import kind_of_unknown
from flows.sources.reading.session import BOOKKEEPING, UNKNOWN, MessageDraft, SessionDraft
from flows.sources.reading.streams import read_stream
from flows.sources.reading.usage import from_openai
from flows.sources.reading.values import as_dict, first_text, need_object, nested, text_or_none

NAME = "codex_exec"
_ITEM = ("item.started", "item.updated", "item.completed")
_BESIDE = ("turn.failed", "error", "item.plan.delta", "request_user_input")
_OLDER = {"assistant_message": "agent_message"}
_TEXTS = ("agent_message", "plan")


def detect(head: Head) -> bool:
    """Whether a record begins a thread, or tells of an item of it."""
    return any(map(_is_own, head.records))


def _is_own(record: Record) -> bool:
    kind, item = record.get("type"), as_dict(record.get("item"))
    if kind == "thread.started":
        return "thread_id" in record
    return kind in _ITEM and "id" in item and _kind(item) is not None


def _kind(item: Record) -> str | None:
    kind = first_text(item.get("type"), item.get("item_type"))
    return _OLDER.get(kind, kind) if kind is not None else None


def read(source: Source) -> Iterator[Transcript]:
    """The threads of the file."""
    return read_stream(source, NAME, _thread_in, _Thread)


def _thread_in(event: Record) -> str | None:
    return text_or_none(event.get("thread_id")) if event.get("type") == "thread.started" else None


class _Thread:
    """The responses of a thread: items in a row until something has ended."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.response: MessageDraft | None = None
        self.begun: dict[Any, str] = {}
        """Item → the id of its call."""
        self.plan: Any = None

    def take(self, where: int, event: Record) -> None:
        """Takes the next event."""
        kind = event.get("type")
        if kind in _ITEM:
            self._item(str(kind), need_object(event.get("item"), "item"), self.source.ref(where))
        elif kind in ("thread.started", "turn.started"):
            self.response, self.begun = None, {}  # each run numbers its items anew
            self.session.leave_out(BOOKKEEPING)
        elif kind == "turn.completed":
            # What the whole thread has used so far.
            self.session.use("thread", from_openai(event.get("usage")))
            self.session.leave_out(BOOKKEEPING)
        elif not isinstance(kind, str):
            raise MalformedError("an event without a type")
        else:
            self.session.leave_out(BOOKKEEPING if kind in _BESIDE else UNKNOWN, kind_of_unknown(event))

    def _item(self, event: str, item: Record, ref: str) -> None:
        session, kind = self.session, _kind(item)
        if kind is None:
            raise MalformedError("an item without a type")
        item = {**item, "type": kind}
        if kind == "todo_list":
            self._take_plan(item, ref)
        elif event == "item.updated" or (event == "item.started" and kind in (*_TEXTS, "reasoning")):
            session.leave_out(BOOKKEEPING)
        elif kind in _TEXTS:
            self._respond(ref).add_text(text_of(item.get("text")))
        elif kind == "reasoning":
            self._respond(ref).add_reasoning(item.get("text"))
        elif kind == "error":
            session.leave_out(BOOKKEEPING)
        else:
            self._call(event, item, ref)

    def _respond(self, ref: str) -> MessageDraft:
        if self.response is None:
            self.response = self.session.respond(None, ref)
        return self.response

    def _call(self, event: str, item: Record, ref: str) -> None:
        found = _ran(item)
        if found is None:
            begins = event == "item.started"  # it is told of again when it ends
            self.session.leave_out(BOOKKEEPING if begins else UNKNOWN, None if begins else kind_of_unknown(item))
            return
        name, arguments, text, failed = found
        own = self.begun.get(item.get("id"))
        if own is None:
            own = self.begun[item.get("id")] = self.session.call(self._respond(ref), item.get("id"), name, arguments)
        if event == "item.completed" and text is not None:
            self.session.result(own, text, ref, is_error=failed, name=name)
            self.response = None

    def _take_plan(self, item: Record, ref: str) -> None:
        """A new state of the list of steps; at the end of a turn it comes again."""
        if item.get("items") == self.plan:
            self.session.leave_out(BOOKKEEPING)
            return
        self.plan = item.get("items")
        self.session.call(self._respond(ref), None, "update_plan", {"plan": self.plan})


def _ran(item: Record) -> tuple[str, Any, str | None, bool] | None:
    """(tool, arguments, result, whether it failed) of an item; None for one that is no call."""
    kind, failed = item.get("type"), item.get("status") == "failed"
    ran = what_ran(item, with_lines=True)
    if ran is not None:
        text = text_of(item.get("aggregated_output")) if kind == "command_execution" else ran.text
        return ran.name, ran.arguments, text, ran.failed
    if kind == "mcp_tool_call":
        error = text_or_none(nested(item, "error", "message"))
        text = error or text_of(nested(item, "result", "content"))
        return (
            f"mcp__{item.get('server')}__{item.get('tool')}",
            item.get("arguments"),
            text,
            failed or error is not None,
        )
    if kind == "collab_tool_call":
        arguments = {"prompt": item.get("prompt"), "receiver_thread_ids": item.get("receiver_thread_ids")}
        return str(item.get("tool")), arguments, dumps(item.get("agents_states")), failed
    if kind == "web_search":
        return "web_search", {"query": item.get("query"), "action": item.get("action")}, None, False
    return None


FORMAT = SourceFormat(
    NAME,
    "What `codex exec --json` prints (one event a line)",
    "`thread.started` with a `thread_id`, `item.completed` with an `item` that has an id and a type",
    detect,
    read,
    order=32,
)

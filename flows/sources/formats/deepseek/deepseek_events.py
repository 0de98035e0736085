"""DeepSeek's harness (dsh): the event log of a session as JSON lines.

``user/message``, ``assistant/message`` and ``tool/result`` make the model's context, the surface; the rest is log only.
Streamed chunks repeat the message that they become, and count where there is none. A compaction is an event of the
surface that replaces a range of it (``surfaceOp``), behind a ``compaction/summary`` or ``compaction/prune``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.deepseek._parts import StreamedResponse, outcome_of, usage_of
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, MessageDraft, SessionDraft
from flows.sources.reading.values import int_or_none, need_list, need_object, nested, text_or_none

NAME = "deepseek_events"
PRUNED = "recorded removal of old tool results"
_SURFACE = ("user/message", "assistant/message", "tool/result")
_RUNS = {"text-chunks": "text", "reasoning-chunks": "reasoning", "tool-call-chunks": "call"}
_DELTAS = {"text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "call"}


def detect(head: Head) -> bool:
    """Whether a record is a numbered event, or the header of a log."""
    for record in head.records:
        kind = record.get("type")
        if isinstance(kind, str) and "/" in kind and "seq" in record and isinstance(record.get("data"), dict):
            return True
        if kind == "session" and {"version", "id", "createdAt"} <= set(record):
            return True
    return False


def read(source: Source) -> Iterator[Transcript]:
    """The session of the file."""
    log = _Log(source)
    source.each(log.take)
    yield from log.built()


class _Log:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.header: Record = {}
        self.system: str | None = None
        self.goal: str | None = None
        self.responses: list[str] = []
        self.surface: list[tuple[Any, MessageDraft | None]] = []
        """The model's context: number of the event, and its message (None: a summary)."""
        self.streamed: dict[tuple[Any, Any], StreamedResponse] = {}
        self.calls: set[str] = set()
        self.seen: set[Any] = set()
        self.before: Record = {}
        """The event that says why the next one replaces a range."""
        self.pruned: tuple[int, Record] | None = None

    def take(self, where: int, event: Record) -> None:
        kind, data, seq = event.get("type"), event.get("data"), event.get("seq")
        if not isinstance(kind, str):
            raise MalformedError("an event without a type")
        if kind == "session" and "seq" not in event:
            self.header = self.header or event
            self.session.leave_out(BOOKKEEPING)
            return
        data = need_object(data, "data")
        if isinstance(seq, int) and seq in self.seen:
            self.session.leave_out(DUPLICATE)
            return
        if isinstance(seq, int):
            self.seen.add(seq)
        ref, time = self.source.ref(where), iso_time(event.get("time", event.get("time0")))
        self.session.ended_at = time or self.session.ended_at
        if kind in _SURFACE:
            self._surface(event, kind, data, ref, time)
        elif kind in _RUNS or kind == "assistant/chunk":
            self._chunk(kind, data, ref, time)
        elif kind == "tool/call":
            self._call(data, ref, time)
        elif event.get("surfaceOp"):
            raise MalformedError(f"an event of unknown type {kind!r} in the model's context")
        else:
            self._log_only(kind, data, ref, time)
        self.before = {"type": kind, **data}

    def _log_only(self, kind: str, data: Record, ref: str, time: str | None) -> None:
        session = self.session
        session.leave_out(BOOKKEEPING)
        if kind == "session/title":
            session.title = text_or_none(data.get("title")) or session.title
        elif kind == "request/header":
            self._header(data.get("header"), ref, time)
        elif kind == "goal/change":
            self.goal = self.goal or text_or_none(nested(data, "goal", "objective"))
        elif kind in ("step/end", "turn/end"):
            self._flush()
        elif kind == "compaction/summary":
            session.use(None, usage_of(data.get("usage")))

    def _header(self, header: Any, ref: str, time: str | None) -> None:
        """Adds the system prompt when it is new, before the messages that the step has had so far."""
        prompt = nested(header, "system")
        self.session.model = self.session.model or text_or_none(nested(header, "config", "model"))
        if not isinstance(prompt, str) or not prompt or _is_template(prompt) or prompt == self.system:
            return
        self.system = prompt
        is_first = not any(one.role in ("system", "assistant") for one in self.session.drafts)
        self.session.say("system", prompt, ref, time)
        if is_first:
            self.session.drafts.insert(0, self.session.drafts.pop())

    def _surface(self, event: Record, kind: str, data: Record, ref: str, time: str | None) -> None:
        operation = event.get("surfaceOp")
        if isinstance(operation, dict) and operation.get("op") == "replace":
            self._replace(event, kind, data, operation, ref, time)
            return
        if kind == "user/message":
            draft: MessageDraft | None = self._user(data, ref, time)
        elif kind == "assistant/message":
            draft = self._assistant(data, ref, time)
        else:
            draft = self._result(data, ref, time)
        self.surface.append((event.get("seq"), draft))

    def _user(self, data: Record, ref: str, time: str | None) -> MessageDraft:
        typed = nested(data, "source", "kind") == "user"
        return self.session.say("user", text_of(data.get("content")), ref, time, typed=typed)

    def _assistant(self, data: Record, ref: str, time: str | None) -> MessageDraft:
        message, session = need_object(data.get("message"), "message"), self.session
        content = message.get("content")
        blocks = [content] if isinstance(content, (str, dict)) else content or []
        blocks = need_list(blocks, "content", "a list of blocks")
        self.streamed.pop(_step(data), None)
        own = text_or_none(message.get("id"))
        draft = session.respond(own if own and not _is_template(own) else None, ref, time)
        if own and not _is_template(own):
            self.responses.append(own)
        texts: list[str] = []
        for block in blocks:
            kind = nested(block, "type")
            if kind == "reasoning":
                draft.add_reasoning(block.get("text"))
            elif kind == "tool-call":
                self._add_call(draft, block.get("id"), block.get("name"), block.get("arguments"))
            else:
                texts.append(text_of([block]))
        draft.add_text("\n".join(filter(None, texts)))
        session.model = session.model or text_or_none(nested(message, "source", "model"))
        session.use(own, usage_of(data.get("usage")))
        return draft

    def _add_call(self, draft: MessageDraft, wanted: Any, name: Any, arguments: Any) -> None:
        self.calls.add(self.session.call(draft, wanted, name, arguments))

    def _call(self, data: Record, ref: str, time: str | None) -> None:
        """A call again; its only record where the response is not in the log."""
        self.session.leave_out(BOOKKEEPING)
        own = data.get("callId")
        if isinstance(own, str) and own in self.calls:
            return
        self._flush(_step(data))
        if not isinstance(own, str) or own not in self.calls:
            draft = self.session.respond(f"step {_step(data)}", ref, time)
            self._add_call(draft, own, data.get("name"), data.get("arguments"))

    def _result(self, data: Record, ref: str, time: str | None) -> MessageDraft | None:
        own, text, failed = outcome_of(data)
        return self.session.result(own, text, ref, time, is_error=failed)

    def _chunk(self, kind: str, data: Record, ref: str, time: str | None) -> None:
        self.session.leave_out(BOOKKEEPING)
        streamed = self.streamed.setdefault(_step(data), StreamedResponse(ref, time))
        chunk = need_object(data.get("chunk") if kind == "assistant/chunk" else data, "a chunk")
        if kind in _RUNS:
            streamed.add(_RUNS[kind], chunk, chunk.get("args" if kind == "tool-call-chunks" else "texts"))
        elif chunk.get("type") in _DELTAS:
            what = _DELTAS[chunk["type"]]
            keys = ("argumentsDelta",) if what == "call" else ("text", "textDelta", "delta")
            streamed.add(what, chunk, next((chunk[key] for key in keys if key in chunk), None))

    def _flush(self, step: tuple[Any, Any] | None = None) -> None:
        """Adds interrupted responses from their streamed part, as no other exists."""
        for key in [step] if step is not None else list(self.streamed):
            streamed = self.streamed.pop(key, None)
            if streamed is None or not any(map(any, streamed.pieces.values())):
                continue
            draft = self.session.respond(f"step {key}", streamed.ref, streamed.time)
            for (what, index), pieces in streamed.pieces.items():
                if what == "call":
                    self._add_call(draft, *streamed.calls.get(index, (None, None)), "".join(pieces))
                elif what == "reasoning":
                    draft.add_reasoning("".join(pieces))
                else:
                    draft.add_text("".join(pieces))

    def _replace(self, event: Record, kind: str, data: Record, operation: Record, ref: str, time: str | None) -> None:
        """A range of the context is replaced by a summary, a shorter result, or any other message."""
        places: dict[int | None, int] = {seq: at for at, (seq, _) in enumerate(self.surface) if isinstance(seq, int)}
        start, end = places.get(int_or_none(operation.get("start"))), places.get(int_or_none(operation.get("end")))
        node: MessageDraft | None = None
        gone = [] if start is None or end is None else [one for _, one in self.surface[start : end + 1] if one]
        if kind == "tool/result" and len(gone) == 1 and gone[0].role == "tool":
            self._prune(gone[0], outcome_of(data)[1])
            node = gone[0]
        elif kind == "user/message":
            before = [one for _, one in self.surface[:start] if one] if start is not None else []
            prompts = sum(one.role == "system" for one in self.session.drafts)
            command = self.before.get("sourceCommandId")
            self.session.compacted(
                summary=text_of(data.get("content")),
                dropped=gone if start is not None and end is not None else None,
                trigger="manual" if command else "auto",
                summary_at=prompts + len(before) if start is not None else None,
            )
        else:
            self.session.compacted(summary=None, dropped=gone if start is not None else None)
            self._surface({**event, "surfaceOp": "append"}, kind, data, ref, time)
            node = self.surface.pop()[1]
        self.surface[
            slice(start, end + 1) if start is not None and end is not None else slice(len(self.surface), None)
        ] = [(event.get("seq"), node)]

    def _prune(self, draft: MessageDraft, text: str) -> None:
        """Notes a pruning; results replaced by the same text at the same place of the log are one pruning."""
        self.session.leave_out(PRUNED, "tool")
        at = len(self.session.drafts)
        if self.pruned is not None and self.pruned[0] == at and self.pruned[1]["cleared_text"] == text:
            self.pruned[1]["cleared"].append(draft)
            return
        event = self.session.compacted(summary=None, dropped=(), trigger="prune", cleared=[draft], cleared_text=text)
        self.pruned = (at, event)

    def built(self) -> list[Transcript]:
        """The session, when something was said."""
        self._flush()
        session, header = self.session, self.header
        session.started_at = iso_time(header.get("createdAt"))
        session.title = session.title or self.goal
        cwd = text_or_none(header.get("cwd"))
        session.cwd = None if cwd is None or cwd.startswith("{{") else cwd
        native, parent = text_or_none(header.get("id")), None
        for key in ("parentSessionId", "parentId", "parent"):
            parent = parent or text_or_none(header.get(key))
        return session.build(
            NAME,
            native if native and not _is_template(native) else None,
            identity=self.responses[:1],
            parent_session_id=f"{NAME}-{parent}" if parent and not _is_template(parent) else None,
        )


def _is_template(text: str) -> bool:
    """Whether a text is a mark that a recorded snapshot has instead of a changing value."""
    return text.startswith("{{") and text.endswith("}}")


def _step(data: Record) -> tuple[Any, Any]:
    return int_or_none(data.get("turn")), int_or_none(data.get("step"))


FORMAT = SourceFormat(
    NAME,
    "DeepSeek harness (dsh) session log (one JSON object a line)",
    "numbered events named like assistant/message with `seq` and `data`; a session header with `createdAt`",
    detect,
    read,
    order=40,
)

"""opencode sessions: exports, lists of messages, and the events of ``opencode run --format json``.

A call and its result are one part. opencode takes things out of its context in two ways, and both are recorded: pruning
marks old results (``state.time.compacted``), a compaction asks for a summary (a part of type ``compaction`` in a user
message, then an assistant message with ``summary: true``). What the model then gets is opencode's ``toModelMessages``
and ``filterCompacted`` (packages/opencode/src/session/message-v2.ts).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources._opencode_parts import file_mark, known_id, outcome, pruned_at, says_something, state_of, usage_of
from flows.sources.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.blocks import iso_time, text_of, text_or_none
from flows.sources.decode import kind_of
from flows.sources.session import BOOKKEEPING, DUPLICATE, RECORDED_SUMMARY, Draft, SessionDraft

NAME = "opencode_export"
EMPTY = "empty response"
FAILED_COMPACTION = "compaction that failed"
FOR_THE_PERSON = "shown to the person only"
CLEARED = "[Old tool result content cleared]"
"""What stands in the prompt for a result that was pruned."""
SUBTASK = "The following tool was executed by the user"
"""What stands in the prompt for a sub-agent that the person started; the task itself is in the call that follows."""
_SAME_PRUNING_MS = 10_000
"""Marks closer than this are one pruning: they are written one after the other, and there is a turn between two."""
_SILENT = {"step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction"}
_EVENTS = {"step_start", "step_finish", "text", "reasoning", "tool_use", "user", "error"}


def detect(head: Head) -> bool:
    """Whether there are messages made of ``info`` and ``parts``, or events with a part."""
    if isinstance(head.document, list):
        return any(_is_message(value) for value in head.document[:5])
    return any(_is_export(record) or _is_message(record) or _is_event(record) for record in head.records)


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("parts"), list):
        return False
    info = value.get("info")
    return isinstance(info, dict) and info.get("role") in ("user", "assistant")


def _is_export(value: Record) -> bool:
    info, messages = value.get("info"), value.get("messages")
    if not isinstance(info, dict) or not isinstance(messages, list):
        return False
    return any(map(_is_message, messages[:5])) or (not messages and str(info.get("id")).startswith("ses_"))


def _is_event(value: Record) -> bool:
    return value.get("type") in _EVENTS and "sessionID" in value and ("part" in value or value["type"] == "error")


def read(source: Source) -> Iterator[Transcript]:
    """The sessions: one for each export, and one for messages or events that stand on lines of their own."""
    if isinstance(source.document, list):
        yield from _session(source, {}, _numbered(source.document, source.name, 1))
        return
    events, lines = _Events(source), list[_Placed]()
    for where, record in source.records():
        if isinstance(record.get("messages"), list):
            info = record.get("info")
            ref = source.name if source.document is not None else source.ref(where)
            placed = _numbered(record["messages"], ref, where)
            yield from _session(source, info if isinstance(info, dict) else {}, placed)
        elif "info" in record:
            lines.append((where, record, source.ref(where)))
        else:
            source.guard(events.event, where, record)
    if lines:
        yield from _session(source, {}, lines)
    yield from events.built()


_Placed = tuple[int, Any, str]
"""Line, message, where it was read."""


def _numbered(messages: list[Any], ref: str, line: int) -> list[_Placed]:
    return [(line, message, f"{ref}#{index}") for index, message in enumerate(messages)]


def _session(source: Source, info: Record, placed: list[_Placed]) -> Iterator[Transcript]:
    reading = _Reading(source, dict(info))
    reading.find_prunings([message for _, message, _ in placed])
    for at, (line, message, ref) in enumerate(placed):
        reading.follows = placed[at + 1][1] if at + 1 < len(placed) else None
        reading.ref = ref
        source.guard(reading.take, line, message)
    yield from reading.built()


class _Pruning:
    """One run of the pruner: which parts it marked, and their results as they are met."""

    def __init__(self, time: float) -> None:
        self.time = time
        self.awaited = 0
        self.results: list[Draft] = []


class _Reading:
    """One session while it is read."""

    def __init__(self, source: Source, info: Record) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.info = info
        self.follows: Any = None
        self.ref = source.name
        self.seen: set[str] = set()
        self.starts: dict[str, int] = {}
        """Id of a message → how many drafts came before it."""
        self.calls: set[str] = set()
        self.prompts: set[str] = set()
        self.context: int | None = None
        """Context tokens of the latest response."""
        self.request: Record | None = None
        """The part that asks for a compaction, until its summary comes."""
        self.request_id: str | None = None
        self.prunings: list[_Pruning] = []
        self.marked: dict[int, _Pruning] = {}
        """By the object itself: redaction can make one word of the ids."""

    def find_prunings(self, messages: list[Any]) -> None:
        """Groups the marks by their times; which result each stands on is known when the result is met."""
        parts = [message.get("parts") for message in messages if isinstance(message, dict)]
        flat = [part for held in parts if isinstance(held, list) for part in held]
        marks = [(mark, id(part)) for part in flat if (mark := pruned_at(part)) is not None]
        for time, own in sorted(marks):
            if not self.prunings or time - self.prunings[-1].time > _SAME_PRUNING_MS:
                self.prunings.append(_Pruning(time))
            pruning = self.prunings[-1]
            pruning.time = time
            pruning.awaited += 1
            self.marked[own] = pruning

    def take(self, _: int, message: Any) -> None:
        """One message of the session, read at ``ref``."""
        ref = self.ref
        if not isinstance(message, dict):
            raise MalformedError(f"a message is {kind_of(message)}, expected an object")
        info, parts = message.get("info"), message.get("parts")
        if not isinstance(info, dict) or not isinstance(parts, list):
            raise MalformedError("a message without info or parts")
        role, own, time = info.get("role"), known_id(info.get("id")), info.get("time")
        if role not in ("user", "assistant"):
            raise MalformedError(f"role is {role!r}, expected user or assistant")
        if own is not None and own in self.seen:
            self.session.leave(DUPLICATE)
            return
        created = time.get("created") if isinstance(time, dict) else None
        self._prune(created)
        if own is not None:
            self.seen.add(own)
            self.starts[own] = len(self.session.drafts)
        parts = [part for part in parts if self._usable(part, ref)]
        if not self.info.get("id"):
            self.info.setdefault("sessionID", info.get("sessionID"))
        if role == "user":
            self._user(info, own, parts, ref, iso_time(created))
        elif info.get("summary") is True:
            self._summary(info, parts)
        else:
            self._assistant(info, own, parts, ref, iso_time(created))

    def _usable(self, part: Any, ref: str) -> bool:
        if isinstance(part, dict):
            return True
        self.source.aside(None, f"{ref}: a part is {kind_of(part)}, expected an object", part)
        return False

    def _user(self, info: Record, own: str | None, parts: list[Record], ref: str, time: str | None) -> None:
        prompt = info.get("system")
        if isinstance(prompt, str) and prompt and prompt not in self.prompts:
            self.prompts.add(prompt)
            self.session.say("system", prompt, ref, time)
        request = next((part for part in parts if part.get("type") == "compaction"), None)
        texts: list[str] = []
        typed = hidden = False
        for part in parts:
            kind = part.get("type")
            if kind == "text" and part.get("ignored"):
                hidden = True
            elif kind == "text":
                texts.append(text_of(part.get("text")))
                typed = typed or not part.get("synthetic")
            elif kind == "file":
                texts += file_mark(part)
            elif kind == "subtask":
                texts.append(self._subtask(part))
            else:
                self._other(part, ref)
        text = "\n".join(filter(None, texts))
        if request is not None and self.request is not None:
            self.session.leave(FAILED_COMPACTION, "user")
        if request is not None:
            self.request, self.request_id = request, own
        if text or (request is None and not hidden):
            self.session.say("user", text, ref, time, typed=typed)
        elif request is None:
            self.session.leave(FOR_THE_PERSON, "user")

    def _subtask(self, part: Record) -> str:
        """The prompt of the sub-agent is said once: in the call that runs it, where there is one."""
        prompt = text_of(part.get("prompt"))
        following = self.follows.get("parts") if isinstance(self.follows, dict) else None
        for other in following if isinstance(following, list) else ():
            state = other.get("state") if isinstance(other, dict) else None
            wanted = state.get("input") if isinstance(state, dict) else None
            if isinstance(wanted, dict) and wanted.get("prompt") == part.get("prompt"):
                return SUBTASK
        return f"{SUBTASK}\n{prompt}" if prompt else SUBTASK

    def _assistant(self, info: Record, own: str | None, parts: list[Record], ref: str, time: str | None) -> None:
        session = self.session
        self._describe(info)
        usage, self.context = usage_of(info.get("tokens"), info.get("cost"), self.context)
        session.use(own, usage)
        if not any(says_something(part) for part in parts):
            for part in parts:
                self._other(part, ref)
            session.leave(EMPTY, "assistant")
            return
        draft = session.respond(own, ref, time)
        results: list[Record] = []
        texts: list[str] = []
        for part in parts:
            kind = part.get("type")
            if kind == "text":
                texts.append(text_of(part.get("text")))
            elif kind == "reasoning":
                draft.add_reasoning(part.get("text"))
            elif kind == "tool":
                results.append(part)
            elif kind == "file":
                texts += file_mark(part)
            else:
                self._other(part, ref)
        draft.add_text("\n".join(filter(None, texts)))
        called = [(part, self.call(draft, part)) for part in results]
        for part, call_id in called:
            self.result(part, call_id, ref)

    def _describe(self, info: Record) -> None:
        session, path = self.session, info.get("path")
        session.model = session.model or text_or_none(info.get("modelID"))
        session.cwd = session.cwd or (text_or_none(path.get("cwd")) if isinstance(path, dict) else None)

    def call(self, draft: Draft, part: Record) -> str:
        """Adds the call of a part. Redaction makes one word of many ids; the part's own id is then the call's."""
        state = state_of(part)
        ids = filter(None, (known_id(part.get(key)) for key in ("callID", "id")))
        wanted = next((own for own in ids if own not in self.calls), None) or self.session.new_id()
        self.calls.add(wanted)
        return self.session.call(draft, wanted, part.get("tool"), state.get("input") or state.get("raw"))

    def result(self, part: Record, call_id: str, ref: str) -> None:
        """Adds the result of a part, if there is one."""
        state = state_of(part)
        text, is_error = outcome(state)
        if text is None:
            return
        time = state.get("time")
        ended = iso_time(time.get("end")) if isinstance(time, dict) else None
        draft = self.session.result(call_id, text, ref, ended, is_error=is_error, name=part.get("tool"))
        pruning = self.marked.get(id(part))
        if pruning is not None and draft is not None:
            pruning.results.append(draft)
        elif pruning is not None:
            pruning.awaited -= 1

    def _summary(self, info: Record, parts: list[Record]) -> None:
        """A compaction, when the summary was finished; the history before it left, up to the tail that is kept."""
        self._describe(info)
        usage, _ = usage_of(info.get("tokens"), info.get("cost"), None)
        self.session.use(known_id(info.get("id")), usage)
        text = "\n".join(text_of(part.get("text")) for part in parts if part.get("type") == "text").strip()
        request, self.request = self.request, None
        if info.get("error") or not text:
            if request is not None:
                self.session.leave(FAILED_COMPACTION, "user")
            self.session.leave(FAILED_COMPACTION, "assistant")
            return
        end = len(self.session.drafts) if request is None else self.starts.get(self.request_id or "")
        tail = self.starts.get(known_id(request.get("tail_start_id")) or "") if request is not None else None
        gone = self.session.drafts[: end if tail is None else tail]
        auto = request.get("auto") if request is not None else None
        self.session.compacted(
            summary=text,
            dropped=[draft for draft in gone if draft.role != "system"],
            tokens_before=self.context,
            trigger={True: "auto", False: "manual"}.get(auto) if isinstance(auto, bool) else None,
        )
        if request is not None:
            # opencode has the summary as an answer to a question of its own: two messages of the log.
            self.session.leave(RECORDED_SUMMARY, "assistant")

    def _prune(self, until: Any) -> None:
        """Notes the prunings that ran before a message was made."""
        time = until if isinstance(until, (int, float)) else 0
        while self.prunings and self.prunings[0].time < time:
            pruning = self.prunings[0]
            if len(pruning.results) < pruning.awaited:
                return
            self._note(self.prunings.pop(0))

    def _note(self, pruning: _Pruning) -> None:
        if pruning.results:
            self.session.compacted(
                summary=None, dropped=(), trigger="prune", cleared=pruning.results, cleared_text=CLEARED
            )

    def end(self) -> None:
        """What is still held back goes in; a message has nothing to hold back."""

    def _other(self, part: Record, ref: str) -> None:
        if part.get("type") in _SILENT:
            self.session.leave(BOOKKEEPING)
        elif part.get("type") not in ("text", "reasoning"):
            self.source.aside(None, f"{ref}: a part of unknown type {part.get('type')!r}", part)

    def built(self) -> Iterator[Transcript]:
        """The session, when something was said."""
        self.end()
        for pruning in self.prunings:
            self._note(pruning)
        if self.request is not None:
            self.session.leave(FAILED_COMPACTION, "user")
        session, info = self.session, self.info
        session.title = text_or_none(info.get("title"))
        session.cwd = text_or_none(info.get("directory")) or session.cwd
        time = info.get("time")
        if isinstance(time, dict):
            session.started_at, session.ended_at = iso_time(time.get("created")), iso_time(time.get("updated"))
        parent = known_id(info.get("parentID"))
        native = known_id(info.get("id")) or known_id(info.get("sessionID"))
        transcript = session.build(NAME, native, parent_session_id=f"{NAME}-{parent}" if parent else None)
        if transcript is not None:
            yield transcript


class _Events(_Reading):
    """The events of a run: the parts one by one as they are finished, without the messages that hold them."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, {})
        self.draft: Draft | None = None
        self.pending: list[tuple[Record, str, str]] = []

    def event(self, where: int, event: Record) -> None:
        """One event of the run."""
        kind, held = event.get("type"), event.get("part")
        part: Record = held if isinstance(held, dict) else {}
        self.info.setdefault("sessionID", event.get("sessionID"))
        ref, time = self.source.ref(where), iso_time(event.get("timestamp"))
        own = known_id(part.get("id"))
        if own is not None and own in self.seen:
            self.session.leave(DUPLICATE)
            return
        if kind in ("text", "reasoning", "tool_use", "user") and not part:
            raise MalformedError(f"part is {kind_of(held)}, expected an object")
        if own is not None:
            self.seen.add(own)
        if kind == "user":
            self.end()
            self.session.say("user", text_of(part.get("text")), ref, time, typed=True)
        elif kind in ("text", "reasoning", "tool_use"):
            self._part(kind, part, ref, time)
        elif kind == "step_finish":
            usage, self.context = usage_of(part.get("tokens"), part.get("cost"), self.context)
            self.session.use(None, usage)
            self.session.leave(BOOKKEEPING)
            self.end()
        elif not isinstance(kind, str):
            raise MalformedError("an event without a type")
        else:
            if kind == "step_start":
                self.end()
            self.session.leave(BOOKKEEPING)

    def _part(self, kind: str, part: Record, ref: str, time: str | None) -> None:
        if self.draft is None:
            self.draft = self.session.respond(None, ref, time)
        if kind == "text":
            self.draft.add_text(text_of(part.get("text")))
        elif kind == "reasoning":
            self.draft.add_reasoning(part.get("text"))
        else:
            self.pending.append((part, self.call(self.draft, part), ref))

    def end(self) -> None:
        """The response is through: its results come behind it."""
        pending, self.pending, self.draft = self.pending, [], None
        for part, call_id, ref in pending:
            self.result(part, call_id, ref)


FORMAT = SourceFormat(
    NAME,
    "opencode session: `opencode export`, a list of its messages, or the events of `opencode run --format json`",
    "messages made of `info` and `parts`; events with a `sessionID` and a `part`",
    detect,
    read,
    of_list=lambda messages: {"info": {}, "messages": messages},
)

"""An opencode session while it is read: its messages, what was pruned, and its compactions."""

from __future__ import annotations

from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.opencode._parts import file_mark, known_id, outcome, pruned_at, says_something, usage_of
from flows.sources.reading.base import MalformedError, Record, Source, kind_of
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, RECORDED_SUMMARY, MessageDraft, SessionDraft
from flows.sources.reading.values import as_dict, as_list, need_object, nested, text_or_none

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
FORKED_FROM = "forkedFrom"
"""What the reader of the database calls the session that a fork comes from, among what describes a session."""
Placed = tuple[int | None, Any, str]
"""Line, message, where it was read."""
_SILENT = {"step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction"}


class _Pruning:
    """One run of the pruner: which parts it marked, and their results as they are met."""

    def __init__(self, time: float) -> None:
        self.time = time
        self.awaited = 0
        self.results: list[MessageDraft] = []


class Reading:
    """One session while it is read."""

    def __init__(self, source: Source, info: Record, format: str = NAME) -> None:
        self.source = source
        self.format = format
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

    def read(self, placed: list[Placed]) -> list[Transcript]:
        """The session of these messages, when something was said."""
        self.find_prunings([message for _, message, _ in placed])
        for at, (line, message, ref) in enumerate(placed):
            self.follows = placed[at + 1][1] if at + 1 < len(placed) else None
            self.ref = ref
            self.source.guard(self.take, line, message)
        return self.built()

    def find_prunings(self, messages: list[Any]) -> None:
        """Groups the marks by their times; which result each stands on is known when the result is met."""
        parts = [part for message in messages for part in as_list(nested(message, "parts"))]
        marks = [(mark, id(part)) for part in parts if (mark := pruned_at(part)) is not None]
        for time, own in sorted(marks):
            if not self.prunings or time - self.prunings[-1].time > _SAME_PRUNING_MS:
                self.prunings.append(_Pruning(time))
            pruning = self.prunings[-1]
            pruning.time = time
            pruning.awaited += 1
            self.marked[own] = pruning

    def take(self, _: int | None, message: Any) -> None:
        """One message of the session, read at ``ref``."""
        ref = self.ref
        message = need_object(message, "a message")
        info, parts = message.get("info"), message.get("parts")
        if not isinstance(info, dict) or not isinstance(parts, list):
            raise MalformedError("a message without info or parts")
        role, own = info.get("role"), known_id(info.get("id"))
        if role not in ("user", "assistant"):
            raise MalformedError(f"role is {role!r}, expected user or assistant")
        if own is not None and own in self.seen:
            self.session.leave_out(DUPLICATE)
            return
        created = nested(info, "time", "created")
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
        self.source.quarantine(None, f"{ref}: a part is {kind_of(part)}, expected an object", part)
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
            self.session.leave_out(FAILED_COMPACTION, "user")
        if request is not None:
            self.request, self.request_id = request, own
        if text or (request is None and not hidden):
            self.session.say("user", text, ref, time, typed=typed)
        elif request is None:
            self.session.leave_out(FOR_THE_PERSON, "user")

    def _subtask(self, part: Record) -> str:
        """The prompt of the sub-agent is said once: in the call that runs it, where there is one."""
        prompt = text_of(part.get("prompt"))
        for other in as_list(nested(self.follows, "parts")):
            wanted = nested(other, "state", "input")
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
            session.leave_out(EMPTY, "assistant")
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
        session = self.session
        session.model = session.model or text_or_none(info.get("modelID"))
        session.cwd = session.cwd or text_or_none(nested(info, "path", "cwd"))

    def call(self, draft: MessageDraft, part: Record) -> str:
        """Adds the call of a part. Redaction makes one word of many ids; the part's own id is then the call's."""
        state = as_dict(part.get("state"))
        ids = filter(None, (known_id(part.get(key)) for key in ("callID", "id")))
        wanted = next((own for own in ids if own not in self.calls), None) or self.session.new_id()
        self.calls.add(wanted)
        return self.session.call(draft, wanted, part.get("tool"), state.get("input") or state.get("raw"))

    def result(self, part: Record, call_id: str, ref: str) -> None:
        """Adds the result of a part, if there is one."""
        state = as_dict(part.get("state"))
        text, is_error = outcome(state)
        if text is None:
            return
        ended = iso_time(nested(state, "time", "end"))
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
        is_opaque = info.get("isOpaque") is True
        if info.get("error") or not (text or is_opaque):
            if request is not None:
                self.session.leave_out(FAILED_COMPACTION, "user")
            self.session.leave_out(FAILED_COMPACTION, "assistant")
            return
        end = len(self.session.drafts) if request is None else self.starts.get(self.request_id or "")
        tail = self.starts.get(known_id(request.get("tail_start_id")) or "") if request is not None else None
        gone = self.session.drafts[: end if tail is None else tail]
        auto = (info if request is None else request).get("auto")
        self.session.compacted(
            summary=text,
            dropped=[draft for draft in gone if draft.role != "system"],
            tokens_before=self.context,
            trigger={True: "auto", False: "manual"}.get(auto) if isinstance(auto, bool) else None,
            has_opaque_summary=is_opaque,
        )
        if request is not None:
            # opencode has the summary as an answer to a question of its own: two messages of the log.
            self.session.leave_out(RECORDED_SUMMARY, "assistant")

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

    def _other(self, part: Record, ref: str) -> None:
        if part.get("type") in _SILENT:
            self.session.leave_out(BOOKKEEPING)
        elif part.get("type") not in ("text", "reasoning"):
            self.source.quarantine(None, f"{ref}: a part of unknown type {part.get('type')!r}", part)

    def built(self) -> list[Transcript]:
        """The session, when something was said."""
        for pruning in self.prunings:
            self._note(pruning)
        if self.request is not None:
            self.session.leave_out(FAILED_COMPACTION, "user")
        session, info = self.session, self.info
        session.title = text_or_none(info.get("title"))
        session.cwd = text_or_none(info.get("directory")) or session.cwd
        session.started_at = iso_time(nested(info, "time", "created"))
        session.ended_at = iso_time(nested(info, "time", "updated"))
        parent, origin = known_id(info.get("parentID")), known_id(info.get(FORKED_FROM))
        native = known_id(info.get("id")) or known_id(info.get("sessionID"))
        above = f"{self.format}-{parent or origin}" if parent or origin else None
        return session.build(self.format, native, parent_session_id=above, is_fork=parent is None)

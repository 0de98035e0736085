"""The log of one of Kimi Code's agents: messages, pieces of steps, and what was done to the context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.kimi._parts import NAME, add_parts, is_by_machine, visible
from flows.sources.reading.base import MalformedError, Record, Source
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.kinds import kind_of_unknown
from flows.sources.reading.session import BOOKKEEPING, REWOUND, UNKNOWN, MessageDraft, SessionDraft
from flows.sources.reading.siblings import load_sibling
from flows.sources.reading.usage import from_parts
from flows.sources.reading.values import as_dict, first_text, int_or_none, need_object, nested, objects_in, text_or_none

_BESIDE = set(
    "config cron forked full_compaction goal interaction interruptionReminder llm mcp metadata permission plan"
    " plan_mode plugin profile prompt runtime staleGuard swarm_mode task token_counting tools tower_mode turn"
    " usage".split()
)
"""First words of the kinds of records that are no messages."""
_OF_THE_PERSON = ("user", "shell_command")
_BY_SLASH = ("skill_activation", "plugin_command")
_CLEARED, _CLEARED_FROM = "[Old tool result content cleared]", 100
_USAGE = ("inputOther", "inputCacheRead", "inputCacheCreation", "output")


@dataclass
class _Entry:
    """A message of the context."""

    draft: MessageDraft | None
    """None for a summary."""
    kind: str
    """Where it comes from."""
    is_prompt: bool = False
    """Whether the person wrote it: such messages stay in a compaction, and undoing counts them."""


class WireLog:
    """Reads the records in their order, and keeps the context as Kimi Code does."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.view: list[_Entry] = []
        self.steps: dict[str, MessageDraft] = {}
        self.pending: set[str] = set()
        self.deferred: list[tuple[Record, str, str | None]] = []
        self.gone: set[str] = set()
        """Steps and calls that were taken back."""
        self.prompt: str | None = None
        self.trigger: str | None = None
        self.cleared: set[int] = set()
        self.of_steps: list[Any] = []
        self.of_records: list[Any] = []

    def read(self) -> list[Transcript]:
        """The session of the agent."""
        self.source.each(self._take)
        self._flush()
        for usage in self.of_records or self.of_steps:
            self.session.use(None, from_parts(*(as_dict(usage).get(name) for name in _USAGE)))
        folder = self.source.input.path.absolute().parent
        if folder.parent.name != "agents":
            return self.session.build(NAME, None)
        whole = folder.parent.parent
        state = as_dict(load_sibling(whole / "state.json"))
        if folder.name == "main":
            self.session.title = text_or_none(state.get("title")) if state.get("isCustomTitle") is True else None
            return self.session.build(NAME, whole.name)
        parent = text_or_none(nested(state, "agents", folder.name, "parentAgentId")) or "main"
        above = whole.name if parent == "main" else f"{whole.name}-{parent}"
        return self.session.build(NAME, f"{whole.name}-{folder.name}", parent_session_id=f"{NAME}-{above}")

    def _take(self, where: int, record: Record) -> None:
        kind, ref, time = record.get("type"), self.source.ref(where), iso_time(record.get("time"))
        if not isinstance(kind, str):
            raise MalformedError("a record without a type")
        if kind == "context.append_message":
            message = need_object(record.get("message"), "message")
            if self.pending:
                self.deferred.append((message, ref, time))
            else:
                self._say(message, ref, time)
        elif kind == "context.append_loop_event":
            self._event(need_object(record.get("event"), "event"), ref, time)
        elif kind == "context.apply_compaction":
            self._compact(record)
        elif kind == "context.undo":
            self._undo(int_or_none(record.get("count")) or 0)
        elif kind == "context.clear":
            self._settle()
            self.session.compacted(summary=None, dropped=self._drafts(self.view), trigger="clear")
            self.view = []
        elif kind == "micro_compaction.apply":
            self._clear_results(int_or_none(record.get("cutoff")) or 0)
        elif kind.partition(".")[0] in _BESIDE:
            self._note(kind, record, ref, time)
        else:
            self.session.leave_out(UNKNOWN, kind_of_unknown(record))

    def _note(self, kind: str, record: Record, ref: str, time: str | None) -> None:
        session, prompt = self.session, record.get("systemPrompt")
        if kind == "metadata":
            session.started_at = session.started_at or iso_time(record.get("created_at"))
        elif kind == "full_compaction.begin":
            self.trigger = text_or_none(record.get("source"))
        elif kind == "usage.record":
            self.of_records.append(record.get("usage"))
            session.model = session.model or text_or_none(record.get("model"))
        elif kind in ("config.update", "profile.bind"):
            named = first_text(record.get("cwd"), nested(record, "environmentDisclosure", "cwd"))
            session.cwd = session.cwd or named
            session.model = session.model or text_or_none(record.get("modelAlias"))
            if isinstance(prompt, str) and prompt and prompt != self.prompt:
                self.prompt = prompt
                session.say("system", prompt, ref, time)
                return
        session.leave_out(BOOKKEEPING)

    def _say(self, message: Record, ref: str, time: str | None) -> None:
        session, role, text = self.session, message.get("role"), visible(message.get("content"))
        kind = text_or_none(nested(message, "origin", "kind")) or ("injection" if is_by_machine(text) else "user")
        draft: MessageDraft | None
        if role == "assistant":
            draft = session.respond(None, ref, time)
            add_parts(draft, message.get("content"))
            for call in objects_in(message.get("toolCalls")):
                about = as_dict(call.get("function")) or call  # nested in version 1.0
                session.call(draft, call.get("id"), about.get("name"), about.get("arguments"))
        elif role == "tool":
            draft = self._result(message.get("toolCallId"), text, message, ref, time)
        elif role in ("user", "system"):
            by_slash = kind in _BY_SLASH and nested(message, "origin", "trigger") == "user-slash"
            is_prompt = role == "user" and (kind == "user" or by_slash)
            is_harness = role == "user" and not by_slash and kind not in _OF_THE_PERSON
            draft = session.say(role, text, ref, time, typed=is_prompt, is_harness=is_harness)
            self.view.append(_Entry(draft, kind, is_prompt))
            return
        else:
            raise MalformedError(f"role is {role!r}, expected system, user, assistant or tool")
        if draft is not None:
            self.view.append(_Entry(draft, kind))

    def _result(self, own: Any, text: str, about: Record, ref: str, time: str | None) -> MessageDraft | None:
        note, failed = text_or_none(about.get("note")), about.get("isError") is True
        return self.session.result(own, f"{text}\n{note}" if note else text, ref, time, is_error=failed)

    def _event(self, event: Record, ref: str, time: str | None) -> None:
        kind, step = event.get("type"), str(event.get("stepUuid") or event.get("uuid"))
        call = str(event.get("toolCallId"))
        if kind == "tool.result":
            if call in self.gone:
                self.session.leave_out(REWOUND, "tool")
                return
            result = need_object(event.get("result"), "result")
            draft = self._result(event.get("toolCallId"), visible(result.get("output")), result, ref, time)
            if draft is not None:
                self.view.append(_Entry(draft, "tool"))
            self.pending.discard(call)
            if not self.pending:
                self._flush()
        elif step in self.gone:
            self.session.leave_out(REWOUND, "tool_call" if kind == "tool.call" else None)
        elif kind == "step.begin":
            self._settle()
            self._step(step, ref, time)
            self.session.leave_out(BOOKKEEPING)
        elif kind == "content.part":
            add_parts(self._step(step, ref, time), event.get("part"))
        elif kind == "tool.call":
            self.session.call(
                self._step(step, ref, time), event.get("toolCallId"), event.get("name"), event.get("args")
            )
            self.pending.add(call)
        elif kind == "step.end":
            self.of_steps.append(event.get("usage"))
            self.session.leave_out(BOOKKEEPING)
        else:
            self.session.leave_out(UNKNOWN, kind_of_unknown(event))

    def _step(self, step: str, ref: str, time: str | None) -> MessageDraft:
        if step not in self.steps:
            self.steps[step] = self.session.respond(step, ref, time)
            self.view.append(_Entry(self.steps[step], "assistant"))
        return self.steps[step]

    def _flush(self) -> None:
        """Adds the messages that came while tools ran: the model reads them behind the results."""
        deferred, self.deferred = self.deferred, []
        for message, ref, time in deferred:
            with self.source.setting_aside(None, ref, message):
                self._say(message, ref, time)

    def _settle(self) -> None:
        """No call is waited for any longer, and a step that said nothing is no message."""
        self.pending.clear()
        self._flush()
        self.view = [one for one in self.view if one.draft is None or not one.draft.is_empty_response]

    def _compact(self, record: Record) -> None:
        """Notes a compaction: the summary stands before a tail (older versions), or behind the person's messages."""
        self._settle()
        own = record.get("summary")
        text = first_text(
            record.get("contextSummary"), visible(nested(own, "content")) if isinstance(own, dict) else own
        )
        kept = int_or_none(record.get("keptUserMessageCount"))
        if kept is None:
            count = int_or_none(record.get("compactedCount", record.get("count")))
            if count is None or count < 0:
                raise MalformedError("a compaction that does not say how many messages it took")
            stay = self.view[count:]
        else:
            prompts = [one for one in self.view if one.is_prompt]
            head = min(max(int_or_none(record.get("keptHeadUserMessageCount")) or 0, 0), len(prompts))
            stay = prompts[:head] + prompts[max(head, len(prompts) - max(kept - head, 0)) :]
        staying = {id(one) for one in stay}
        event = self.session.compacted(
            summary=text,
            dropped=self._drafts([one for one in self.view if id(one) not in staying]),
            tokens_before=record.get("tokensBefore"),
            trigger=self.trigger,
        )
        summary = _Entry(None, "compaction_summary")
        self.view = [summary, *stay] if kept is None else [*stay, summary]
        if kept is not None:
            event["summary_at"] = self.session.number_kept()
        self.trigger = None

    def _undo(self, count: int) -> None:
        """Takes back the last turns, as many as the person said, but never what is before a compaction."""
        self._settle()
        cut = None
        for at in range(len(self.view) - 1, -1, -1):
            if count <= 0 or self.view[at].kind == "compaction_summary":
                break
            if self.view[at].is_prompt:
                cut, count = at, count - 1
        self.session.leave_out(BOOKKEEPING)
        left = {id(draft) for draft in self._drafts(self.view[cut:])} if cut is not None else set()
        start = next((at for at, draft in enumerate(self.session.drafts) if id(draft) in left), None)
        if start is None:
            return
        gone = self.session.drafts[start:]
        lost = {id(draft) for draft in gone}
        self.gone |= {step for step, draft in self.steps.items() if id(draft) in lost}
        self.gone |= {call.id for draft in gone for call in draft.calls}
        self.view = self.view[:cut]
        self.session.take_back(start, REWOUND)

    def _clear_results(self, cutoff: int) -> None:
        """Older versions showed the model only that there had been long results."""
        found = [
            draft
            for draft in self._drafts(self.view[: max(cutoff, 0)])
            if draft.role == "tool" and id(draft) not in self.cleared and _weight(draft) >= _CLEARED_FROM
        ]
        self.cleared |= {id(draft) for draft in found}
        if found:
            self.session.compacted(summary=None, dropped=(), trigger="prune", cleared=found, cleared_text=_CLEARED)
        self.session.leave_out(BOOKKEEPING)

    @staticmethod
    def _drafts(entries: list[_Entry]) -> list[MessageDraft]:
        return [one.draft for one in entries if one.draft is not None]


def _weight(draft: MessageDraft) -> int:
    """Tokens of a result as Kimi Code estimates them."""
    text = "".join(draft.texts)
    plain = sum(char.isascii() for char in text)
    return -(-plain // 4) + len(text) - plain

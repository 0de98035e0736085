"""Inspect logs: one JSON document, or an archive (``.eval``) with a member for each sample.

``messages`` of a sample is the conversation as it stood at the end. Where the model calls among its events hold more
(an agent that compacted, agents beside it), the conversation is put together from their prompts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, get_args

from compaction.transcript import Role, Transcript
from flows.sources.formats.inspect._archive import is_log, read_samples
from flows.sources.formats.inspect._calls import ModelCall, SampleEvents, Table
from flows.sources.formats.inspect._messages import MISSING_ATTACHMENT, Attachments, add_message, calls_of, usage_of
from flows.sources.formats.inspect._nodes import Node, Shrink
from flows.sources.formats.inspect._threads import SIDE_CALL, SUMMARY, InspectThread, Threads
from flows.sources.reading.base import BAD_CONTENT, Head, MalformedError, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.session import MessageDraft, SessionDraft
from flows.sources.reading.values import as_dict, as_list, need_list, nested, text_or_none

NAME = "inspect"
SCORER = "model call of a scorer"
FAILED_ATTEMPT = "attempt that failed and was repeated"
OTHER_VERSION = "other version of a message"
EMPTY_SAMPLE = "sample without a message"


def detect(head: Head) -> bool:
    """Whether the file is a log: an archive with samples, a document with ``eval``, or a single sample."""
    if head.is_zip:
        return is_log(head.entries)
    value = head.document
    if not isinstance(value, dict):
        return False
    if "task" in as_dict(value.get("eval")) and ("samples" in value or "status" in value):
        return True
    return "epoch" in value and "target" in value and isinstance(value.get("messages"), list)


def read(source: Source) -> Iterator[Transcript]:
    """The sessions, sample by sample: of each its own, then those of agents that it started."""
    if source.is_zip:
        for sample, where, about in read_samples(source):
            yield from _sample(source, sample, where, about)
        return
    document = source.document
    if "epoch" in document and "eval" not in document:
        yield from _sample(source, document, source.name, {})
        return
    samples = document.get("samples")
    for index, sample in enumerate([] if samples is None else need_list(samples, "samples")):
        yield from _sample(source, sample, f"{source.name}#samples.{index}", as_dict(document.get("eval")))


def _sample(source: Source, sample: Any, where: str, about: Record) -> Iterator[Transcript]:
    if not isinstance(sample, dict):
        source.quarantine(None, f"{where}: a sample is {kind_of(sample)}, expected an object", sample)
        return
    try:
        yield from _Sample(source, sample, where, about).sessions()
    except BAD_CONTENT as error:
        source.quarantine(
            None, f"{where}: not the shape that this format has ({type(error).__name__}: {error})", sample
        )


class _Sample:
    def __init__(self, source: Source, sample: Record, where: str, about: Record) -> None:
        old = as_dict(sample.get("transcript"))  # until 2024-09
        self.source = source
        self.sample = sample
        self.where = where
        self.about = about
        self.attachments = Attachments(sample.get("attachments") or old.get("content"))
        self.table = Table(self.attachments)
        self.events = SampleEvents(sample, self.table, where)
        self.threads = Threads(self.table)
        self.scored: list[ModelCall] = []
        for item in self.events.walk(sample.get("events") or old.get("events")):
            if isinstance(item, ModelCall) and item.is_scorer:
                self.scored.append(item)
            else:
                self.threads.take(item)

    def sessions(self) -> Iterator[Transcript]:
        conversation = self._conversation()
        threads = self.threads.all
        main = self._main(threads, {number for number, _, _ in conversation})
        if main is None:
            self.source.account.leave_out(EMPTY_SAMPLE)
            self._say_problems()
            return
        main.finish(conversation)
        session = self._session(main, None)
        self._leave_the_rest(session, threads, main)
        found = session.build(NAME, self._native(), identity=[self.where.rpartition("/")[2]])
        self._say_problems()
        for built in found:
            yield built
            for number, thread in enumerate(other for other in threads if other is not main and _is_session(other)):
                name = next((call.agent or call.role for call in thread.calls if call.agent or call.role), "agent")
                native = f"{built.session_id.removeprefix(NAME + '-')}-{name}-{number}"
                yield from self._session(thread, name).build(NAME, native, parent_session_id=built.session_id)

    def _conversation(self) -> list[tuple[int, int, Record]]:
        messages = self.sample.get("messages")
        messages = [] if messages is None else need_list(messages, "messages")
        if not messages and not self.threads.all:
            messages = self._unlogged()
        return self.events.conversation(messages)

    def _unlogged(self) -> list[Any]:
        """The input and the output, for a log that has no other messages."""
        given, choices = self.sample.get("input"), nested(self.sample, "output", "choices")
        answers = [choice["message"] for choice in choices or () if isinstance(choice, dict) and "message" in choice]
        asked = given if isinstance(given, list) else [{"role": "user", "content": given}]
        return [*asked, *answers[:1]] if answers else []

    def _main(self, threads: list[InspectThread], conversation: set[int]) -> InspectThread | None:
        """The conversation that ends with ``messages``."""
        spoken = {number for number in conversation if self.table.role(number) != "system"}
        if not conversation:
            return max(threads, key=lambda thread: len(thread.calls), default=None)
        best = max(threads, key=lambda thread: len(spoken & thread.numbers), default=None)
        return best if best is not None and spoken & best.numbers else InspectThread(self.table)

    def _native(self) -> str | None:
        """The id of the sample's run: its own, or that of the log and the sample's place in it."""
        own = text_or_none(self.sample.get("uuid"))
        if own:
            return own
        log = next((self.about[key] for key in ("eval_id", "run_id") if text_or_none(self.about.get(key))), None)
        if log is None or len(log) < 8:
            return None
        task, place = self.about.get("task_id"), (self.sample.get("id"), self.sample.get("epoch"))
        return f"{log}-{task}-{place[0]}-{place[1]}" if text_or_none(task) else f"{log}-{place[0]}-{place[1]}"

    def _session(self, thread: InspectThread, name: str | None) -> SessionDraft:
        session, about = SessionDraft(self.source), self.about
        drafts: dict[int, MessageDraft] = {}
        told = {id(item.summary) for item in thread.order if isinstance(item, Shrink)}
        for item in thread.order:
            if isinstance(item, Shrink):
                self._compacted(session, item, drafts)
            elif item.state == SUMMARY:
                if id(item) not in told:  # it came with the first prompt: what it stands for was never logged
                    session.compacted(summary=self.table.text(item.number), dropped=None)
            elif item.state is not None:
                _leave_out(session, item.state, item.message)
            else:
                self._message(session, item, drafts)
        for call in thread.calls:
            session.use(call.ref, usage_of(call.usage))
            session.leave_out("other choice of a response", "assistant", call.other_answers)
        if not thread.calls:
            for model, usage in as_dict(self.sample.get("model_usage")).items():
                session.use(model, usage_of(usage))
        answered_by = next((call.model for call in thread.calls if call.model), None)
        session.model = answered_by or text_or_none(about.get("model"))
        session.task_type = text_or_none(about.get("task"))
        session.title = name
        if name is None:
            session.started_at = iso_time(self.sample.get("started_at") or self.events.began or about.get("created"))
            session.ended_at = iso_time(self.sample.get("completed_at"))
        return session

    def _compacted(self, session: SessionDraft, shrink: Shrink, drafts: dict[int, MessageDraft]) -> None:
        note = shrink.note
        text = self.table.text(shrink.summary.number) if shrink.summary is not None else None
        session.compacted(
            summary=text,
            dropped=[drafts[id(node)] for node in shrink.dropped if id(node) in drafts],
            tokens_before=note.tokens_before if note else None,
            trigger=note.trigger if note else None,
            summary_at=shrink.summary_at,
            cleared=[drafts[id(node)] for node in shrink.cleared if id(node) in drafts],
            cleared_text=shrink.cleared_text,
            has_opaque_summary=text == "" or (text is None and note is not None and note.kind == "summary"),
        )

    def _message(self, session: SessionDraft, node: Node, drafts: dict[int, MessageDraft]) -> None:
        place = node.call.ref if node.call else f"{self.where}#events"
        ref = f"{self.where}#{node.position}" if node.position is not None else place
        time = node.call.time if node.call else None
        if node.role == "tool":
            time = self.events.tool_times.get(str(node.message.get("tool_call_id")))
        with self.source.setting_aside(None, ref, node.message):
            draft = add_message(session, node.message, ref, time, self.attachments)
            if draft is not None:
                drafts[id(node)] = draft

    def _leave_the_rest(self, session: SessionDraft, threads: list[InspectThread], main: InspectThread) -> None:
        """Counts messages outside the conversations: single calls, scorers, failed attempts."""
        seen = set(main.numbers).union(*(thread.numbers for thread in threads))
        for thread in threads:
            if thread is not main and not _is_session(thread):
                for node in thread.nodes:
                    _leave_out(session, SIDE_CALL, node.message)
        self._leave_calls(session, SCORER, self.scored, seen)
        for attempt in as_list(self.sample.get("error_retries")):
            repeated = self.events.walk(nested(attempt, "events"), "error_retries")
            self._leave_calls(session, FAILED_ATTEMPT, [item for item in repeated if isinstance(item, ModelCall)], seen)
        session.leave_out(OTHER_VERSION, None, self.table.changed)
        session.leave_out(OTHER_VERSION, "tool_call", main.lost_calls)
        session.leave_out(MISSING_ATTACHMENT, None, len(self.attachments.missing))

    def _leave_calls(self, session: SessionDraft, reason: str, calls: list[ModelCall], seen: set[int]) -> None:
        for call in calls:
            for number in (*call.prompt, *([call.answer] if call.answer is not None else ())):
                if number not in seen:
                    seen.add(number)
                    _leave_out(session, reason, self.table.messages[number])

    def _say_problems(self) -> None:
        for (reason, _), value in self.events.problems.items():
            self.source.quarantine(None, f"{self.where}: {reason}", value)


def _leave_out(session: SessionDraft, reason: str, message: Record) -> None:
    role = message["role"]
    session.leave_out(reason, role if role in get_args(Role) else None)
    with suppress(MalformedError):
        session.leave_out(reason, "tool_call", len(calls_of(message)))


def _is_session(thread: InspectThread) -> bool:
    """Whether a conversation beside the main one is an agent's: it has several calls, or called a tool."""
    answers = (thread.table.messages[call.answer] for call in thread.calls if call.answer is not None)
    return len(thread.calls) > 1 or any(message.get("tool_calls") for message in answers)


FORMAT = SourceFormat(
    NAME,
    "Inspect log (.json, or .eval: a zip archive with Deflate or Zstandard members)",
    "an archive with header.json and samples/…, a document with `eval` and `samples`, or a single sample",
    detect,
    read,
    order=230,
    suffixes=(".eval", ".json"),
)

"""GitHub Copilot CLI: the events of a session, and the flat lines that it prints for Anthropic models.

Events are in ``~/.copilot/session-state/<id>/events.jsonl``; ``--output-format json`` prints them or the flat lines.
Event names and fields are those of github/copilot-sdk (docs/features/streaming-events.md). Events of a sub-agent carry
its ``agentId`` (older ones the ``parentToolCallId`` of the call that started it): each is a session of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.copilot._agents import Agents, rewound_positions
from flows.sources.formats.copilot._flat import FlatLines, is_flat
from flows.sources.formats.copilot._parts import AgentSession, attachment_marks, outcome, shutdown_usage, usage_of
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import arguments_text, iso_time, text_of
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, MessageDraft
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import first_text, need_list, need_object, nested, text_or_none

NAME = "copilot_cli"
_MESSAGES = {"user.message", "assistant.message", "tool.execution_complete", "system.message"}
_KNOWN = {*_MESSAGES, "session.start", "session.resume", "assistant.turn_start", "tool.execution_start"}


def detect(head: Head) -> bool:
    """Whether one of the first records is an event with its ``data``, or a flat line."""
    if any(record.get("type") in _KNOWN and isinstance(record.get("data"), dict) for record in head.records):
        return True
    return is_flat(head.records)


def read(source: Source) -> Iterator[Transcript]:
    """The session of the file and those of its sub-agents."""
    records = list(source.records())
    log, flat = _Log(source), FlatLines(source, NAME)
    log.rewound = rewound_positions([record for _, record in records])
    for at, (where, record) in enumerate(records):
        if isinstance(record.get("data"), dict) or "." in str(record.get("type")):
            log.at = at
            source.guard(log.take, where, record)
        else:
            source.guard(flat.take, where, record)
    yield from log.agents.build(NAME)
    yield from flat.built()


class _Log:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.agents = Agents(source)
        self.rewound: set[int] = set()
        self.at = 0
        self.seen: set[str] = set()
        self.asked: dict[str, Record] = {}
        """Tools that the person ran, by the id of the call."""
        self.prompts: dict[str, str] = {}
        """Id of a call → the prompt that it gives to a sub-agent."""

    def take(self, where: int, event: Record) -> None:
        kind, data, own = event.get("type"), event.get("data"), event.get("id")
        if not isinstance(kind, str):
            raise MalformedError("an event without a type")
        data = {} if data is None and kind not in _MESSAGES else need_object(data, "data")
        agent = self.agents.find(event, data)
        if isinstance(own, str) and own in self.seen and own != "REDACTED":
            agent.session.leave_out(DUPLICATE)
            return
        if isinstance(own, str):
            self.seen.add(own)
        if self.at in self.rewound:
            agent.leave_rewound(kind, data)
            return
        ref, time = self.source.ref(where), iso_time(event.get("timestamp"))
        agent.session.ended_at = time or agent.session.ended_at
        if kind in _NOTICES:
            _NOTICES[kind](self, agent, data, ref, time)
            agent.session.leave_out(BOOKKEEPING)
        elif kind in _MESSAGE_HANDLERS:
            _MESSAGE_HANDLERS[kind](self, agent, data, ref, time)
        elif isinstance(data.get("content"), str) and data["content"] and not kind.endswith(("_delta", "reasoning")):
            raise MalformedError(f"an event of unknown type {kind!r} that has content")
        else:
            agent.session.leave_out(BOOKKEEPING)

    def start(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """The header; a resumed session has a second one."""
        self.agents.native = self.agents.native or text_or_none(data.get("sessionId"))
        session = agent.session
        session.started_at = session.started_at or iso_time(data.get("startTime"))
        session.cwd = session.cwd or text_or_none(nested(data, "context", "cwd"))
        self.model(agent, data, ref, time)

    def model(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """The model that is to answer."""
        agent.session.model = agent.session.model or first_text(data.get("newModel"), data.get("selectedModel"))

    def title(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """The session's name."""
        agent.session.title = text_or_none(data.get("title")) or agent.session.title

    def system(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """The system prompt. The log repeats it for every prompt; it is added again only when it differs."""
        text = text_of(data.get("content"))
        if text == agent.system:
            agent.session.leave_out(DUPLICATE, "system")
            return
        agent.system = text
        agent.session.say("system", text, ref, time)

    def user(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """Adds a prompt as the model got it; the typed text gives the title."""
        typed_text, session = text_of(data.get("content")), agent.session
        agent.announced.clear()
        text = text_of(data.get("transformedContent")) or typed_text
        text = "\n".join(filter(None, [text, *attachment_marks(data.get("attachments"), text)]))
        for index, (content, draft) in enumerate(agent.injected):
            if content in text:
                draft.texts = [text]
                del agent.injected[index]
                session.leave_out(DUPLICATE, "user")
                return
        typed = data.get("source") in (None, "", "user") and agent.key is None
        is_harness = data.get("source") not in (None, "", "user")
        draft = session.say("user", text, ref, time, typed=typed, is_harness=is_harness)
        if typed and typed_text and session.title is None and not any(d.typed for d in session.drafts[:-1]):
            session.title = typed_text

    def notice(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """Adds a notice of the harness: a task in the background is done."""
        agent.session.say("user", text_of(data.get("content")), ref, time, is_harness=True)

    def skill(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """A skill's text; some versions repeat it as a message of the user, others do not."""
        text = text_of(data.get("content"))
        if not text:
            agent.session.leave_out(BOOKKEEPING)
            return
        agent.injected.append((text, agent.session.say("user", text, ref, time, is_harness=True)))

    def reason(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """Reasoning of the response that comes next."""
        agent.reasoning.append(text_of(data.get("content")))

    def hook(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """A hook on a prompt; some versions have the prompt nowhere else."""
        prompt = nested(data, "input", "prompt")
        if data.get("hookType") == "userPromptSubmitted" and isinstance(prompt, str) and prompt:
            last = agent.session.drafts[-1:]  # the message may come before its hook
            if not any(draft.role == "user" and prompt in "\n".join(draft.texts) for draft in last):
                agent.announced.append((prompt, ref, time))

    def respond(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """A response with all of its calls."""
        agent.say_announced()
        session, own = agent.session, text_or_none(data.get("messageId"))
        text, requests = text_of(data.get("content")), need_list(data.get("toolRequests") or [], "toolRequests")
        draft = session.respond(own if own != "REDACTED" else None, ref, time)
        thoughts = text_of(data.get("reasoningText"))
        waiting, agent.reasoning = agent.reasoning, []
        for block in (*(block for block in waiting if block not in thoughts), thoughts):
            draft.add_reasoning(block)
        draft.add_text(text)
        model = text_or_none(data.get("model"))
        if model and not any(d.role == "assistant" for d in session.drafts if d is not draft):
            session.model = model
        agent.note("response", own, make_usage(output=data.get("outputTokens")))
        for request in requests:
            if not isinstance(request, dict):
                self.source.quarantine(
                    None, f"{ref}: a tool request is {kind_of(request)}, expected an object", request
                )
                continue
            self._call(agent, draft, request.get("toolCallId"), request.get("name"), request.get("arguments"))

    def _call(self, agent: AgentSession, draft: MessageDraft, wanted: Any, name: Any, arguments: Any) -> None:
        if isinstance(wanted, str) and wanted in agent.calls:
            agent.session.leave_out(DUPLICATE, "tool_call")
            return
        own = agent.session.call(draft, wanted, name, arguments)
        agent.calls.add(own)
        self.agents.owners[own] = agent
        if isinstance(arguments, dict) and isinstance(arguments.get("prompt"), str):
            self.prompts[own] = arguments["prompt"]

    def tool_starts(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """The call again; the only record of it when its response is not in the log or does not name it."""
        wanted = text_or_none(data.get("toolCallId"))
        if wanted is not None and wanted not in agent.calls and wanted not in self.asked:
            last = agent.session.drafts[-1] if agent.session.drafts else None
            is_open = last is not None and last.role == "assistant"
            draft = last if last is not None and is_open else agent.session.respond(None, ref, time)
            self._call(agent, draft, wanted, data.get("toolName"), data.get("arguments"))

    def tool_ends(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """A result; of a tool that the person ran, a message of the user."""
        text, failed = outcome(data)
        wanted = data.get("toolCallId")
        asked = self.asked.get(wanted) if isinstance(wanted, str) else None
        if asked is not None:
            told = f"Ran {asked.get('toolName') or 'a tool'} {arguments_text(asked.get('arguments'))}\n{text}"
            agent.session.say("user", told, ref, time)
            return
        agent.session.result(wanted, text, ref, time, is_error=failed, name=data.get("toolName"))

    def person_runs(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """The person asks for a tool; it becomes a message with its result."""
        if isinstance(data.get("toolCallId"), str):
            self.asked[data["toolCallId"]] = data

    def subagent(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """A sub-agent starts."""
        own = data.get("toolCallId")
        if isinstance(own, str):
            self.agents.started[own] = data
            if own in self.prompts:
                self.agents.tasks[self.prompts.pop(own)] = self.agents.keys.get(own, own)

    def compaction_starts(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """A compaction begins in the background: what is said from now on stays."""
        agent.compaction_from, agent.compaction = len(agent.session.drafts), data

    def compaction_ends(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """Replaces the messages from before the compaction's start by the summary."""
        agent.compact(data)

    def truncated(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """Messages were removed without a summary; the log does not say which."""
        if not data.get("messagesRemovedDuringTruncation"):
            agent.session.leave_out(BOOKKEEPING)
            return
        before, trigger = data.get("preTruncationTokensInMessages"), data.get("performedBy")
        agent.session.compacted(summary=None, dropped=None, tokens_before=before, trigger=trigger)

    def cleared(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """The person clears the session: every message leaves the context."""
        session = agent.session
        session.compacted(summary=None, dropped=[d for d in session.drafts if d.role != "system"], trigger="clear")
        self.skill(agent, {"content": data.get("initialMessage")}, ref, time)

    def used(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """Notes the usage of one model call; totals at shutdown take precedence."""
        agent.note("call", text_or_none(data.get("apiCallId")), usage_of(data))

    def shutdown(self, agent: AgentSession, data: Record, ref: str, time: str | None) -> None:
        """Notes the totals of a run, which replace the usage of its responses."""
        usage = shutdown_usage(data.get("modelMetrics"))
        agent.session.model = agent.session.model or text_or_none(data.get("currentModel"))
        if usage is not None:
            agent.note("run", str(data.get("sessionStartTime")), usage)


_NOTICES = {
    "session.start": _Log.start,
    "session.resume": _Log.start,
    "session.model_change": _Log.model,
    "session.title_changed": _Log.title,
    "session.compaction_start": _Log.compaction_starts,
    "session.shutdown": _Log.shutdown,
    "assistant.reasoning": _Log.reason,
    "assistant.usage": _Log.used,
    "hook.start": _Log.hook,
    "tool.user_requested": _Log.person_runs,
    "tool.execution_start": _Log.tool_starts,
    "subagent.started": _Log.subagent,
}
"""Events that are no message, whatever is taken from them."""
_MESSAGE_HANDLERS = {
    "session.compaction_complete": _Log.compaction_ends,
    "session.truncation": _Log.truncated,
    "session.context_cleared": _Log.cleared,
    "system.message": _Log.system,
    "system.notification": _Log.notice,
    "user.message": _Log.user,
    "skill.invoked": _Log.skill,
    "assistant.message": _Log.respond,
    "tool.execution_complete": _Log.tool_ends,
}


FORMAT = SourceFormat(
    NAME,
    "GitHub Copilot CLI session events (one JSON object a line), or the flat lines of `--output-format json`",
    "events named like assistant.message with a `data` object; lines of type message with tool_use or tool_result",
    detect,
    read,
    order=20,
    version=3,
)

"""tau2-bench results: simulations of an agent and a user who may both call tools.

The agent never sees what the user does with tools of the user's own (a telephone, a router), only what the user says.
So the user's calls, the messages that hold nothing else, and their results are counted and set aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.tau.tau_bench import EMPTY_RUN, is_solved, message_ref, run_title, whole_digest
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.chat import add_reasoning, first_choice
from flows.sources.reading.session import BOOKKEEPING, MessageDraft, SessionDraft
from flows.sources.reading.usage import from_openai, make_usage
from flows.sources.reading.values import (
    as_dict,
    as_list,
    first_text,
    need_list,
    need_object,
    nested,
    objects_in,
    text_or_none,
)

NAME = "tau2_bench"
USER_TOOLS = "the simulated user's own tool use"
_ROLES = {"system", "user", "assistant", "tool"}
_OUTCOME = {"reward_info", "termination_reason", "agent_cost", "user_cost"}


def detect(head: Head) -> bool:
    """Whether the file holds simulations: the whole result, a list of them, or single ones."""
    document = head.document
    if isinstance(document, dict) and isinstance(document.get("simulations"), list):
        first = document["simulations"][:5]
        return any(map(_is_simulation, first)) or (not first and "tasks" in document and "info" in document)
    return any(map(_is_simulation, head.values(5)))


def _is_simulation(value: Any) -> bool:
    if not isinstance(value, dict) or "task_id" not in value or not _OUTCOME & value.keys():
        return False
    if isinstance(value.get("ticks"), list):
        return True
    messages = value.get("messages")
    if not isinstance(messages, list):
        return False
    return not messages or any(isinstance(message, dict) and message.get("role") in _ROLES for message in messages[:5])


def read(source: Source) -> Iterator[Transcript]:
    """One session a simulation."""
    document = source.document
    if isinstance(nested(document, "simulations"), list):
        about = document | as_dict(document.get("info"))
        found: Iterator[tuple[int | None, str, Any]] = (
            (None, f"{source.name}#{index}", value) for index, value in enumerate(document["simulations"])
        )
        source.account.leave_out(BOOKKEEPING, count=len(as_list(document.get("tasks"))))
    else:
        about, found = {}, source.values()
    for where, ref, run in found:
        messages = _messages(run) if isinstance(run, dict) else None
        if messages is None:
            source.quarantine(
                where, f"{ref}: expected a simulation with a list under `messages`, found {kind_of(run)}", run
            )
        elif not messages:
            source.account.leave_out(EMPTY_RUN)
        else:
            yield from _Simulation(source, ref, where).read(run, messages, about)


def _messages(run: Record) -> list[Any] | None:
    """The messages in order: as they are, or out of the ticks of a spoken conversation."""
    messages, ticks = run.get("messages"), run.get("ticks")
    if isinstance(messages, list) and messages:
        return messages
    if not isinstance(ticks, list):
        return messages if isinstance(messages, list) else None
    spoken: list[Any] = []
    for tick in ticks:
        if not isinstance(tick, dict):
            spoken.append(tick)
            continue
        for side, role in (("agent", "assistant"), ("user", "user")):
            chunk, calls = tick.get(f"{side}_chunk"), tick.get(f"{side}_tool_calls")
            if chunk is not None or calls:
                base = chunk if isinstance(chunk, dict) else {"timestamp": tick.get("timestamp"), "content": chunk}
                spoken.append({**base, "role": role, "tool_calls": calls or base.get("tool_calls"), "is_chunk": True})
            spoken += as_list(tick.get(f"{side}_tool_results"))
    return spoken


class _Simulation:
    def __init__(self, source: Source, ref: str, line: int | None) -> None:
        self.source = source
        self.ref = ref
        self.line = line
        self.session = SessionDraft(source)
        self.pieces: dict[int, tuple[MessageDraft, list[str]]] = {}
        self.utterances: dict[tuple[str, str], MessageDraft] = {}

    def read(self, run: Record, messages: list[Any], about: Record) -> list[Transcript]:
        session = self.session
        environment = as_dict(about.get("environment_info"))
        # The agent's prompt is not among the messages: its policy stands with the run, or once for all of them.
        policy = first_text(run.get("policy"), environment.get("policy"))
        if policy and not any(message.get("role") == "system" for message in objects_in(messages[:3])):
            session.say("system", policy, self.ref)
        for index, message in enumerate(messages):
            place = message_ref(self.ref, index)
            with self.source.setting_aside(self.line, place, message):
                self._take(message, place)
        for draft, texts in self.pieces.values():
            draft.texts = ["".join(texts)]
        named = (nested(about, "agent_info", "llm"), nested(about, "audio_native_config", "model"))
        session.task_type = first_text(environment.get("domain_name"), about.get("domain"))
        session.model = first_text(*named, about.get("model"), session.model)
        session.started_at = iso_time(run.get("start_time"))
        session.ended_at = iso_time(run.get("end_time"))
        reward = nested(run, "reward_info", "reward")
        session.title = run_title(session.task_type or "", run, reward)
        session.resolved = is_solved(reward)
        session.exit_status = text_or_none(run.get("termination_reason"))
        return session.build(NAME, text_or_none(run.get("id")), identity=whole_digest(run, messages))

    def _take(self, message: Any, ref: str) -> None:
        message = need_object(message, "a message")
        role, time = message.get("role"), iso_time(message.get("timestamp"))
        calls = need_list(message.get("tool_calls") or [], "tool_calls")
        if role == "tool":
            self._results(message, ref, time)
        elif role == "system":
            self.session.say("system", _text(message), ref, time)
        elif role == "user":
            self._user(message, ref, time, len(calls))
        elif role == "assistant":
            self._assistant(message, ref, time, calls)
        else:
            raise MalformedError(f"role is {role!r}, expected system, user, assistant or tool")

    def _results(self, message: Record, ref: str, time: str | None) -> None:
        several = message.get("tool_messages")
        if isinstance(several, list):
            for index, one in enumerate(several):
                if isinstance(one, dict):
                    self._results(
                        {**one, "tool_messages": None}, f"{ref}.{index}", iso_time(one.get("timestamp")) or time
                    )
                else:
                    self.source.quarantine(self.line, f"{ref}.{index}: a result is {kind_of(one)}", one)
        elif message.get("requestor") == "user":
            self.session.leave_out(USER_TOOLS, "tool")
        else:
            own = message.get("id") or message.get("tool_call_id")
            failed = message.get("error") is True
            self.session.result(own, _text(message), ref, time, is_error=failed, name=message.get("name"))

    def _user(self, message: Record, ref: str, time: str | None, calls: int) -> None:
        text = _text(message)
        self.session.leave_out(USER_TOOLS, "tool_call", calls)
        if message.get("is_chunk") and not text:
            self.session.leave_out(BOOKKEEPING)
        elif message.get("is_chunk"):
            self._take_speech("user", message, text, ref, time)
        elif calls and not text:
            self.session.leave_out(USER_TOOLS, "user")
        else:
            self.session.say("user", text, ref, time, typed=True)

    def _assistant(self, message: Record, ref: str, time: str | None, calls: Any) -> None:
        session, text = self.session, _text(message)
        cut = message.get("context_truncation")
        if isinstance(cut, dict):
            # The oldest messages went; the log has their number before and after, not which ones.
            session.compacted(
                summary=None, dropped=None, tokens_before=cut.get("tokens_before"), trigger="context truncation"
            )
        if message.get("is_chunk") and not text and not calls:
            session.leave_out(BOOKKEEPING)
            return
        if message.get("is_chunk") and not calls:
            draft = self._take_speech("assistant", message, text, ref, time)
        else:
            draft = session.respond(None, ref, time)
            draft.add_text(text)
        for value in calls:
            call = need_object(value, "a tool call")
            function = as_dict(call.get("function")) or call
            session.call(draft, call.get("id"), function.get("name"), function.get("arguments"))
        # The copy of the provider's response repeats text and calls; the reasoning is nowhere else.
        raw = as_dict(message.get("raw_data"))
        answer = as_dict(raw.get("message")) or first_choice(raw)
        session.model = session.model or text_or_none(raw.get("model"))
        add_reasoning(draft, {**as_dict(answer.get("provider_specific_fields")), **answer, "content": None})
        usage, cost = as_dict(message.get("usage")), message.get("cost")
        session.use(None, from_openai({"cost": cost, **usage}) if usage else make_usage(cost=cost))

    def _take_speech(self, role: str, message: Record, text: str, ref: str, time: str | None) -> MessageDraft:
        """Adds a piece of speech. All pieces of an utterance are one message, even if the other side speaks between."""
        ids = message.get("utterance_ids")
        key = (role, str(ids[0]) if isinstance(ids, list) and ids else "")
        last = self.session.drafts[-1] if self.session.drafts else None
        draft = self.utterances.get(key) if key[1] else last if last is not None and last.role == role else None
        if draft is None or id(draft) not in self.pieces:
            if role == "user":
                draft = self.session.say("user", "", ref, time, typed=True)
            else:
                draft = self.session.respond(None, ref, time)
            self.utterances[key] = draft
            self.pieces[id(draft)] = (draft, [])
        self.pieces[id(draft)][1].append(text)
        return draft


def _text(message: Record) -> str:
    content = message.get("content")
    if message.get("is_audio") is True and isinstance(content, str) and " " not in content[:200]:
        script = message.get("audio_script_gold")
        return script if isinstance(script, str) else f"[audio, {len(content) * 3 // 4} bytes]" if content else ""
    return text_of(content)


FORMAT = SourceFormat(
    NAME,
    "tau2-bench results: simulations of an agent and a user who may both call tools",
    "`simulations` of objects with task_id, messages (or ticks) and an outcome; a list of them, or one",
    detect,
    read,
    order=240,
    version=2,
)

"""tau2-bench results: simulations of an agent and a user who may both call tools.

The agent never sees what the user does with tools of the user's own (a telephone, a router), only what the user says.
So the user's calls, the messages that hold nothing else, and their results are counted and set aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.tau.tau_bench import EMPTY_RUN, run_title, runs, whole_digest
from flows.sources.reading.base import BAD_CONTENT, Source, SourceFormat
from flows.sources.reading.blocks import iso_time, text_of, text_or_none
from flows.sources.reading.chat import add_reasoning
from flows.sources.reading.decode import kind_of
from flows.sources.reading.draft import MessageDraft
from flows.sources.reading.inputs import Head, MalformedError, Record
from flows.sources.reading.session import BOOKKEEPING, SessionDraft
from flows.sources.reading.usage import from_openai, make_usage

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
    found = document[:5] if isinstance(document, list) else head.records
    return any(map(_is_simulation, found))


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
    if isinstance(document, dict) and isinstance(document.get("simulations"), list):
        about = {**document, **_dict(document.get("info"))}
        found: Iterator[tuple[int | None, str, Any]] = (
            (None, f"{source.name}#{index}", value) for index, value in enumerate(document["simulations"])
        )
        source.account.leave_out(BOOKKEEPING, count=_length(document.get("tasks")))
    else:
        about, found = {}, runs(source)
    for where, ref, run in found:
        messages = _messages(run) if isinstance(run, dict) else None
        if messages is None:
            source.quarantine(
                where, f"{ref}: expected a simulation with a list under `messages`, found {kind_of(run)}", run
            )
        elif not messages:
            source.account.leave_out(EMPTY_RUN)
        else:
            built = _Simulation(source, ref, where).read(run, messages, about)
            if built is not None:
                yield built


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
            results = tick.get(f"{side}_tool_results")
            spoken += results if isinstance(results, list) else []
    return spoken


class _Simulation:
    def __init__(self, source: Source, ref: str, line: int | None) -> None:
        self.source = source
        self.ref = ref
        self.line = line
        self.session = SessionDraft(source)
        self.pieces: dict[int, tuple[MessageDraft, list[str]]] = {}
        self.utterances: dict[tuple[str, str], MessageDraft] = {}

    def read(self, run: Record, messages: list[Any], about: Record) -> Transcript | None:
        session = self.session
        environment = _dict(about.get("environment_info"))
        # The agent's prompt is not among the messages: its policy stands with the run, or once for all of them.
        policy = text_or_none(run.get("policy")) or text_or_none(environment.get("policy"))
        if policy and not any(isinstance(m, dict) and m.get("role") == "system" for m in messages[:3]):
            session.say("system", policy, self.ref)
        for index, message in enumerate(messages):
            place = f"{self.ref}.{index}" if "#" in self.ref else f"{self.ref}#{index}"
            try:
                self._take(message, place)
            except BAD_CONTENT as error:
                self.source.quarantine(self.line, f"{place}: {error}", message)
        for draft, texts in self.pieces.values():
            draft.texts = ["".join(texts)]
        agent = _dict(about.get("agent_info"))
        spoken = _dict(about.get("audio_native_config"))
        domains = (environment.get("domain_name"), about.get("domain"))
        models = (agent.get("llm"), spoken.get("model"), about.get("model"), session.model)
        session.task_type = next(filter(None, map(text_or_none, domains)), None)
        session.model = next(filter(None, map(text_or_none, models)), None)
        session.started_at = iso_time(run.get("start_time"))
        session.ended_at = iso_time(run.get("end_time"))
        session.title = run_title(session.task_type or "", run, _dict(run.get("reward_info")).get("reward"))
        native = run.get("id")
        return session.build(NAME, native if isinstance(native, str) else None, identity=whole_digest(run, messages))

    def _take(self, message: Any, ref: str) -> None:
        if not isinstance(message, dict):
            raise MalformedError(f"a message is {kind_of(message)}, expected an object")
        role, time = message.get("role"), iso_time(message.get("timestamp"))
        calls = message.get("tool_calls") or ()
        if not isinstance(calls, (list, tuple)):
            raise MalformedError(f"tool_calls is {kind_of(calls)}, expected a list")
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
            self._spoken("user", message, text, ref, time)
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
            draft = self._spoken("assistant", message, text, ref, time)
        else:
            draft = session.respond(None, ref, time)
            draft.add_text(text)
        for call in calls:
            if not isinstance(call, dict):
                raise MalformedError(f"a tool call is {kind_of(call)}, expected an object")
            function = _dict(call.get("function")) or call
            session.call(draft, call.get("id"), function.get("name"), function.get("arguments"))
        answer = _answer(message.get("raw_data"))
        session.model = session.model or text_or_none(_dict(message.get("raw_data")).get("model"))
        add_reasoning(draft, {**_dict(answer.get("provider_specific_fields")), **answer, "content": None})
        usage, cost = _dict(message.get("usage")), message.get("cost")
        session.use(None, from_openai({"cost": cost, **usage}) if usage else make_usage(cost=cost))

    def _spoken(self, role: str, message: Record, text: str, ref: str, time: str | None) -> MessageDraft:
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


def _answer(raw: Any) -> Record:
    """The provider's message in the copy of its response, which repeats text and calls but alone has the reasoning."""
    raw = _dict(raw)
    choices = raw.get("choices")
    return _dict(
        raw.get("message") or _dict(choices[0] if isinstance(choices, list) and choices else None).get("message")
    )


def _dict(value: Any) -> Record:
    return value if isinstance(value, dict) else {}


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


FORMAT = SourceFormat(
    NAME,
    "tau2-bench results: simulations of an agent and a user who may both call tools",
    "`simulations` of objects with task_id, messages (or ticks) and an outcome; a list of them, or one",
    detect,
    read,
    order=240,
)

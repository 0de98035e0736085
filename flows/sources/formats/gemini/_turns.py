"""Turns of the Gemini API → the messages of a session."""

from __future__ import annotations

from typing import Any

from flows.sources.formats.gemini._parts import Turn, is_context, is_snapshot, parts_of, sort_parts
from flows.sources.reading.base import MalformedError, Record, Source
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.session import SessionDraft
from flows.sources.reading.usage import make_usage, sum_counts
from flows.sources.reading.values import as_dict, int_or_none, need_object, text_or_none

ROLES = {"user", "model", "function", "tool", "system"}


class Turns:
    """Adds the turns of one conversation to a session."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.ref = source.name
        self.follows: Any = None
        self.open: dict[str, list[str]] = {}
        """Name of a tool → its calls that have no result, the first first."""
        self.names: dict[str, str] = {}
        """Id of an open call → its tool."""

    def about(self, about: Record, ref: str) -> None:
        """The system prompt, where the request has one."""
        for holder in (about, as_dict(about.get("config"))):
            for key in ("systemInstruction", "system_instruction"):
                if holder.get(key):
                    self.source.guard(lambda _, value: self._system(value["prompt"], ref), 1, {"prompt": holder[key]})
                    return

    def _system(self, prompt: Any, ref: str) -> None:
        text = sort_parts(parts_of(prompt)).text
        if text:
            self.session.say("system", text, ref)

    def take(self, where: int | None, turn: Any) -> None:
        """Adds one turn.

        Raises:
            MalformedError: It does not have the shape of a turn.
        """
        turn = need_object(turn, "a turn")
        role = turn.get("role") or "user"
        if "parts" not in turn and "role" not in turn:
            self.session.leave_unknown(turn)
            return
        if role not in ROLES:
            raise MalformedError(f"role is {role!r}, expected user, model, function or system")
        time = iso_time(turn.get("timestamp") or turn.get("createTime"))
        sorted_ = sort_parts(parts_of(turn.get("parts", turn.get("content"))), streamed=role == "model")
        for part in sorted_.unknown:
            self.source.quarantine(where, f"{self.ref}: a part of an unknown kind", part)
        if role == "model":
            self._model(sorted_, turn, time)
        elif role == "system":
            self.session.say("system", sorted_.text, self.ref, time)
        else:
            self._user(sorted_, time)

    def _model(self, turn: Turn, record: Record, time: str | None) -> None:
        session = self.session
        draft = session.respond(None, self.ref, time)
        draft.add_text(turn.text)
        for thought in turn.thoughts:
            draft.add_reasoning(thought)
        for call in turn.calls:
            own = session.call(draft, call.id, call.name, call.arguments)
            name = str(call.name or "")
            self.open.setdefault(name, []).append(own)
            self.names[own] = name
        self._results(turn, time)
        used = as_dict(record.get("usageMetadata"))
        output = sum_counts(int_or_none(used.get(key)) for key in ("candidatesTokenCount", "thoughtsTokenCount"))
        session.use(None, make_usage(used.get("promptTokenCount"), output, used.get("cachedContentTokenCount")))

    def _user(self, turn: Turn, time: str | None) -> None:
        self._results(turn, time)
        text = turn.text
        if turn.responses and not text:
            return
        if is_snapshot(text, _answer(self.follows)):
            # What the summary took the place of is not in the log: none of its messages left.
            self.session.compacted(summary=text, dropped=(), summary_at=len(self.session.drafts))
            return
        self.session.say("user", text, self.ref, time, typed=not is_context(text))

    def _results(self, turn: Turn, time: str | None) -> None:
        for response in turn.responses:
            own, name = text_or_none(response.id), str(response.name or "")
            if own is None or own not in self.names:
                waiting = self.open.get(name)
                own = waiting[0] if waiting else own
            if own in self.names:
                self.open[self.names[own]].remove(own)
                del self.names[own]
            self.session.result(
                own, response.text, self.ref, time, is_error=response.is_error, name=text_or_none(response.name)
            )


def _answer(turn: Any) -> str | None:
    if not isinstance(turn, dict) or turn.get("role") != "model" or not isinstance(turn.get("parts"), list):
        return None
    return sort_parts(turn["parts"], streamed=True).text

"""OpenHands V0 events: actions and observations of one event stream, with those of delegates between them.

Three generations: ``[action, observation]`` pairs and events without ids (2024), and events with ids whose
``tool_call_metadata`` repeats the whole model response. An observation names its action by ``cause``; ids of calls
start again in each prompt where function calling is emulated, and are made unique here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.openhands._v0_fields import (
    ENVELOPE,
    QUIET_ACTIONS,
    QUIET_OBSERVATIONS,
    UNSEEN,
    arguments_of,
    has_failed,
    is_plain,
    kinds_of,
    observation_text,
    with_images,
)
from flows.sources.formats.openhands._v0_level import Level
from flows.sources.reading.base import MalformedError, Record, Source, kind_of
from flows.sources.reading.blocks import iso_time, text_of
from flows.sources.reading.chat import add_reasoning, first_choice
from flows.sources.reading.decode import dumps
from flows.sources.reading.session import BOOKKEEPING, DUPLICATE, MessageDraft
from flows.sources.reading.usage import from_openai, from_openhands, make_usage
from flows.sources.reading.values import as_dict, need_object, nested, objects_in, text_or_none

_DELEGATE_FAILED = re.compile(r"Delegat(?:e|or) agent\b.*\berror", re.IGNORECASE)


class V0Events:
    """Takes the events of a stream in their order and gives its sessions."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.root = Level(source)
        self.level = self.root
        self.levels = [self.root]
        self.identity: list[str] = []
        self.metrics: Record | None = None
        self._seen: dict[Any, tuple[Any, ...]] = {}
        self._number = 0
        self._first: str | None = None
        self._last_call: str | None = None
        self._answers: str | None = None
        self._ref = ""
        self._own: int | str | None = None

    def take_all(self, items: list[Any], ref: str, where: int) -> None:
        """A list of events or pairs; one that cannot be used is set aside."""
        for index, item in enumerate(items):
            self._answers = None
            for event in item if isinstance(item, list) else [item]:
                if isinstance(event, dict):
                    self._last_call = None
                    self._ref = f"{ref}#{index}"
                    self.source.guard(self._take, where, event)
                    self._answers = self._last_call
                elif event is not None:
                    self.source.quarantine(where, f"event {index}: expected an object, found {kind_of(event)}", event)
            self._answers = None

    def _take(self, where: int, event: Record) -> None:
        self.take(self._ref, event)

    def take(self, ref: str, event: Record) -> None:
        """Adds one event."""
        action, seen, own = event.get("action"), event.get("observation"), event.get("id")
        if not isinstance(own, (int, str)):
            own = None
        self._own = own
        self._number += 1
        if isinstance(event.get("llm_metrics"), dict):
            self.metrics = event["llm_metrics"]
        if own is not None:
            shape = (action, seen, event.get("timestamp"), event.get("message"))
            if self._seen.get(own) == shape:
                for what in kinds_of(event):
                    self.level.session.leave_out(DUPLICATE, what)
                return
            self._seen[own] = shape
        if self._first is None:
            self._first = text_or_none(event.get("timestamp"))
        if isinstance(seen, str):
            draft = self._observe(ref, event, seen)
            kind = seen
        elif isinstance(action, str):
            draft = self._act(ref, event, action)
            kind = action
        elif "status_update" in event or "status" in event:
            self.level.session.leave_out(BOOKKEEPING)
            return
        else:
            raise MalformedError("an event without an action and without an observation")
        if kind not in UNSEEN:
            level = self.level if kind != "delegate" or action is None else self.level.parent or self.level
            level.view.append((own, draft))

    def _act(self, ref: str, event: Record, action: str) -> MessageDraft | None:
        args = event.get("args")
        if args is None:
            args = {key: value for key, value in event.items() if key not in ENVELOPE}
        args = need_object(args, "args")
        session, time = self.level.session, iso_time(event.get("timestamp"))
        meta = as_dict(event.get("tool_call_metadata"))
        if action == "system":
            return session.say("system", text_of(args.get("content")), ref, time)
        if action == "message" and not meta.get("function_name"):
            return self._message(ref, time, event, args)
        if action == "condensation":
            self.level.compact(args)
        elif action == "summarize":
            session.compacted(summary=text_or_none(args.get("summary")), dropped=None)
        elif action in QUIET_ACTIONS:
            session.leave_out(BOOKKEEPING)
        elif event.get("source") in ("user", "environment") and not meta:
            return self._by_person(ref, time, event, action, args)
        else:
            return self._call(ref, time, event, action, args)
        return None

    def _message(self, ref: str, time: str | None, event: Record, args: Record) -> MessageDraft:
        source, session = event.get("source"), self.level.session
        if source is None:
            # Exports without a source: the agent waits for an answer, the harness that stands in for a person never.
            source = "agent" if self._number > 1 and args.get("wait_for_response") is True else "user"
        text = with_images(args.get("content"), args.get("image_urls") or args.get("images_urls"))
        if source != "agent":
            return session.say("user", text, ref, time, typed=source == "user")
        response = as_dict(nested(event, "tool_call_metadata", "model_response"))
        draft = session.respond(text_or_none(response.get("id")), ref, time)
        draft.add_text(text)
        add_reasoning(draft, first_choice(response) or args)
        return draft

    def _by_person(self, ref: str, time: str | None, event: Record, action: str, args: Record) -> MessageDraft | None:
        """Adds a person's action in the user interface, which the model sees as text."""
        session, thought = self.level.session, text_or_none(args.get("thought"))
        if action == "finish":
            if thought:
                return session.say("user", thought, ref, time)
            session.leave_out(BOOKKEEPING)
            return None
        self.level.by_person.add(self._own)
        if action == "run" and isinstance(args.get("command"), str):
            return session.say("user", f"User executed the command:\n{args['command']}", ref, time)
        return session.say("user", f"User requested {action}: {dumps(arguments_of(args))}", ref, time)

    def _call(self, ref: str, time: str | None, event: Record, action: str, args: Record) -> MessageDraft:
        level, meta = self.level, as_dict(event.get("tool_call_metadata"))
        session, response = level.session, as_dict(meta.get("model_response"))
        key, answer = text_or_none(response.get("id")), first_choice(response)
        draft = session.respond(key, ref, time)
        thought = args.get("thought")
        calls = objects_in(answer.get("tool_calls"))
        text = text_of(answer.get("content"))
        if not text and isinstance(thought, str) and not (calls and action in ("think", "finish")):
            text = thought  # of these two the thought is an argument of the call
        draft.add_text(text)
        add_reasoning(draft, answer)
        session.model = session.model or text_or_none(response.get("model"))
        if key is not None:
            level.usage[key] = from_openai(response.get("usage"))
            if len(self.identity) < 2:
                self.identity.append(key)
        wanted = meta.get("tool_call_id")
        own = level.of_response.get((key or "", str(wanted))) if key else None
        if own is None:
            # All calls of a response at once, also those that never became an event.
            for call in calls if key else [call for call in calls if call.get("id") == wanted]:
                if key and (key, str(call.get("id"))) in level.of_response:
                    continue
                function = as_dict(call.get("function"))
                made = self._add_call(draft, call.get("id"), function.get("name"), function.get("arguments"), action)
                if key:
                    level.of_response[key, str(call.get("id"))] = made
                own = made if call.get("id") == wanted else own
        if own is None:
            is_mcp = action == "call_tool_mcp" and isinstance(args.get("name"), str)
            name = meta.get("function_name") or (args["name"] if is_mcp else action)
            own = self._add_call(draft, wanted, name, args.get("arguments") if is_mcp else arguments_of(args), action)
        level.open[own] = action
        level.calls[f"#{self._number}" if self._own is None else self._own] = own
        self._last_call = own
        if action == "delegate":
            name = str(self._number if self._own is None else self._own)
            self.level = Level(self.source, level, name)
            self.levels.append(self.level)
        return draft

    def _add_call(self, draft: MessageDraft, call_id: Any, name: Any, arguments: Any, action: str) -> str:
        level, wanted = self.level, call_id if isinstance(call_id, str) and call_id else None
        if wanted is not None and wanted in level.taken:
            wanted = f"{wanted}#{self._number}"
        own = level.session.call(draft, wanted, name, arguments)
        level.taken.add(own)
        level.open.setdefault(own, action)
        return own

    def _observe(self, ref: str, event: Record, kind: str) -> MessageDraft | None:
        cause, extras = event.get("cause"), as_dict(event.get("extras")) or event
        text = observation_text(event, extras)
        self._leave_delegates(kind, cause, text)
        level = self.level
        session, time = level.session, iso_time(event.get("timestamp"))
        if kind == "recall":
            self.level.take_recall(ref, time, extras)
            return None
        if kind == "condense":
            session.compacted(summary=text or None, dropped=None)
            return None
        if kind in QUIET_OBSERVATIONS:
            session.leave_out(BOOKKEEPING)
            return None
        if is_plain(cause) and cause is not None and cause in level.by_person:
            return session.say("user", text, ref, time)
        call, meta = self._answered(event, kind), as_dict(event.get("tool_call_metadata"))
        if call is None and kind in ("error", "message", "chat") and not meta:
            # The model's call was refused before it became an action: it reads this as the user's.
            return session.say("user", text, ref, time)
        level.open.pop(call or "", None)
        return session.result(
            call if call is not None else meta.get("tool_call_id"),
            text,
            ref,
            time,
            is_error=has_failed(event, kind, extras, text),
            name=meta.get("function_name"),
        )

    def _leave_delegates(self, kind: str, cause: Any, text: str) -> None:
        """Returns to the agent that an observation belongs to, which ends the delegates above it."""
        if kind == "delegate" or (kind == "error" and _DELEGATE_FAILED.match(text)):
            self.level = self.level.parent or self.level
            asked = (call for call, action in reversed(self.level.open.items()) if action == "delegate")
            self._answers = next(asked, self._answers)
        elif is_plain(cause) and cause is not None and cause not in self.level.calls:
            holder = self.level.parent
            while holder is not None and cause not in holder.calls:
                holder = holder.parent
            self.level = holder or self.level

    def _answered(self, event: Record, kind: str) -> str | None:
        level, cause, meta = self.level, event.get("cause"), as_dict(event.get("tool_call_metadata"))
        if is_plain(cause) and cause is not None and cause in level.calls:
            return level.calls[cause]
        if self._answers is not None and self._answers in level.open:
            return self._answers  # the action that it stands behind in its pair
        response = str(nested(meta, "model_response", "id"))
        found = level.of_response.get((response, str(meta.get("tool_call_id"))))
        if found is not None:
            return found
        if meta.get("tool_call_id") in level.open if isinstance(meta.get("tool_call_id"), str) else False:
            return str(meta["tool_call_id"])
        if cause is not None or meta:
            return None
        return level.find_open_call(kind, is_numbered="id" in event)

    def build(self, format: str, native_id: str | None) -> Iterator[Transcript]:
        """The main session, then those of its delegates."""
        if self._first:
            self.identity.append(self._first)
        self._use(has_delegates=any(level.session.drafts for level in self.levels[1:]))
        for level in self.levels:
            parent = level.parent.built if level.parent else None
            own = native_id
            if level.parent is not None:
                if not level.session.drafts:
                    continue
                own = f"{parent.session_id.removeprefix(f'{format}-')}.{level.name}" if parent else None
            started_by = parent.session_id if parent else None
            for built in level.session.build(format, own, identity=self.identity, parent_session_id=started_by):
                level.built = built
                yield built

    def _use(self, *, has_delegates: bool) -> None:
        """The agent's totals include calls without an event; beside delegates only the cost is the agent's own."""
        model = text_or_none(nested(self.metrics, "accumulated_token_usage", "model"))
        self.root.session.model = self.root.session.model or model
        totals = from_openhands(self.metrics)
        if totals is not None and totals.input_tokens and not has_delegates:
            self.root.usage = {"totals": totals}
        else:
            self.root.usage["cost"] = make_usage(cost=nested(self.metrics, "accumulated_cost"))
        for level in self.levels:
            for key, usage in level.usage.items():
                level.session.use(key, usage)

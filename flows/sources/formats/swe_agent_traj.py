"""SWE-agent trajectories (``.traj``): one JSON object whose ``history`` is the list of messages as sent.

``trajectory`` holds the same text by step, in version 1 with the whole prompt of every step, and is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, Record, Source, SourceFormat
from flows.sources.reading.blocks import text_of
from flows.sources.reading.chat import add_calls, add_message, add_reasoning
from flows.sources.reading.session import DEMONSTRATION, DUPLICATE, SessionDraft
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, as_list, first_item, need_object, nested, objects_in, text_or_none

NAME = "swe_agent_traj"


def detect(head: Head) -> bool:
    """Whether the file is an object with a history and a trajectory."""
    value = head.document
    return isinstance(value, dict) and isinstance(value.get("history"), list) and "trajectory" in value


def read(source: Source) -> Iterator[Transcript]:
    """The session of the file, or one for each attempt of an agent that tries again."""
    document: Record = source.document
    tried = [one for one in objects_in(document.get("attempts")) if isinstance(one.get("history"), list)]
    if not tried:
        yield from _session(source, document, document, source.name, ())
        return
    if not any(one["history"] == document["history"] for one in tried):
        yield from _session(source, document, document, source.name, ())
    else:
        source.account.leave_out(DUPLICATE)  # what stands outside is the best attempt again
    for number, attempt in enumerate(tried, 1):
        yield from _session(source, document, attempt, f"{source.name}/attempt {number}", (f"attempt {number}",))


def _session(
    source: Source, document: Record, attempt: Record, ref: str, identity: tuple[str, ...]
) -> Iterator[Transcript]:
    """The session without the demonstration of another task that precedes it."""
    session = SessionDraft(source)
    open_call: str | None = None
    for index, entry in enumerate(attempt["history"]):
        with source.setting_aside(None, f"history entry {index}", entry):
            open_call = _take(session, entry, f"{ref}#{index}", open_call)
    session.model = _model(attempt.get("replay_config")) or _model(document.get("replay_config"))
    session.exit_status = text_or_none(nested(attempt, "info", "exit_status"))
    stats = as_dict(nested(attempt, "info", "model_stats"))
    session.use(
        None, make_usage(stats.get("tokens_sent"), stats.get("tokens_received"), cost=stats.get("instance_cost"))
    )
    yield from session.build(NAME, None, identity=[str(document.get("environment", "")), *identity])


def _take(session: SessionDraft, entry: Any, ref: str, open_call: str | None) -> str | None:
    """Adds one entry; returns the id of the text action that the next user entry answers."""
    entry = need_object(entry, "an entry")
    if entry.get("is_demo") or entry.get("message_type") == "demonstration":
        _leave_demonstration(session, entry)
        return open_call
    role = entry.get("role")
    if role == "user" and open_call is not None:
        session.result(open_call, text_of(entry.get("content")), ref)
        return None
    if role == "tool":
        call_id = first_item(entry.get("tool_call_ids"), entry.get("tool_call_id"))
        session.result(call_id, text_of(entry.get("content")), ref, name=entry.get("name"))
        return None
    if role != "assistant":
        add_message(session, entry, ref)
        return open_call
    draft = session.respond(None, ref)
    thought, content = entry.get("thought"), entry.get("content")
    action = entry.get("action")
    if entry.get("tool_calls"):
        draft.add_text(text_of(content) or (thought if isinstance(thought, str) else ""))
        add_reasoning(draft, entry)
        add_calls(session, draft, entry)
        return None
    add_reasoning(draft, entry)
    if not isinstance(action, str) or not action.strip():
        draft.add_text(text_of(content))
        return None  # nothing ran: the next user entry is the harness asking again
    # The content is the thought with the action in a block: the action is kept once, as the call.
    draft.add_text(thought.strip() if isinstance(thought, str) else text_of(content))
    return session.call(draft, None, action.split(maxsplit=1)[0], {"command": action})


def _leave_demonstration(session: SessionDraft, entry: Record) -> None:
    role, calls = entry.get("role"), entry.get("tool_calls")
    if role == "assistant":
        session.leave_out(DEMONSTRATION, "assistant")
        has_action = isinstance(entry.get("action"), str) and bool(entry["action"].strip())
        session.leave_out(DEMONSTRATION, "tool_call", len(as_list(calls)) or has_action)
    else:
        session.leave_out(DEMONSTRATION, role if role in ("system", "user", "tool") else None)


def _model(config: Any) -> str | None:
    if isinstance(config, str):
        try:
            config = orjson.loads(config)
        except orjson.JSONDecodeError:
            return None
    return text_or_none(nested(config, "agent", "model", "name"))


FORMAT = SourceFormat(
    NAME,
    "SWE-agent trajectory (.traj), version 0 and version 1",
    "a JSON object with both history and trajectory",
    detect,
    read,
    order=100,
    version=2,
    suffixes=(".traj", ".json"),
)

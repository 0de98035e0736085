"""OpenHands evaluation outputs (``output.jsonl``): an instance a line, its history a list of events.

The histories are V0 events, pairs of them (2024), events without ids (the resolver's), V1 events (2026) or, in forks,
chat messages. A line can be megabytes long and a file gigabytes: one instance is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.openhands import openhands_v1_events
from flows.sources.formats.openhands._v0 import V0Events
from flows.sources.formats.openhands._v0_fields import is_history
from flows.sources.reading.base import BAD_CONTENT, Head, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import first_line
from flows.sources.reading.chat import add_all, is_message
from flows.sources.reading.session import SessionDraft
from flows.sources.reading.text_calls import convert_text_calls
from flows.sources.reading.usage import from_openhands
from flows.sources.reading.values import as_dict, as_list, first_text, nested, objects_in, text_or_none

NAME = "openhands_v0_output"
_ABOUT = ("instance_id", "instruction", "test_result", "metrics", "metadata", "question_id", "issue", "git_patch")
_ID_KEYS = ("instance_id", "question_id", "task_id", "id")


def detect(head: Head) -> bool:
    """Whether a record is an instance with its history."""
    return any(map(_is_instance, head.values()[:25]))


def _is_instance(record: Any) -> bool:
    if not isinstance(record, dict) or "history" not in record or "trajectory" in record:
        return False
    history, known = record["history"], sum(key in record for key in _ABOUT)
    if not history:
        return known >= 3
    return bool(known) and (is_history(history) or _is_v1(history) or _is_chat(history))


def _is_v1(history: Any) -> bool:
    return _has(history, lambda event: openhands_v1_events.detect(Head("", (event,))))


def _is_chat(history: Any) -> bool:
    return _has(history, is_message)


def _has(history: Any, check: Callable[[Record], bool]) -> bool:
    """Whether one of the first items passes; a value of a kind that it does not expect fails it."""
    for item in objects_in(as_list(history)[:10]):
        with suppress(*BAD_CONTENT):
            if check(item):
                return True
    return False


def read(source: Source) -> Iterator[Transcript]:
    """The sessions, one by one."""
    if isinstance(source.document, list):
        for index, record in enumerate(source.document):
            if isinstance(record, dict):
                yield from _instance(source, record, f"{source.name}#{index}", 1)
            else:
                source.quarantine(None, f"item {index}: expected an object with a history", record)
        return
    for where, record in source.records():
        yield from _instance(source, record, source.ref(where), where)


def _instance(source: Source, record: Record, ref: str, where: int) -> Iterator[Transcript]:
    history = record.get("history")
    if not history:
        source.account.leave_out("instance without a history")  # its run failed before anything was said
        return
    if not isinstance(history, list):
        source.quarantine(where, f"history is {kind_of(history)}, expected a list of events", record)
        return
    named = next((str(record[key]) for key in _ID_KEYS if isinstance(record.get(key), (str, int))), "")
    if _is_v1(history):
        v1 = openhands_v1_events.Conversation(source)
        for event in history:
            if isinstance(event, dict):
                source.guard(v1.take, where, event)
            else:
                source.quarantine(where, "expected an event, found something else", event)
        _describe(v1.session, record)
        v1.session.use("totals", from_openhands(record.get("metrics")))
        first_id = first_text(*(event.get("llm_response_id") for event in objects_in(history))) or ""
        yield from v1.session.build(NAME, None, identity=[named, first_id])
    elif _is_chat(history) and not is_history(history):
        session = SessionDraft(source)
        add_all(source, session, history, ref, where)
        convert_text_calls(session)
        _describe(session, record)
        session.use("totals", from_openhands(record.get("metrics")))
        yield from session.build(NAME, None, identity=[named])
    else:
        events = V0Events(source)
        events.identity.append(named)
        _instruct(events, record, history, ref)
        events.take_all(history, ref, where)
        if isinstance(record.get("metrics"), dict):
            events.metrics = record["metrics"]
        _describe(events.root.session, record)
        yield from events.build(NAME, None)


def _instruct(events: V0Events, record: Record, history: list[Any], ref: str) -> None:
    """Adds the instruction as the first prompt, unless the history starts with one."""
    for item in history[:20]:
        event = as_dict(item[0] if isinstance(item, list) and item else item)
        if event.get("action") == "message" and event.get("source") != "agent":
            return
    if isinstance(record.get("instruction"), str) and record["instruction"]:
        events.root.session.say("user", record["instruction"], ref, typed=True)


def _describe(session: SessionDraft, record: Record) -> None:
    metadata = as_dict(record.get("metadata"))
    config = as_dict(metadata.get("llm_config")) or as_dict(metadata.get("llm")) or as_dict(record.get("llm_config"))
    session.model = first_text(config.get("model"), metadata.get("model_name"), metadata.get("model"), session.model)
    issue = text_or_none(nested(record, "issue", "title"))
    problem = text_or_none(nested(record, "instance", "problem_statement"))
    session.title = issue or (first_line(problem) if problem else None)


FORMAT = SourceFormat(
    NAME,
    "OpenHands evaluation output (output.jsonl): an instance a line",
    "objects with a history of OpenHands events and an instance_id, instruction, metrics or metadata",
    detect,
    read,
    order=70,
)

"""OpenHands V0 trajectories: the events as a list (``trajectory.json``), or one file each (``events/<n>.json``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.openhands._v0 import V0Events
from flows.sources.formats.openhands._v0_fields import is_event, is_history
from flows.sources.reading.base import Head, Record, Source, SourceFormat
from flows.sources.reading.opening import event_number

NAME = "openhands_v0_trajectory"
_MEMBER = re.compile(r"events/\d{1,18}\.json\Z")
_PAGE = re.compile(r"\d+-\d+\.json")
_KEYS = ("trajectory", "events", "history")


def detect(head: Head) -> bool:
    """Whether the file or folder holds events and nothing around them."""
    if head.document is not None:
        return _events(head.document) is not None
    return any(is_event(record) and ("args" in record or "extras" in record) for record in head.records)


def read(source: Source) -> Iterator[Transcript]:
    """The session, and the sessions of its delegates."""
    path = source.input.path.absolute()
    if path.parent.name == "event_cache" and _PAGE.match(source.name) and (path.parent.parent / "events").is_dir():
        source.quarantine(None, "a page of the event cache: the events themselves are in the folder beside it")
        return
    events = V0Events(source)
    if source.document is not None:
        found = _events(source.document)
        events.take_all(found or [], source.name, 1)
    else:
        for where, event in source.records():
            source.guard(lambda at, one: events.take(source.ref(at), one), where, event)
    folder = path.parent.name if path.name == "events" else path.name
    yield from events.build(NAME, folder or None if source.members else None)


def _events(value: Any) -> list[Any] | None:
    """The events of a document: a list, a list under a key, or an object with an event under each number."""
    if isinstance(value, list):
        return value if is_history(value) else None
    if not isinstance(value, dict):
        return None
    if is_event(value):
        return [value]
    for key in _KEYS:
        if is_history(value.get(key)) and "instance_id" not in value and not _is_swe_agent(value):
            return list(value[key])
    if value and all(isinstance(key, str) and key.isdigit() for key in value) and is_history(list(value.values())):
        return [value[key] for key in sorted(value, key=event_number)]
    return None


def _is_swe_agent(value: Record) -> bool:
    return "history" in value and "trajectory" in value


FORMAT = SourceFormat(
    NAME,
    "OpenHands V0 trajectory: a list of events, or a folder of event files",
    "events with an action (`run`, `message`…) or an observation of a known name; a folder events/<number>.json",
    detect,
    read,
    order=80,
    folder_member=_MEMBER,
)

"""The members of an Inspect archive (``.eval``): a sample each, or the pieces of a large one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

import orjson

from flows.sources.reading.archive import ArchiveError, Member
from flows.sources.reading.base import BAD_CONTENT, MalformedError, Record, Source
from flows.sources.reading.decode import loads_line
from flows.sources.reading.session import BOOKKEEPING
from flows.sources.reading.values import as_dict, nested

_SAMPLE = re.compile(r"samples/[^/]+\.json\Z")
_SHELL = re.compile(r"(samples/.+/)sample\.json\Z")
_PART = re.compile(
    r"samples/.+/(?:messages|events|attachments|calls)/[^/]+\.json\Z|samples/.+/(?:metadata|skeleton)\.json\Z"
)
_OWN = re.compile(r"_journal/.*|(?:header|summaries|reductions|results)\.json\Z")
_ARCHIVES = (".zip", ".eval", ".gz", ".tar", ".tgz", ".zst", ".7z", ".bz2", ".xz")
_HEADERS = ("header.json", "_journal/start.json")


def is_log(names: Collection[str]) -> bool:
    """Whether an archive with members of these names is a log."""
    return any(name in names for name in _HEADERS) or any(_SAMPLE.match(n) or _SHELL.match(n) for n in names)


def read_samples(source: Source) -> Iterator[tuple[Any, str, Record]]:
    """Yield each sample, where it stands, and what the log says about the evaluation."""
    archive = source.archive
    about: Record = {}
    for name in _HEADERS:
        if not about and name in archive.members:
            about = as_dict(nested(_value(source, archive.members[name]), "eval"))
    parts: dict[str, list[Member]] = {}
    for name, member in archive.members.items():
        if _PART.match(name):
            parts.setdefault("/".join(name.split("/")[:-2]) + "/", []).append(member)
    for name, member in archive.members.items():
        shell = _SHELL.match(name)
        if shell or _SAMPLE.match(name):
            sample = _value(source, member)
            if shell and isinstance(sample, dict):
                try:
                    sample = _join_sample(source, sample, parts.get(shell[1], []))
                except BAD_CONTENT as error:
                    source.quarantine(None, f"{name}: not the shape that this format has ({error})", sample)
                    continue
            if sample is not None:
                yield sample, f"{source.name}/{name}", about
            del sample
        elif name.lower().endswith(_ARCHIVES):
            source.quarantine(None, f"{name}: an archive in the archive is not opened")
        elif _OWN.match(name) or _PART.match(name):
            source.account.leave_out(BOOKKEEPING)
        else:
            source.quarantine(None, f"{name}: no part of an Inspect log")


def _value(source: Source, member: Member) -> Any:
    """The JSON value of a member; None when it cannot be read, which is then set aside."""
    try:
        data = source.archive.read(member)
    except ArchiveError as error:
        source.quarantine(None, f"{member.name}: {error}")
        return None
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        values, reason, rest = loads_line(bytes(data), at_most=1)
    if reason or not values:
        source.quarantine(None, f"{member.name}: {reason or 'it is empty'}", rest)
        return None
    return values[0]


def _join_sample(source: Source, shell: Record, parts: list[Member]) -> Record:
    """A whole sample, joined from pieces of some thousand messages, events and attachments each."""
    lists: dict[str, list[Any]] = {"messages": [], "events": [], "attachments": []}

    def place(member: Member) -> tuple[str, int]:
        *_, kind, name = member.name.split("/")
        number = name.removesuffix(".json")
        return kind, int(number) if number.isdecimal() and len(number) < 18 else -1

    for member in sorted(parts, key=place):
        kind, start = place(member)
        if kind in lists and start >= 0:
            values = _value(source, member)
            if isinstance(values, list):
                lists[kind] += [None] * min(max(0, start - len(lists[kind])), 10_000) + values
    pool = lists["messages"]
    messages: list[Any] = []
    for first, end in shell.get("message_refs") or ():
        messages += pool[max(0, first) : end]
        if len(messages) > 10 * len(pool):
            raise MalformedError("its conversation has ten times as many messages as there are")
    return {
        **shell,
        "messages": messages,
        "events": lists["events"],
        "events_data": {"messages": pool},
        "attachments": {str(index): text for index, text in enumerate(lists["attachments"])},
    }

"""Lines of Claude Code's log that are no part of its conversation: abandoned branches, and what was written again."""

from __future__ import annotations

from collections import defaultdict
from itertools import takewhile
from typing import Any

from flows.sources.reading.base import Record
from flows.sources.reading.claude_lines import is_result, response_id
from flows.sources.reading.decode import dumps
from flows.sources.reading.values import as_dict, as_list


def rewound_lines(prompts: dict[str, list[str]], parents: dict[str, str | None], places: dict[str, int]) -> set[str]:
    """Lines of abandoned branches. Of sibling prompts, only the one that was continued last is live."""
    groups = [uuids for uuids in prompts.values() if len(uuids) > 1]
    if not groups:
        return set()
    children: dict[str, list[str]] = defaultdict(list)
    latest = dict(places)
    for _ in range(2):  # a child's line can stand before its parent's
        for uuid in reversed(parents):
            parent = parents[uuid]
            if parent in latest and latest[parent] < latest[uuid]:
                latest[parent] = latest[uuid]
    for uuid, parent in parents.items():
        if parent is not None:
            children[parent].append(uuid)
    gone: set[str] = set()
    for uuids in groups:
        live = max(uuids, key=lambda uuid: latest[uuid])
        for uuid in uuids:
            if uuid != live:
                _add_below(uuid, children, gone, live)
    return gone


def lines_written_again(lines: list[tuple[int, Record]], openings: set[str]) -> set[int]:
    """Lines that a resumed session wrote again with new ids.

    Prompts whose answer was there before; and what stands behind a further beginning as far as it is the log's own
    first lines, with an answer among them.
    """
    found = _beginnings_again(lines, openings)
    said: set[str] = set()
    answered: set[str] = set()
    waiting: list[int] = []
    for where, record in lines:
        if record["type"] == "assistant" and (response := response_id(record)) is not None:
            if response in answered:
                found.update(waiting)
            waiting.clear()
            answered.add(response)
        elif record["type"] == "user" and not any(map(is_result, as_list(record["message"].get("content")))):
            text = dumps(record["message"].get("content"))
            if text in said:
                waiting.append(where)
            said.add(text)
    return found


def _beginnings_again(lines: list[tuple[int, Record]], openings: set[str]) -> set[int]:
    """The lines behind each further beginning that are the log's first ones."""
    own = [(where, record) for where, record in lines if not record.get("isSidechain")]
    found: set[int] = set()
    for start, (_, record) in enumerate(own):
        if start == 0 or record.get("uuid") not in openings:
            continue
        pairs = zip(own[:start], own[start:], strict=False)
        same = [new for old, new in takewhile(lambda pair: _says(pair[0][1]) == _says(pair[1][1]), pairs)]
        if any(record["type"] == "assistant" for _, record in same):
            found.update(where for where, _ in same)
    return found


def _says(record: Record) -> tuple[Any, Any, Any]:
    """The content of a line without its ids; the ids of calls count."""
    return record["type"], record.get("subtype"), as_dict(record.get("message")).get("content")


def _add_below(uuid: str, children: dict[str, list[str]], found: set[str], live: str) -> None:
    """Adds a line and all its descendants, except the live line (parents may form a circle)."""
    waiting = [uuid]
    while waiting:
        at = waiting.pop()
        if at not in found and at != live:
            found.add(at)
            waiting.extend(children.get(at, ()))

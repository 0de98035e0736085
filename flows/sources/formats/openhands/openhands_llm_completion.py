"""OpenHands' logs of completions: a file for every request, with the whole prompt, the response and its price.

The files of a session lie in one folder and repeat each other: the folder is one input, its sessions are told apart
by their messages. Each file alone can be read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, MalformedError, Source, SourceFormat
from flows.sources.reading.chat import has_messages
from flows.sources.reading.exchanges import LoggedExchange, exchange_of
from flows.sources.reading.prompt_log import conversations

NAME = "openhands_llm_completion"
_STAMP = re.compile(r"-(\d{10}\.\d{1,9})(?:-[0-9a-f]{4,8})?\.json")
_MEMBER = re.compile(r"[^/]*/[^/]*" + _STAMP.pattern + r"\Z")


def detect(head: Head) -> bool:
    """Whether the records have a prompt and the response to it, side by side."""
    return any(map(_is_completion, head.values()[:5]))


def _is_completion(value: Any) -> bool:
    if not has_messages(value) or not isinstance(value.get("response"), dict):
        return False
    return "choices" in value["response"] and bool(value.keys() & {"kwargs", "args", "cost", "fncall_messages"})


def read(source: Source) -> Iterator[Transcript]:
    """The sessions of the file or folder."""
    if source.members:
        source.members = sorted(source.members, key=lambda path: (_stamp(path.name), path.name))
    yield from conversations(source, NAME, _exchange)


def _stamp(name: str) -> float:
    found = _STAMP.search(name)
    return float(found.group(1)) if found else 0.0


def _exchange(record: Any) -> LoggedExchange:
    found = exchange_of(record) if isinstance(record, dict) else None
    if found is None:
        raise MalformedError("expected an object with messages and a response")
    return found


FORMAT = SourceFormat(
    NAME,
    "OpenHands' log of completions: a file a request, or a folder of them",
    "objects with messages, a response with choices, and kwargs or a cost; files <model>-<seconds>.json",
    detect,
    read,
    order=90,
    version=2,
    folder_member=_MEMBER,
)

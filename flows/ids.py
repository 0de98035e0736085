"""Content ids: the same work has the same id in every run, on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from compaction.points import LOOKAHEAD
from compaction.transcript import Message

ID_LENGTH = 24
"""Hex digits of an id: 96 bits, so that a billion rows still have no two alike."""


def content_id(*parts: Any) -> str:
    """Hash of the parts (text, numbers, lists, dicts), to be read as "the thing made from exactly these"."""
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:ID_LENGTH]


def _feed(digest: hashlib._Hash, message: Message) -> None:
    fields = [message.role, message.text, message.reasoning, message.tool_call_id or "", message.tool_name or ""]
    fields.append("error" if message.is_error else "")
    for call in message.tool_calls:
        fields += (call.id, call.name, call.arguments)
    for value in fields:
        raw = value.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))  # so that a field's end cannot move into the next
        digest.update(raw)


def message_digest(message: Message) -> str:
    """Twelve hex digits for what a message says, wherever it stands."""
    digest = hashlib.sha256()
    _feed(digest, message)
    return digest.hexdigest()[:12]


def content_sha256(messages: Iterable[Message]) -> str:
    """SHA-256 of a whole session's content."""
    digest = hashlib.sha256()
    for message in messages:
        _feed(digest, message)
    return digest.hexdigest()


def point_ids(session_id: str, messages: Sequence[Message], cuts: Sequence[int]) -> list[str]:
    """The id of the point at each of the ascending cuts.

    It depends on the messages before the cut and on the ``LOOKAHEAD`` that probes may see after it, and not on how
    the cut was found: a session that grew keeps the points whose surroundings are the same.
    """
    running = hashlib.sha256()
    fed = 0
    found = []
    for cut in cuts:
        end = min(cut + LOOKAHEAD, len(messages))
        for message in messages[fed:end]:
            _feed(running, message)
        fed = max(fed, end)
        found.append(content_id("point", session_id, cut, running.hexdigest()))
    return found

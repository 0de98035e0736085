"""Content ids: hashes that give the same work the same id in every run, on every machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import orjson

from compaction.points import LOOKAHEAD
from compaction.transcript import Message, RecordedCompaction

_HAS_DIGIT = re.compile(r"\d")
_UNIQUE_ID, _SAYS_MUCH, _COMPARED = 16, 40, 120

ID_LENGTH = 24
"""Hex digits of an id: 96 bits, enough for a billion rows without a collision."""


def content_id(*parts: Any) -> str:
    """Hash of the parts (texts, numbers, lists, dicts): the id of the thing made from exactly these."""
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:ID_LENGTH]


def bucket_bits(session_id: str) -> str:
    """Sixteen bits of the hash of a session's id."""
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).digest()
    return f"{int.from_bytes(digest[:2], 'big'):016b}"


def overlap(one: str, other: str) -> bool:
    """Whether two buckets share sessions: one is the other, or a part of it."""
    return one.startswith(other) or other.startswith(one)


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
    """Hash of a message's content, twelve hex digits; independent of its position."""
    digest = hashlib.sha256()
    _feed(digest, message)
    return digest.hexdigest()[:12]


def evidence_digest(message: Message) -> str | None:
    """Hash, twelve hex digits, of the part of an assistant message that any log of the same session has.

    This part is the provider's id of the first call, if it is long enough to be unique. Otherwise it is the beginning
    of the text (or of the first call's arguments), white space aside. None for other messages and for short texts.
    """
    if message.role != "assistant":
        return None
    calls = message.tool_calls
    found = next((call.id for call in calls if len(call.id) >= _UNIQUE_ID and _HAS_DIGIT.search(call.id)), None)
    if found is None:
        said = next(
            (text for text in (message.text, *(call.arguments for call in calls)) if len(text) >= _SAYS_MUCH), ""
        )
        found = " ".join(said[: 4 * _COMPARED].split())[:_COMPARED]
    return hashlib.sha256(found.encode("utf-8", "replace")).hexdigest()[:12] if len(found) >= _UNIQUE_ID else None


def content_sha256(messages: Iterable[Message], compactions: Iterable[RecordedCompaction] = ()) -> str:
    """SHA-256 of a whole session's content, the agent's own compactions included."""
    digest = hashlib.sha256()
    for message in messages:
        _feed(digest, message)
    for compaction in compactions:
        digest.update(orjson.dumps(asdict(compaction)))
    return digest.hexdigest()


def point_ids(
    session_id: str, messages: Sequence[Message], cuts: Sequence[int], compactions: Sequence[RecordedCompaction] = ()
) -> list[str]:
    """The id of the point at each of the ascending cuts.

    It depends on the messages before the cut, on the agent's own compactions until then and on the ``LOOKAHEAD`` that
    probes may see after it, and not on how the cut was found: a session that grew keeps the points whose surroundings
    are the same.
    """
    running = hashlib.sha256()
    fed = 0
    found = []
    for cut in cuts:
        end = min(cut + LOOKAHEAD, len(messages))
        for message in messages[fed:end]:
            _feed(running, message)
        fed = max(fed, end)
        recorded = [asdict(compaction) for compaction in compactions if compaction.at_seq <= cut]
        found.append(content_id("point", session_id, cut, running.hexdigest(), *recorded))
    return found

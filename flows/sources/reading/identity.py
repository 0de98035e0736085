"""Ids of sessions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable

import orjson

from compaction.transcript import Message

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._@+-]+")


def plain_id(native_id: str | None) -> str | None:
    """The id without what a file name cannot hold: ids become names of partitions."""
    return _NOT_PLAIN.sub("_", native_id)[:120] if native_id else None


def fingerprint(messages: Iterable[Message], identity: Collection[str] = ()) -> str:
    """16 hex digits over the messages up to and including the first assistant message.

    A session that grew keeps it, and so does a file that was moved.
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in identity:
        digest.update(part.encode() + b"\0")
    for message in messages:
        calls = [(call.name, call.arguments) for call in message.tool_calls]
        digest.update(orjson.dumps((message.role, message.text, message.reasoning, calls)))
        if message.role == "assistant":
            break
    return digest.hexdigest()

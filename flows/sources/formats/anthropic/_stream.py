"""Answers of Anthropic's API that a proxy wrote down as they were streamed: server-sent events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from flows.sources.reading.base import Record
from flows.sources.reading.values import as_dict, objects_in

_HOLDERS = ("response", "resp", "result")
_BODIES = ("body_raw", "body", "text", "raw", "events", "chunks")
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def join_stream(record: Record) -> Record | None:
    """The message that results from the events of a streamed response; None when there are no events."""
    for name in _HOLDERS:
        held = record.get(name)
        bodies = [held.get(key) for key in _BODIES] if isinstance(held, dict) else [held]
        for body in bodies:
            message = _message(_events(body))
            if message is not None:
                return message
    return None


def _events(body: Any) -> Iterator[Record]:
    if isinstance(body, list):
        yield from objects_in(body)
        return
    if not isinstance(body, str) or "data:" not in body:
        return
    for line in body.split("\n"):
        if line.startswith("data:"):
            try:
                event = orjson.loads(line[5:])
            except orjson.JSONDecodeError:
                continue  # the end of a stream that was cut
            if isinstance(event, dict):
                yield event


def _message(events: Iterator[Record]) -> Record | None:
    message: Record | None = None
    blocks: dict[Any, Record] = {}
    pieces: dict[Any, dict[str, list[str]]] = {}
    for event in events:
        kind, at = event.get("type"), event.get("index")
        started, delta, usage = event.get("message"), event.get("delta"), event.get("usage")
        if kind == "message_start" and isinstance(started, dict):
            message = dict(started)
        elif message is None:
            continue
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks[at] = dict(event["content_block"])
            pieces[at] = {}
        elif kind == "content_block_delta" and at in blocks and isinstance(delta, dict):
            key = _DELTAS.get(str(delta.get("type")))
            if key is not None and isinstance(delta.get(key), str):
                pieces[at].setdefault(key, []).append(delta[key])
        elif kind == "message_delta":
            message |= as_dict(delta)
            if isinstance(usage, dict):
                message["usage"] = as_dict(message.get("usage")) | usage
    if message is not None:
        message["content"] = [_block(block, pieces[at]) for at, block in blocks.items()]
    return message


def _block(block: Record, pieces: dict[str, list[str]]) -> Record:
    for key, parts in pieces.items():
        if key == "partial_json":
            text = "".join(parts)
            try:
                block["input"] = orjson.loads(text)
            except orjson.JSONDecodeError:
                block["input"] = text
        else:
            block[key] = str(block.get(key) or "") + "".join(parts)
    return block

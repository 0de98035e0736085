"""The parts of opencode's messages: results of tool calls, marks of files, usage of responses."""

from __future__ import annotations

from typing import Any

from compaction.transcript import Usage
from flows.sources.reading.base import Record
from flows.sources.reading.blocks import block_text, text_of
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, as_list, int_or_none, nested

INLINED = ("text/plain", "application/x-directory")


def known_id(value: Any) -> str | None:
    """An id; None for the word that redaction (Entire's checkpoints) puts in the place of many ids."""
    return value if isinstance(value, str) and value not in ("", "REDACTED") else None


def pruned_at(part: Any) -> float | None:
    """The time when the result of a part was pruned, in milliseconds since the epoch; None if it was not."""
    mark = nested(part, "state", "time", "compacted") if nested(part, "type") == "tool" else None
    return mark if type(mark) in (int, float) and mark else None


def says_something(part: Record) -> bool:
    """Whether a part has content for a message."""
    kind = part.get("type")
    return kind in ("tool", "file") or (kind in ("text", "reasoning") and bool(part.get("text")))


def outcome(state: Record) -> tuple[str | None, bool]:
    """The result of a call, None while it ran, and whether it failed."""
    details = as_dict(state.get("metadata"))
    if state.get("status") == "error":
        held = details.get("output") if details.get("interrupted") is True else None
        return (held if isinstance(held, str) else text_of(state.get("error"))), True
    if "output" not in state:
        return None, False
    marks = [mark for one in as_list(state.get("attachments")) for mark in file_mark(one)]
    code = details.get("exit")
    return "\n".join(filter(None, [text_of(state["output"]), *marks])), type(code) is int and code != 0


def file_mark(part: Any) -> list[str]:
    """A mark for an attached file. Text and folders have none: opencode puts what is in them into texts beside."""
    if not isinstance(part, dict) or part.get("mime") in INLINED:
        return []
    mime = str(part.get("mime") or "unknown type")
    kind = "image" if mime.startswith("image/") else "file"
    return [block_text({"type": kind, "source": {"url": part.get("url"), "media_type": mime}}) or ""]


def usage_of(tokens: Any, cost: Any, context: int | None) -> tuple[Usage | None, int | None]:
    """The usage of a response, and the tokens of its context; ``input`` leaves out cached tokens."""
    if not isinstance(tokens, dict):
        return make_usage(cost=cost), context
    cache = as_dict(tokens.get("cache"))
    parts = [int_or_none(part) or 0 for part in (tokens.get("input"), cache.get("read"), cache.get("write"))]
    prompt, output, total = sum(parts), tokens.get("output"), tokens.get("total")
    if type(total) is int and total > prompt:
        output = total - prompt  # some versions count reasoning apart from the output, all count it in the total
    usage = make_usage(prompt, output, parts[1], cost)
    full = prompt + (int_or_none(output) or 0)
    return usage, full or context

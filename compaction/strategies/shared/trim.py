"""``trim_messages`` of langchain-core 1.7.2 as LangChain and langmem call it before they summarise."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.strategy import History
from compaction.tokens import counted
from compaction.transcript import Message


def newest_from_user(
    history: History, messages: Sequence[Message], max_tokens: int, *, keep_system: bool
) -> tuple[Message, ...]:
    """The newest messages within ``max_tokens``, from the first user message among them on; often none.

    Of the message that no longer fits as a whole its last lines stay, where any of them fit. ``keep_system`` keeps a
    leading system message and takes its tokens off the room.
    """
    system = tuple(messages[:1]) if keep_system and messages and messages[0].role == "system" else ()
    rest = messages[len(system) :]
    room = max(0, max_tokens - history.count(system)) if system else max_tokens
    start, tokens = len(rest), 0
    while start > 0 and tokens + (size := history.count((rest[start - 1],))) <= room:
        start, tokens = start - 1, tokens + size
    kept = list(rest[start:])
    if start > 0 and (part := _last_lines(history, rest[start - 1], room - tokens)) is not None:
        kept.insert(0, part)
    first = next((position for position, message in enumerate(kept) if message.role == "user"), len(kept))
    return (*system, *kept[first:])


def _last_lines(history: History, message: Message, room: int) -> Message | None:
    """The message with as many of its last lines as fit; None when not even one does."""
    *whole, last = message.text.split("\n")
    lines = [*(f"{line}\n" for line in whole), last]
    few, many = 0, len(lines)
    while few < many:
        middle = (few + many + 1) // 2
        if history.count((message.with_text("".join(lines[-middle:])),)) <= room:
            few = middle
        else:
            many = middle - 1
    if few == 0 or not message.text:
        return None
    return counted(message.with_text("".join(lines[-few:])), history.counter)

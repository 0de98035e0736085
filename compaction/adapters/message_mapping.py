"""Maps the messages that a peer returned back to ours: an unchanged message is the very object that went in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compaction.strategies.shared.parts import stands_for
from compaction.transcript import Message, Role, ToolCall

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}


@dataclass(frozen=True, slots=True)
class MappedMessage:
    """A message that a peer returned."""

    now: Message
    """What it says, read back into our form."""
    position: int | None = None
    """Position in the history of the message that it was; None for a new one."""
    before: Message | None = None
    """What the same reading gives of the message as it was sent; a difference to ``now`` is the peer's doing."""
    covers: tuple[int, ...] | None = None
    """Positions that a new message stands for, where the peer says so."""


def role_of(name: str) -> Role:
    """Our role for a peer's; a developer's message is a system message. Raises ValueError for one that we lack."""
    if name not in _ROLES:
        raise ValueError(f"a returned message has the role {name!r}; expected one of {', '.join(_ROLES)}")
    return _ROLES[name]


def restore_messages(
    messages: Sequence[Message], found: Sequence[MappedMessage], *, shown: Collection[int] | None = None
) -> list[Message]:
    """The messages that stay, as a strategy returns them.

    A message that the peer left alone is the same object as in the history. A changed one is an edited copy with the
    same ``seq``. A new one covers (``covers``) the messages that are gone between its neighbours. If none are gone
    there, it covers all messages that are gone and that no other new one covers. With ``shown``, a new message covers
    only what the summariser was shown.
    """
    kept = {item.position for item in found if item.position is not None}
    gone = [position for position in range(len(messages)) if position not in kept]
    gaps = _gaps(found, gone, len(messages))
    claimed = {position for gap in gaps.values() for position in gap}
    claimed.update(position for item in found for position in item.covers or ())
    left: list[Message] = []
    for index, item in enumerate(found):
        if item.position is not None:
            left.append(edit_message(messages[item.position], item.before or messages[item.position], item.now))
            continue
        covered = item.covers
        if covered is None:
            covered = gaps[index] or tuple(position for position in gone if position not in claimed)
            covered = tuple(position for position in covered if shown is None or position in shown)
        covers = stands_for(messages[position] for position in covered)
        left.append(replace(item.now, seq=None, tokens=None, covers=covers))
    return left


def edit_message(original: Message, before: Message, now: Message) -> Message:
    """Copy the original with the differences between two readings of it; the same object if there are none."""
    changed: dict[str, Any] = {
        name: getattr(now, name)
        for name in ("role", "text", "reasoning", "tool_call_id")
        if getattr(now, name) != getattr(before, name)
    }
    if now.tool_calls != before.tool_calls:
        changed["tool_calls"] = tuple(_calls(original, before, now))
    return replace(original, **changed, tokens=None) if changed else original


def _calls(original: Message, before: Message, now: Message) -> list[ToolCall]:
    """The calls that are left; one that reads as before has the text of its arguments from the original."""
    same = dict(zip(before.tool_calls, original.tool_calls, strict=True))
    return [same.get(call, call) for call in now.tool_calls]


def _gaps(found: Sequence[MappedMessage], gone: Sequence[int], end: int) -> dict[int, tuple[int, ...]]:
    """Map each new message to the positions that disappeared between its old neighbours."""
    after = [end] * (len(found) + 1)
    for index in range(len(found) - 1, -1, -1):
        position = found[index].position
        after[index] = after[index + 1] if position is None else position
    gaps: dict[int, tuple[int, ...]] = {}
    last = -1
    for index, item in enumerate(found):
        if item.position is not None:
            last = item.position
        elif item.covers is None:
            gaps[index] = tuple(position for position in gone if last < position < after[index + 1])
    return gaps

"""Conditions to compact, and to stop: on the size of a history, as text and as values.

A condition is written ``tokens>32000``, ``tokens<80%`` (of what the context may hold), ``messages>50``, ``turns>4``,
``groups>20``, ``bytes>8000``, ``has_tool_calls``, ``always``, ``never``, and these within ``all(…)``, ``any(…)`` and
``not(…)``. The same text says when a strategy begins (its trigger) and when it has done enough (its target). All
comparisons are strict. Semantics: Microsoft Agent Framework .NET, ``CompactionTriggers.cs`` at commit 5eb3eb7;
percentages, comparisons with ``<`` other than of tokens, and ``not`` are ours. Bytes are those of the .NET index, which
without a tokenizer takes a quarter of them, group by group, for tokens: there ``tokens>2000`` is about ``bytes>8000``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache

from compaction.groups import IndexedGroup, index_groups
from compaction.spec_text import split_outside
from compaction.strategy import History
from compaction.tokens import TokenCounter, total_tokens
from compaction.transcript import Message


class TriggerError(ValueError):
    """A text that is no trigger."""


class Meter:
    """Running sizes of a history while groups are removed from it and added to it."""

    def __init__(self, groups: Iterable[IndexedGroup], counter: TokenCounter, budget: int) -> None:
        self.budget = budget
        """Tokens that the context may hold."""
        self.tokens = 0
        self.bytes = 0
        """As ``count_bytes`` has it."""
        self.messages = 0
        self.groups = 0
        """System groups included."""
        self.system_groups = 0
        self.tool_call_groups = 0
        self._turns: Counter[int] = Counter()
        self._counter = counter
        for group in groups:
            self.add(group)

    @property
    def turns(self) -> int:
        """The number of user turns with any message left."""
        return len(self._turns)

    def add(self, group: IndexedGroup) -> None:
        """Adds a group."""
        self._count(group, 1)

    def drop(self, group: IndexedGroup) -> None:
        """Removes a group."""
        self._count(group, -1)

    def _count(self, group: IndexedGroup, sign: int) -> None:
        self.tokens += sign * total_tokens(group.messages, self._counter)
        self.bytes += sign * sum(map(count_bytes, group.messages))
        self.messages += sign * len(group.messages)
        self.groups += sign
        self.system_groups += sign * (group.kind == "system")
        self.tool_call_groups += sign * (group.kind == "tool_call")
        if group.turn:
            self._turns[group.turn] += sign
            if not self._turns[group.turn]:
                del self._turns[group.turn]


def count_bytes(message: Message) -> int:
    """Bytes in UTF-8 of a message's text, reasoning and ids, and of its calls' names and arguments.

    ``ComputeByteCount`` of .NET counts the same, but of arguments the names and values without the JSON around them.
    """
    calls = (part for call in message.tool_calls for part in (call.id, call.name, call.arguments))
    parts = (message.text, message.reasoning, message.tool_call_id or "", *calls)
    return sum(len(part) if part.isascii() else len(part.encode("utf-8", "surrogatepass")) for part in parts)


class Trigger(str):
    """A condition on a history's size, checked and put into one form when it is made."""

    __slots__ = ()

    def __new__(cls, text: str) -> Trigger:
        """Raises TriggerError for a text that is no condition."""
        return super().__new__(cls, _read(str.__str__(text))[0])

    @classmethod
    def all(cls, *triggers: str) -> Trigger:
        """Fires when every one of them does."""
        return cls(f"all({', '.join(triggers)})")

    @classmethod
    def any(cls, *triggers: str) -> Trigger:
        """Fires when at least one of them does."""
        return cls(f"any({', '.join(triggers)})")

    @property
    def inverse(self) -> Trigger:
        """Fires when this one does not."""
        return Trigger(self[4:-1] if self.startswith("not(") else f"not({self})")

    def holds(self, meter: Meter) -> bool:
        """Whether the condition holds for these sizes."""
        return _read(str.__str__(self))[1](meter)

    def fires(self, history: History) -> bool:
        """Whether the condition holds for a history."""
        groups = index_groups(history.messages, history.session)
        return self.holds(Meter(groups, history.counter, history.budget))


_Condition = Callable[[Meter], bool]
_MEASURES = ("tokens", "bytes", "messages", "turns", "groups")
_CONSTANTS: dict[str, _Condition] = {
    "always": lambda meter: True,
    "never": lambda meter: False,
    "has_tool_calls": lambda meter: meter.tool_call_groups > 0,
}
_KNOWN = (
    "always, never, has_tool_calls, tokens>N, tokens<N, tokens>N%, bytes, messages, turns or groups likewise, "
    "all(…), any(…), not(…)"
)


@lru_cache(maxsize=512)
def _read(text: str) -> tuple[str, _Condition]:
    """The canonical form of a condition, and the condition."""
    text = text.strip()
    if text in _CONSTANTS:
        return text, _CONSTANTS[text]
    if match := re.fullmatch(r"(all|any|not)\s*\((.*)\)", text, re.DOTALL):
        return _combined(text, match[1], match[2])
    if match := re.fullmatch(r"(\w+)\s*([<>])\s*(\d{1,3}(?:_?\d{1,3}){0,5})\s*(%?)", text):
        measure, sign, figure, percent = match.groups()
        if measure in _MEASURES and (not percent or measure == "tokens"):
            return f"{measure}{sign}{int(figure)}{percent}", _comparison(measure, sign, int(figure), bool(percent))
    raise TriggerError(f"trigger {text!r}: expected one of {_KNOWN}")


def _comparison(measure: str, sign: str, figure: int, percent: bool) -> _Condition:
    def condition(meter: Meter) -> bool:
        limit = meter.budget * figure // 100 if percent else figure
        size: int = getattr(meter, measure)
        return size > limit if sign == ">" else size < limit

    return condition


def _combined(text: str, word: str, inside: str) -> tuple[str, _Condition]:
    try:
        parts = [_read(part) for part in split_outside(inside, ",")]
    except TriggerError:
        raise
    except ValueError as error:
        raise TriggerError(f"trigger {text!r}: {error}") from None
    conditions = [condition for _, condition in parts]
    name = f"{word}({', '.join(name for name, _ in parts)})"
    if word == "all":
        return name, lambda meter: all(condition(meter) for condition in conditions)
    if word == "any":
        return name, lambda meter: any(condition(meter) for condition in conditions)
    if len(conditions) != 1:
        raise TriggerError(f"trigger {text!r}: not(…) takes one condition")
    return name, lambda meter: not conditions[0](meter)


ALWAYS = Trigger("always")

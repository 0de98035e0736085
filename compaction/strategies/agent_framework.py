"""Microsoft Agent Framework's strategies without a model: agent-framework-core 1.23.0 (Python), and one of .NET.

Compaction is forced at the point, so a threshold that only says *when* is not asked, unless ``forced`` is off. Tokens
are the project's exact ones; the original estimates a quarter of the characters of a JSON envelope around a message.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from compaction.groups import Group, flatten
from compaction.strategies._parts import at_least, remembered, stands_for
from compaction.strategy import History, StrategyError, strategy
from compaction.transcript import Message

PEER = "agent-framework-core"
VERSION = "1.23.0"

FILL_SHARE = 0.8
"""``max_n`` as a share of the budget where no figure is given: where ContextWindowCompactionStrategy truncates."""
DRAIN_SHARE = 0.5
"""``compact_to``, likewise: what it truncates down to."""

PREFIX = "[Tool results: "
SUFFIX = "]"
NO_RESULTS = "no results"
CUT_MARK = "... [truncated]"
MAX_SUMMARY_CHARS = 4096


@strategy("af_py_truncation", peer=PEER, peer_version=VERSION)
def truncation(
    history: History,
    *,
    max_n: int | None = None,
    compact_to: int | None = None,
    metric: Literal["tokens", "messages"] = "tokens",
    preserve_system: bool = True,
    preserve_first_user_group: bool = False,
    forced: bool = True,
) -> Sequence[Message]:
    """The oldest groups go until at most ``compact_to`` tokens are left.

    The newest group that is not a system message always stays. ``max_n`` is the trigger, asked only when ``forced`` is
    off. Without figures they are 0.8 and 0.5 of the budget in tokens; in messages both must be given.
    """
    at_least(1, max_n=max_n, compact_to=compact_to)
    if metric == "messages" and (max_n is None or compact_to is None):
        raise StrategyError("metric=messages needs max_n and compact_to")
    fill = int(history.budget * FILL_SHARE) if max_n is None else max_n
    drain = min(int(history.budget * DRAIN_SHARE), fill) if compact_to is None else compact_to
    if max_n is not None and drain > max_n:
        raise StrategyError(f"compact_to ({drain}) must not be more than max_n ({max_n})")
    sizes = [history.count(g.messages) if metric == "tokens" else len(g.messages) for g in history.groups]
    size = sum(sizes)
    if not forced and size <= fill:
        return history.messages
    protected = _newest(history.groups)
    if preserve_system:
        protected |= {i for i, g in enumerate(history.groups) if g.kind == "system"}
    if preserve_first_user_group:
        protected |= set([i for i, g in enumerate(history.groups) if g.kind == "user"][:1])
    gone = set()
    for number in range(len(history.groups)):
        if size <= drain:
            break
        if number not in protected:
            gone.add(number)
            size -= sizes[number]
    return _without(history, gone)


@strategy("af_py_sliding_window", peer=PEER, peer_version=VERSION)
def sliding_window(history: History, *, keep_last_groups: int = 20, preserve_system: bool = True) -> Sequence[Message]:
    """The last ``keep_last_groups`` groups (not turns, and not counting system messages), and the system messages.

    The original has no default; 20 is what its documentation shows.
    """
    at_least(1, keep_last_groups=keep_last_groups)
    others = [i for i, g in enumerate(history.groups) if g.kind != "system"]
    gone = set(others[:-keep_last_groups])
    if not preserve_system:
        gone |= {i for i, g in enumerate(history.groups) if g.kind == "system"}
    return _without(history, gone)


@strategy("af_py_selective_tool_call", peer=PEER, peer_version=VERSION)
def selective_tool_call(history: History, *, keep_last_tool_call_groups: int = 1) -> Sequence[Message]:
    """Everything but the older groups of tool calls, which go with arguments and results."""
    at_least(0, keep_last_tool_call_groups=keep_last_tool_call_groups)
    return _without(history, _older_tool_groups(history, keep_last_tool_call_groups))


@strategy("af_py_tool_result", peer=PEER, peer_version=VERSION)
def tool_result(
    history: History, *, keep_last_tool_call_groups: int = 1, max_chars: int = MAX_SUMMARY_CHARS
) -> Sequence[Message]:
    """Each older group of tool calls becomes one message with its results; the arguments are lost.

    The text is the original's: ``[Tool results: name: result; …]``, cut at ``max_chars`` characters.
    """
    at_least(0, keep_last_tool_call_groups=keep_last_tool_call_groups, max_chars=max_chars)
    older = _older_tool_groups(history, keep_last_tool_call_groups)
    if not older:
        return history.messages
    placed: list[tuple[int, Message]] = []
    for number, group in enumerate(history.groups):
        if number in older:
            placed.append((group.positions[0], _collapsed(history, group, max_chars)))
        else:
            placed += zip(group.positions, group.messages, strict=True)
    return [message for _, message in sorted(placed, key=lambda pair: pair[0])]


@strategy("af_net_sliding", peer="agent-framework .NET", peer_version="5eb3eb7")
def net_sliding(history: History, *, keep_last_turns: int = 4, minimum_preserved_turns: int = 1) -> Sequence[Message]:
    """The last ``keep_last_turns`` user turns, the system messages, and what was said before the first turn.

    A turn begins at a user message and is dropped as a whole; ``minimum_preserved_turns`` is a floor that the target
    cannot go below. A session with a single user turn stays as it is. The original takes any trigger; 4 turns is its
    documentation's example. It pairs calls with results by adjacency only, so a result that came after the next user
    message can lose its call.
    """
    at_least(0, keep_last_turns=keep_last_turns, minimum_preserved_turns=minimum_preserved_turns)
    turns: list[int] = []
    turn = 0
    for message in history.messages:
        turn += message.role == "user"
        turns.append(turn)
    last_gone = turn - max(keep_last_turns, minimum_preserved_turns)
    return [
        message
        for message, number in zip(history.messages, turns, strict=True)
        if message.role == "system" or number == 0 or number > last_gone
    ]


def _newest(groups: Sequence[Group]) -> set[int]:
    """The group that keeps a context from becoming empty: the last one, a system message only if there is no other."""
    others = [i for i, g in enumerate(groups) if g.kind != "system"]
    return set((others or list(range(len(groups))))[-1:])


def _older_tool_groups(history: History, keep: int) -> set[int]:
    numbers = [i for i, g in enumerate(history.groups) if g.kind == "tool_call"]
    return set(numbers[: max(0, len(numbers) - keep)])


def _without(history: History, gone: Collection[int]) -> Sequence[Message]:
    if not gone:
        return history.messages
    return flatten([g for i, g in enumerate(history.groups) if i not in gone])


def _collapsed(history: History, group: Group, max_chars: int) -> Message:
    def make() -> Message:
        names = {call.id: call.name for m in group.messages for call in m.tool_calls if call.id and call.name}
        results = [
            f"{names[m.tool_call_id]}: {m.text}" if m.tool_call_id in names else m.text
            for m in group.messages
            if m.role == "tool"
        ]
        text = _tool_results([result.strip() for result in results], max_chars)
        return Message("assistant", text, covers=stands_for(group.messages))

    return remembered(f"af_py_tool_result:{max_chars}", group.messages, history.counter, make)


def _tool_results(results: Sequence[str], max_chars: int) -> str:
    label = "; ".join(results) if results else NO_RESULTS
    text = f"{PREFIX}{label}{SUFFIX}"
    if len(text) <= max_chars:
        return text
    room = max_chars - len(PREFIX) - len(CUT_MARK) - len(SUFFIX)
    return f"{PREFIX}{label[: max(room, 0)].rstrip()}{CUT_MARK}{SUFFIX}"

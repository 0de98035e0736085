"""Microsoft Agent Framework's strategies for Python without a model: agent-framework-core 1.23.0.

Compaction is forced at the point, so a threshold that only says *when* is not asked, unless ``forced`` is off. Tokens
are the project's exact ones; the original estimates a quarter of the characters of a JSON envelope around a message.
Each strategy works on groups, so that they can follow one another on the groups of the whole history.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from compaction.groups import Group, flatten
from compaction.markers import REMOVED, RESULT, Marker, shortened
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import make_once, stands_for
from compaction.strategy import History, StrategyError
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

_TOOL = r"[A-Z][A-Za-z]+|[A-Za-z]\w*_\w+"


def _listed_results(holes: Mapping[str, str]) -> str:
    """A collapsed group as results, one a line, split at the first one's tool and at names like a tool's.

    Results without a name, and those of a tool whose name is a plain word, stay joined.
    """
    if holes["lines"] == NO_RESULTS:
        return REMOVED
    name = re.escape(holes["lines"].partition(": ")[0])
    text = re.sub(rf"; ({name}|{_TOOL}): ", rf"\n{RESULT}\1: ", holes["lines"])
    return RESULT + re.sub(rf"; (?=\w*{re.escape(CUT_MARK)}$)", "\n", text)


MARKERS = (
    Marker(PREFIX + "{lines}" + SUFFIX, _listed_results, "whole", made=True),
    Marker(PREFIX, RESULT),
    *shortened(CUT_MARK),
)


def _shares(budget: int, max_n: int | None, compact_to: int | None) -> tuple[int, int]:
    fill = int(budget * FILL_SHARE) if max_n is None else max_n
    return fill, min(int(budget * DRAIN_SHARE), fill) if compact_to is None else compact_to


def _most(
    history: History, *, max_n: int | None, compact_to: int | None, metric: str, forced: bool, **_: object
) -> int | None:
    fill, drain = _shares(history.budget, max_n, compact_to)
    return None if metric == "messages" else drain if forced else fill


@strategy("af_py_truncation", peer=PEER, peer_version=VERSION, limit=_most, by_default=False)
def truncation(
    history: History,
    *,
    max_n: Positive | None = None,
    compact_to: Positive | None = None,
    metric: Literal["tokens", "messages"] = "tokens",
    preserve_system: bool = True,
    preserve_first_user_group: bool = False,
    forced: bool = True,
) -> Sequence[Message]:
    """The oldest groups go until at most ``compact_to`` tokens are left.

    The newest group that is not a system message always stays. ``max_n`` is the trigger, asked only when ``forced`` is
    off. Without figures they are 0.8 and 0.5 of the budget in tokens; in messages both must be given.
    """
    if metric == "messages" and (max_n is None or compact_to is None):
        raise StrategyError("metric=messages needs max_n and compact_to")
    fill, drain = _shares(history.budget, max_n, compact_to)
    if max_n is not None and drain > max_n:
        raise StrategyError(f"compact_to ({drain}) must not be more than max_n ({max_n})")
    counts = [history.count(g.messages) if metric == "tokens" else len(g.messages) for g in history.groups]
    if not forced and sum(counts) <= fill:
        return history.messages
    kept = truncate_groups(
        history.groups, counts, drain, preserve_system=preserve_system, preserve_first_user=preserve_first_user_group
    )
    return flatten_groups(history, kept)


@strategy("af_py_sliding_window", peer=PEER, peer_version=VERSION, bites={"keep_last_groups": 3})
def sliding_window(
    history: History, *, keep_last_groups: Positive = 20, preserve_system: bool = True
) -> Sequence[Message]:
    """The last ``keep_last_groups`` groups (not turns, and not counting system messages), and the system messages.

    The original has no default; 20 is what its documentation shows.
    """
    return flatten_groups(history, window_groups(history.groups, keep_last_groups, preserve_system=preserve_system))


@strategy("af_py_selective_tool_call", peer=PEER, peer_version=VERSION, by_default=False)
def selective_tool_call(history: History, *, keep_last_tool_call_groups: int = 1) -> Sequence[Message]:
    """Everything but the older groups of tool calls, which go with arguments and results."""
    older = _older_tool_groups(history.groups, keep_last_tool_call_groups)
    return flatten_groups(history, _without(history.groups, older))


@strategy("af_py_tool_result", peer=PEER, peer_version=VERSION, markers=MARKERS)
def tool_result(
    history: History, *, keep_last_tool_call_groups: int = 1, max_chars: int = MAX_SUMMARY_CHARS
) -> Sequence[Message]:
    """Each older group of tool calls becomes one message with its results; the arguments are lost.

    The text is the original's: ``[Tool results: name: result; …]``, cut at ``max_chars`` characters.
    """
    return flatten_groups(history, collapse_groups(history, history.groups, keep_last_tool_call_groups, max_chars))


def _window(history: History, *, max_tokens: int | None, **_: object) -> int:
    return history.budget if max_tokens is None else max_tokens


@strategy(
    "af_py_context_window",
    peer=PEER,
    peer_version=VERSION,
    markers=MARKERS,
    limit=_window,
    bites={"keep_last_tool_call_groups": 1},
    by_default=False,
)
def context_window(
    history: History,
    *,
    max_tokens: Positive | None = None,
    tool_eviction_threshold: float = DRAIN_SHARE,
    truncation_threshold: float = FILL_SHARE,
    keep_last_tool_call_groups: int = 4,
    preserve_first_user_group: bool = False,
) -> Sequence[Message]:
    """Over half of the budget older groups of tool calls are collapsed; still over 0.8 the oldest groups go, to half.

    ``max_tokens`` is the original's context window less its output tokens; without a figure the budget.
    ``tool_eviction_threshold`` and ``truncation_threshold`` are shares of it. What is protected stays, also above it.
    """
    if not 0 < tool_eviction_threshold <= truncation_threshold <= 1:
        raise StrategyError("tool_eviction_threshold and truncation_threshold must be above 0, in this order, up to 1")
    budget = _window(history, max_tokens=max_tokens)
    drain, fill = int(budget * tool_eviction_threshold), int(budget * truncation_threshold)
    groups: Sequence[Group] = history.groups
    if history.count(history.messages) > drain:
        groups = collapse_groups(history, groups, keep_last_tool_call_groups, MAX_SUMMARY_CHARS)
    counts = [history.count(g.messages) for g in groups]
    if sum(counts) > fill:
        groups = truncate_groups(groups, counts, drain, preserve_first_user=preserve_first_user_group)
    return flatten_groups(history, groups)


def flatten_groups(history: History, groups: Sequence[Group]) -> Sequence[Message]:
    """List the messages of a history's remaining groups."""
    return history.messages if groups is history.groups else flatten(groups)


def truncate_groups(
    groups: Sequence[Group],
    counts: Sequence[int],
    drain: int,
    *,
    preserve_system: bool = True,
    preserve_first_user: bool = False,
) -> Sequence[Group]:
    """Drop the oldest groups until their counts sum to ``drain``."""
    protected = _newest(groups)
    if preserve_system:
        protected |= {i for i, g in enumerate(groups) if g.kind == "system"}
    if preserve_first_user:
        protected |= set([i for i, g in enumerate(groups) if g.kind == "user"][:1])
    gone = set()
    size = sum(counts)
    for number in range(len(groups)):
        if size <= drain:
            break
        if number not in protected:
            gone.add(number)
            size -= counts[number]
    return _without(groups, gone)


def window_groups(groups: Sequence[Group], keep: int, *, preserve_system: bool = True) -> Sequence[Group]:
    """The last groups that are no system messages, and the system messages."""
    others = [i for i, g in enumerate(groups) if g.kind != "system"]
    gone = set(others[:-keep])
    if not preserve_system:
        gone |= {i for i, g in enumerate(groups) if g.kind == "system"}
    return _without(groups, gone)


def collapse_groups(history: History, groups: Sequence[Group], keep: int, max_chars: int) -> Sequence[Group]:
    """The groups with each older group of tool calls as one text in its place."""
    older = _older_tool_groups(groups, keep)
    if not older:
        return groups
    return [
        Group("assistant_text", (make_once(history.counter, _collapse, g.messages, max_chars),), g.positions[:1])
        if i in older
        else g
        for i, g in enumerate(groups)
    ]


def _newest(groups: Sequence[Group]) -> set[int]:
    """The group that keeps a context from becoming empty: the last one, a system message only if there is no other."""
    others = [i for i, g in enumerate(groups) if g.kind != "system"]
    return set((others or list(range(len(groups))))[-1:])


def _older_tool_groups(groups: Sequence[Group], keep: int) -> set[int]:
    numbers = [i for i, g in enumerate(groups) if g.kind == "tool_call"]
    return set(numbers[: max(0, len(numbers) - keep)])


def _without(groups: Sequence[Group], gone: Collection[int]) -> Sequence[Group]:
    return [g for i, g in enumerate(groups) if i not in gone] if gone else groups


def _collapse(messages: tuple[Message, ...], max_chars: int) -> Message:
    names = {call.id: call.name for m in messages for call in m.tool_calls if call.id and call.name}
    results = [
        f"{names[m.tool_call_id]}: {m.text}" if m.tool_call_id in names else m.text
        for m in messages
        if m.role == "tool"
    ]
    text = _tool_results([result.strip() for result in results], max_chars)
    return Message("assistant", text, covers=stands_for(messages))


def _tool_results(results: Sequence[str], max_chars: int) -> str:
    label = "; ".join(results) if results else NO_RESULTS
    text = f"{PREFIX}{label}{SUFFIX}"
    if len(text) <= max_chars:
        return text
    room = max_chars - len(PREFIX) - len(CUT_MARK) - len(SUFFIX)
    return f"{PREFIX}{label[: max(room, 0)].rstrip()}{CUT_MARK}{SUFFIX}"

"""Microsoft Agent Framework's strategies for .NET, from the source at commit 5eb3eb7. Read, not run.

Each has a trigger and a target (``compaction.triggers``), the target being the opposite of the trigger where none is
given, and a floor that it does not go below. They work on one index, group by group from the oldest, and ask for the
target after each. Compaction is forced at the point: where the trigger does not hold, a strategy still works towards
its target, unless ``forced`` is off. Tokens are the project's exact ones; the original's, without a tokenizer, are a
quarter of a group's bytes, which a trigger can name too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from compaction.groups import COLLAPSED_MARK, NAMES_MARK, IndexedGroup, index_groups
from compaction.markers import CALL, RESULT, Marker, headings, removed, wrapper
from compaction.model import BlankSummaryError, Section, SummaryError, SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import make_once, stands_for
from compaction.strategies.shared.requests import instructions
from compaction.strategy import History
from compaction.tokens import counted
from compaction.transcript import Message
from compaction.triggers import Meter, Trigger

PEER = "agent-framework .NET"
COMMIT = "5eb3eb7"

FILLED = Trigger("tokens>80%")
"""Where the original's ContextWindow strategy truncates."""
TOOL_RESULTS, SUMMARY, TURNS, LAST = map(Trigger, ("tokens>512", "tokens>1280", "turns>4", "tokens>32768"))
"""The triggers of the documentation's pipeline, step by step."""

SUMMARY_MARK = "[Summary]"
UNAVAILABLE = "[Summary unavailable]"
SUMMARY_TOKENS = 1500
"""The original asks for brevity and sets no limit; the figure is that of the other strategies here."""

SECTIONS = (
    Section("Key facts", ("intent", "decisions", "files"), "Key facts, decisions, and what the user prefers."),
    Section("Context", ("state", "next_steps"), "What will be needed further on."),
    Section("Tool outcomes", ("errors", "details"), "What the tools that were called gave, and what that means."),
)

_FIRST = re.compile(r"^(\S.*):\n  - ", re.MULTILINE)
_LISTED = re.compile(r"^  - ", re.MULTILINE)


def _listed_results(holes: Mapping[str, str]) -> str:
    """A collapsed group as the results that it lists: a line with a tool's name, and its results under it.

    The beginning of a tool's second result cannot be distinguished from a list in the first one.
    """
    return _LISTED.sub("", _FIRST.sub(rf"{RESULT}\1: ", holes["lines"]))


def _called_tools(holes: Mapping[str, str]) -> str:
    return "\n".join(CALL + name for name in holes["names"].split(", "))


COLLAPSED = (
    Marker(COLLAPSED_MARK + "\n{lines}", _listed_results, "whole", made=True),
    Marker(NAMES_MARK + " {names}]", _called_tools),
    *wrapper(COLLAPSED_MARK),
)
SUMMARISED = (*removed(UNAVAILABLE), *wrapper(SUMMARY_MARK + "\n", SUMMARY_MARK), *headings(SECTIONS))

Groups = Sequence[IndexedGroup]
Mode = Literal["faithful", "valid"]
Text = Literal["results", "names"]


@dataclass(frozen=True)
class _Rule:
    """The start and the end of a strategy's work, as triggers."""

    trigger: Trigger
    target: Trigger
    forced: bool

    @classmethod
    def of(cls, trigger: Trigger, target: Trigger | None = None, *, forced: bool = True) -> _Rule:
        return cls(trigger, trigger.inverse if target is None else target, forced)

    def begins(self, meter: Meter) -> bool:
        if meter.groups - meter.system_groups <= 1:
            return False
        return self.trigger.holds(meter) or (self.forced and not self.target.holds(meter))


@strategy("af_net_truncation", peer=PEER, peer_version=COMMIT, bites={"minimum_preserved_groups": 2}, by_default=False)
def net_truncation(
    history: History,
    *,
    trigger: Trigger = FILLED,
    target: Trigger | None = None,
    minimum_preserved_groups: int = 32,
    forced: bool = True,
) -> Sequence[Message]:
    """The oldest groups go one by one until ``target`` holds, but never the last ``minimum_preserved_groups``.

    The original takes any ``trigger``; 80 % of the budget is where its ContextWindow strategy truncates. It is asked
    only when ``forced`` is off.
    """
    rule = _Rule.of(trigger, target, forced=forced)
    return _on_index(history, lambda groups: _truncate(history, groups, rule, minimum_preserved_groups))


@strategy("af_net_sliding", peer=PEER, peer_version=COMMIT, bites={"keep_last_turns": 1}, by_default=False)
def net_sliding(
    history: History,
    *,
    keep_last_turns: int = 4,
    minimum_preserved_turns: int = 1,
    trigger: Trigger | None = None,
    target: Trigger | None = None,
    forced: bool = True,
) -> Sequence[Message]:
    """The last ``keep_last_turns`` user turns, the system messages, and what was said before the first turn.

    A turn begins at a user message and is dropped as a whole; ``minimum_preserved_turns`` is a floor that the target
    cannot go below. A session with a single user turn stays as it is. The original takes any ``trigger`` and
    ``target``; without them the trigger is more than ``keep_last_turns`` turns, of which 4 is its documentation's
    example. Summaries belong to no turn and stay. It pairs calls with results by adjacency only, so a result that
    came after the next user message can lose its call. Without ``forced`` the trigger is asked.
    """
    rule = _Rule.of(Trigger(f"turns>{keep_last_turns}") if trigger is None else trigger, target, forced=forced)
    return _on_index(history, lambda groups: _slide(history, groups, rule, minimum_preserved_turns))


@strategy(
    "af_net_tool_result",
    peer=PEER,
    peer_version=COMMIT,
    variants=({"minimum_preserved_groups": 2, "text": "names"},),
    markers=COLLAPSED,
    bites={"trigger": Trigger("tokens>10"), "minimum_preserved_groups": 2},
    by_default=False,
)
def net_tool_result(
    history: History,
    *,
    trigger: Trigger = TOOL_RESULTS,
    target: Trigger | None = None,
    minimum_preserved_groups: int = 16,
    text: Text = "results",
    forced: bool = True,
) -> Sequence[Message]:
    """Tool calls before the last ``minimum_preserved_groups`` groups become one text with their results.

    Group by group until ``target`` holds. The ``text`` lists results by tool, whole and without the arguments, or
    (``names``) the tools' names alone. The floor counts groups of any kind but system. The documentation's example has
    the ``trigger``, a floor of 2, and names; it is asked only when ``forced`` is off.
    """
    rule = _Rule.of(trigger, target, forced=forced)
    return _on_index(history, lambda groups: _collapse(history, groups, rule, minimum_preserved_groups, text))


@strategy(
    "af_net_summarization",
    needs_model=True,
    peer=PEER,
    peer_version=COMMIT,
    variants=({"minimum_preserved_groups": 4},),
    markers=SUMMARISED,
    bites={"trigger": Trigger("tokens>10"), "minimum_preserved_groups": 2},
    by_default=False,
)
def net_summarization(
    history: History,
    *,
    trigger: Trigger = SUMMARY,
    target: Trigger | None = None,
    minimum_preserved_groups: int = 8,
    summary_tokens: Positive = SUMMARY_TOKENS,
    forced: bool = True,
    mode: Mode = "valid",
) -> Sequence[Message]:
    """The oldest groups become one summary, all but the last ``minimum_preserved_groups`` or until ``target`` holds.

    The summariser is shown the messages themselves, however many. ``faithful``: a blank summary still takes the place
    of the history, as ``[Summary unavailable]``; under ``valid`` it fails the compaction. The ``trigger`` is the
    documentation's example, whose floor is 4; it is asked only when ``forced`` is off.
    """
    rule = _Rule.of(trigger, target, forced=forced)
    return _on_index(
        history, lambda groups: _summarize(history, groups, rule, minimum_preserved_groups, summary_tokens, mode)
    )


@strategy(
    "af_net_pipeline",
    needs_model=True,
    peer=PEER,
    peer_version=COMMIT,
    markers=(*COLLAPSED, *SUMMARISED),
    bites={
        "tool_result_trigger": Trigger("tokens>10"),
        "summarization_trigger": Trigger("tokens>10"),
        "sliding_trigger": Trigger("turns>1"),
        "truncation_trigger": Trigger("tokens>24"),
        "tool_result_floor": 2,
        "summarization_floor": 4,
        "truncation_floor": 2,
    },
)
def net_pipeline(
    history: History,
    *,
    tool_result_trigger: Trigger = TOOL_RESULTS,
    summarization_trigger: Trigger = SUMMARY,
    sliding_trigger: Trigger = TURNS,
    truncation_trigger: Trigger = LAST,
    tool_result_floor: int = 16,
    summarization_floor: int = 8,
    sliding_floor: int = 1,
    truncation_floor: int = 32,
    summary_tokens: Positive = SUMMARY_TOKENS,
    mode: Mode = "valid",
) -> Sequence[Message]:
    """Tool results collapsed, a summary, old turns dropped, old groups dropped: each step by its own trigger.

    The documentation's composition with its thresholds (``tool_result_trigger``, ``summarization_trigger``,
    ``sliding_trigger``, ``truncation_trigger``) and the classes' floors (``tool_result_floor``,
    ``summarization_floor``, ``sliding_floor``, ``truncation_floor``), on one index. It does not stop early.
    ``faithful``: a summary that fails leaves its step out, a blank one takes the place of the history; under ``valid``
    both fail the compaction.
    """

    def run(groups: Groups) -> Groups:
        if sum(group.kind != "system" for group in groups) <= 1:
            return groups
        groups = _collapse(history, groups, _Rule.of(tool_result_trigger), tool_result_floor)
        summarize = _Rule.of(summarization_trigger)
        try:
            groups = _summarize(history, groups, summarize, summarization_floor, summary_tokens, mode)
        except SummaryError:
            if mode == "valid":
                raise
            history.flag("summary_failed")
        groups = _slide(history, groups, _Rule.of(sliding_trigger), sliding_floor)
        return _truncate(history, groups, _Rule.of(truncation_trigger), truncation_floor)

    return _on_index(history, run)


def _on_index(history: History, run: Callable[[Groups], Groups]) -> Sequence[Message]:
    groups = index_groups(history.messages, history.session)
    left = run(groups)
    return history.messages if left is groups else [message for group in left for message in group.messages]


def _meter(history: History, groups: Groups) -> Meter:
    return Meter(groups, history.counter, history.budget)


def _truncate(history: History, groups: Groups, rule: _Rule, floor: int) -> Groups:
    gone = _oldest(history, groups, rule, floor)
    return [group for i, group in enumerate(groups) if i not in gone] if gone else groups


def _oldest(history: History, groups: Groups, rule: _Rule, floor: int) -> set[int]:
    """Choose the groups to drop, from the oldest, until the target holds or the floor is reached."""
    meter = _meter(history, groups)
    if not rule.begins(meter):
        return set()
    others = [i for i, group in enumerate(groups) if group.kind != "system"]
    gone: set[int] = set()
    for number in others[: max(0, len(others) - floor)]:
        gone.add(number)
        meter.drop(groups[number])
        if rule.target.holds(meter):
            return gone
    history.flag("floor_reached")
    return gone


def _slide(history: History, groups: Groups, rule: _Rule, floor: int) -> Groups:
    meter = _meter(history, groups)
    if not rule.begins(meter):
        return groups
    turns: dict[int, list[int]] = {}
    for number, group in enumerate(groups):
        if group.turn is not None:
            turns.setdefault(group.turn, []).append(number)
    gone: set[int] = set()
    for turn in list(turns)[: max(0, len(turns) - floor)]:
        if turn == 0:
            continue
        for number in turns[turn]:
            gone.add(number)
            meter.drop(groups[number])
        if rule.target.holds(meter):
            break
    else:
        history.flag("floor_reached")
    return [group for i, group in enumerate(groups) if i not in gone] if gone else groups


def _collapse(history: History, groups: Groups, rule: _Rule, floor: int, text: Text = "results") -> Groups:
    meter = _meter(history, groups)
    if not rule.begins(meter):
        return groups
    others = [i for i, group in enumerate(groups) if group.kind != "system"]
    left = list(groups)
    done = False
    for number in others[: max(0, len(others) - floor)]:
        if groups[number].kind != "tool_call":
            continue
        left[number] = _in_one(history, groups[number], text)
        meter.drop(groups[number])
        meter.add(left[number])
        done = True
        if rule.target.holds(meter):
            return left
    history.flag("floor_reached")
    return left if done else groups


def _in_one(history: History, group: IndexedGroup, text: Text) -> IndexedGroup:
    message = make_once(history.counter, _in_one_message, group.messages, text)
    return IndexedGroup("summary", (message,), group.turn)


def _in_one_message(messages: tuple[Message, ...], text: Text) -> Message:
    if text == "names":
        shown = f"{NAMES_MARK} {', '.join(call.name for m in messages for call in m.tool_calls)}]"
    else:
        shown = _tool_calls(messages)
    return Message("assistant", shown, covers=stands_for(messages))


def _tool_calls(messages: Sequence[Message]) -> str:
    """Write the calls of a group by tool, in the order of first use, with each result.

    A result without an id belongs to the next call that has none of its own.
    """
    by_id = {m.tool_call_id: m.text for m in messages if m.role == "tool" and m.tool_call_id is not None}
    loose = iter([m.text for m in messages if m.role == "tool" and m.tool_call_id is None and m.text])
    found: dict[str, list[str]] = {}
    for call in (call for m in messages for call in m.tool_calls):
        result = by_id[call.id] if call.id in by_id else next(loose, "")
        found.setdefault(call.name, []).extend([result] if result else [])
    lines = [line for name, results in found.items() for line in (f"{name}:", *(f"  - {r}" for r in results))]
    return "\n".join([COLLAPSED_MARK, *lines])


def _summarize(history: History, groups: Groups, rule: _Rule, floor: int, summary_tokens: int, mode: Mode) -> Groups:
    gone = _oldest(history, groups, rule, floor)
    span = tuple(message for number in sorted(gone) for message in groups[number].messages)
    if not span or (len(gone) == 1 and rule.forced and _is_summary(groups[min(gone)])):
        return groups
    asks = "\n".join(f"- {section.ask}" for section in SECTIONS)
    prompt = instructions(history, "af_net_summarization", SECTIONS, summary_tokens, asks=asks)
    try:
        text = history.summarize(SummaryRequest((Message("system", prompt), *span), span, SECTIONS, "", summary_tokens))
    except BlankSummaryError:
        if mode == "valid":
            raise
        history.flag("blank_summary")
        text = UNAVAILABLE
    message = counted(Message("assistant", f"{SUMMARY_MARK}\n{text}", covers=stands_for(span)), history.counter)
    made, first = IndexedGroup("summary", (message,), None), min(gone)
    return [made if i == first else group for i, group in enumerate(groups) if i == first or i not in gone]


def _is_summary(group: IndexedGroup) -> bool:
    """Whether a group came of a summary; a collapsed group of calls does not count."""
    return group.kind == "summary" and group.turn is None

"""What docs/strategies.md promises, for every method as it is shipped, on sessions that are large enough for it.

``test_strategies`` has the same promises for small parameters on generated histories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import pytest

from compaction import CompactedContext, Message, Method, NotApplicable, SummaryError, compact
from compaction.groups import without_other_half
from compaction.points import legal_cuts
from compaction.strategies.shared.parts import stands_for
from compaction.strategy import History
from compaction.testing import ScriptedProvider, ScriptedSummarizer, natives_of
from compaction.triggers import Trigger
from tests.compaction.histories import COUNTER, build, compacted, random_words, timed, varied
from tests.compaction.shipped import SHIPPED
from tests.compaction.test_strategies import BREAKS_PAIRS, COMPOSED, FORGETS, REWRITES, TAKES_MORE, gist

BUDGET = 16_000
MESSAGES = 600
SEEDS = (1,)
FEW_POINTS = 5

every_method = pytest.mark.parametrize("name", SHIPPED)
A_PART_AT_A_TIME = {"af_py_summarization"}
"""Shows its summariser at most so many tokens a call (``max_summary_input_tokens``), and goes on where it ended."""
FORGETS_UNSHOWN = {"langchain_summary(trim_tokens=4000,mode=faithful)"}
"""Loses what its summariser is not shown, an earlier summary too."""


@cache
def session(seed: int) -> tuple[Message, ...]:
    """Some 600 messages and 100,000 tokens, more than any default keeps: blocks of which each has ids of its own."""
    said: list[Message] = list(build(["system", "user"]))
    number = seed * 1000
    while len(said) < MESSAGES:
        number += 1
        words = [word for word in random_words(number) if word != "giant" or number % 10 == 0]
        for message in build([*words, "user", *["call1", "result"] * 4, "text"]):
            calls = tuple(replace(call, id=f"{number}/{call.id}") for call in message.tool_calls)
            asked = message.tool_call_id and f"{number}/{message.tool_call_id}"
            said.append(replace(message, seq=len(said), tool_calls=calls, tool_call_id=asked))
    return varied(timed(tuple(said)))


@dataclass(frozen=True)
class Cycle:
    """One compaction of a chain, or of a whole session."""

    given: tuple[Message, ...]
    said: tuple[Message, ...]
    found: CompactedContext


def run(method: Method, given: tuple[Message, ...], said: tuple[Message, ...]) -> CompactedContext | None:
    """What a method leaves; None where it has nothing to say, or where its summariser was asked for too much."""
    provider = ScriptedProvider()
    recorded = tuple(compacted(said))
    history = History(
        given,
        COUNTER,
        BUDGET,
        (),
        ScriptedSummarizer(gist),
        session=said,
        recorded=recorded,
        natives=natives_of(provider),
    )
    try:
        return compact(history, method)
    except (NotApplicable, SummaryError):
        return None


@cache
def whole(name: str, seed: int) -> Cycle | None:
    """A method's compaction of a whole session."""
    said = session(seed)
    found = run(SHIPPED[name], said, said)
    return None if found is None else Cycle(said, said, found)


@cache
def chain(name: str, seed: int) -> tuple[Cycle, ...]:
    """A method's compactions of a session at several points, each of what the last one left and what came since."""
    messages = session(seed)
    legal = [position for position, is_legal in enumerate(legal_cuts(messages)) if is_legal]
    step = len(messages) // FEW_POINTS
    cuts = [next(p for p in legal if p >= step * (n + 1)) for n in range(FEW_POINTS - 1)]
    left: tuple[Message, ...] = ()
    cycles, start = [], 0
    for cut in cuts:
        given = (*left, *messages[start:cut])
        found = run(SHIPPED[name], given, messages[:cut])
        left, start = given if found is None else found.messages, cut
        if found is not None:
            cycles.append(Cycle(given, messages[:cut], found))
    return tuple(cycles)


def cycles(name: str) -> Iterator[Cycle]:
    for seed in SEEDS:
        single = whole(name, seed)
        yield from () if single is None else (single,)
        yield from chain(name, seed)


def test_the_sessions_are_large_enough_for_every_method_to_change_something() -> None:
    idle = {name for name in SHIPPED if all(cycle.found.messages == cycle.given for cycle in cycles(name))}
    assert idle == {"none"}


@every_method
def test_each_message_of_the_session_has_one_fate_in_chains_too(name: str) -> None:
    for cycle in cycles(name):
        found = cycle.found
        parts = (found.kept, found.edited, found.covered, found.dropped)
        assert sorted(seq for part in parts for seq in part) == list(range(len(cycle.said)))
        left = {message.seq: message for message in found.messages}
        assert all(left[seq] == cycle.said[seq] for seq in found.kept)
        assert all(left[seq] != cycle.said[seq] for seq in found.edited)
        assert found.covered <= set(stands_for(found.messages))


@every_method
def test_halves_of_calls_more_tokens_and_more_than_the_limit_are_flagged(name: str) -> None:
    method = SHIPPED[name]
    for cycle in cycles(name):
        flags, tokens = cycle.found.flags, sum(message.tokens or 0 for message in cycle.found.messages)
        broken = without_other_half(cycle.found.messages) - without_other_half(cycle.said)
        assert ("invalid_context" in flags) == bool(broken)
        assert not broken or method.strategy.id in BREAKS_PAIRS or method.mode != "valid"
        assert ("grew" in flags) == (tokens > sum(message.tokens or 0 for message in cycle.given))
        limit = method.limit(History(cycle.given, COUNTER, BUDGET, session=cycle.said))
        assert ("over_budget" in flags) == (limit is not None and tokens > limit)
        if (target := method.params.get("target", method.params.get("trigger"))) is not None and name.startswith(
            "af_net"
        ):
            left = History(cycle.found.messages, COUNTER, BUDGET, session=cycle.said)
            is_target = method.params.get("target") is not None
            assert Trigger(target).fires(left) == is_target or "floor_reached" in flags


def test_every_strategy_with_a_budget_of_its_own_says_it() -> None:
    """One with a parameter for the tokens that stay as a whole; other figures are of a part of these, or triggers."""
    said = session(1)
    given = History(said, COUNTER, BUDGET, session=said)
    limits = {m.strategy.id: m.limit(given) for m in SHIPPED.values() if m.name == m.strategy.id}
    assert {id: limit for id, limit in limits.items() if limit is not None} == {
        "recency": sum(message.tokens or 0 for message in said) // 10,
        "primacy": sum(message.tokens or 0 for message in said) // 10,
        "condenser_summary": 96_000,
        "af_py_truncation": BUDGET // 2,
        "af_py_context_window": BUDGET,
        "af_py_token_budget": 16_000,
        "tool_fifo": BUDGET,
        "retrieval_bm25": BUDGET * 7 // 10,
        "langmem_running": BUDGET // 2,
        "letta_sliding": BUDGET,
        "openhands_sdk": BUDGET,
    }


@every_method
def test_compacting_again_without_new_messages_changes_nothing_more(name: str) -> None:
    method = SHIPPED[name]
    kind = method.strategy.id, method.mode
    for seed in SEEDS:
        single = whole(name, seed)
        if single is None:
            continue
        once, again = single.found, run(method, single.found.messages, single.said)
        if kind in TAKES_MORE or method.strategy.id in A_PART_AT_A_TIME:
            for _ in range(len(single.said)):
                if again is None or again.messages == once.messages:
                    break
                once, again = again, run(method, again.messages, single.said)
        assert again is not None
        if method.strategy.id in REWRITES or kind in TAKES_MORE:
            same: Callable[[Message], object] = lambda message: (message.role, stands_for([message]))  # noqa: E731
            assert list(map(same, again.messages)) == list(map(same, once.messages))
        else:
            assert again.messages == once.messages


@every_method
def test_in_a_chain_what_is_covered_stays_covered_and_what_is_dropped_stays_away(name: str) -> None:
    method = SHIPPED[name]
    keeps = (
        name not in FORGETS_UNSHOWN
        and method.strategy.id not in COMPOSED
        and (method.strategy.id, method.mode) not in FORGETS
    )
    for seed in SEEDS:
        covered: frozenset[int] = frozenset()
        dropped: frozenset[int] = frozenset()
        for cycle in chain(name, seed):
            if method.needs_model and keeps:
                assert covered <= cycle.found.covered
            assert dropped <= cycle.found.dropped
            covered, dropped = cycle.found.covered, cycle.found.dropped


@every_method
def test_the_same_session_gives_the_same_context(name: str) -> None:
    single = whole(name, SEEDS[0])
    copies = tuple(replace(message) for message in session(SEEDS[0]))
    again = run(SHIPPED[name], copies, copies)
    assert (again and again.messages) == (single and single.found.messages)

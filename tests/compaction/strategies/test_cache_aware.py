"""Compaction at pauses, by hand: which pause counts, and what is left of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from compaction import CompactedContext, Message, NotApplicable, compact, parse_method
from compaction.testing import ScriptedSummarizer, history, talk


def timed(messages: Sequence[Message], *minutes: int) -> tuple[Message, ...]:
    """The messages at these minutes."""
    pairs = zip(messages, minutes, strict=True)
    return tuple(replace(m, timestamp=f"2026-01-01T{n // 60:02}:{n % 60:02}:00Z") for m, n in pairs)


def run(messages: Sequence[Message], budget: int, spec: str = "cache_aware(over=empty)") -> CompactedContext:
    return compact(history(tuple(messages), budget=budget, summarizer=ScriptedSummarizer()), parse_method(spec))


TALK = talk("s u a u a u a")


def test_what_was_said_since_the_last_long_pause_stays() -> None:
    found = run(timed(TALK, 0, 0, 1, 10, 11, 20, 21), 60)
    assert [m.seq for m in found.messages] == [0, 5, 6]
    assert found.flags == ("at_pause",)


@pytest.mark.parametrize(("minutes", "seqs"), [(4, range(7)), (5, [0, 5, 6])])
def test_a_pause_is_as_long_as_the_cache_lives_less_the_lead(minutes: int, seqs: Sequence[int]) -> None:
    found = run(timed(TALK, 0, 0, 0, 0, 0, minutes, minutes), 70)
    assert [m.seq for m in found.messages] == [*seqs]


def test_a_pause_early_in_the_session_is_not_worth_it() -> None:
    messages = timed(TALK, 0, 10, 11, 11, 11, 11, 11)
    assert run(messages, 70).messages == messages
    assert [m.seq for m in run(messages, 70, "cache_aware(over=empty,worth=0)").messages] == [0, *range(1, 7)]


def test_without_a_pause_it_works_at_the_point_once_the_budget_is_passed() -> None:
    messages = timed(TALK, *range(7))
    assert run(messages, 70).messages == messages
    assert [m.seq for m in run(messages, 69).messages] == [0]


def test_no_pause_counts_while_a_call_is_under_way() -> None:
    messages = timed(talk("s u a u a1 u"), 0, 0, 0, 0, 0, 30, 31)
    assert run(messages, 70).messages == messages


def test_a_summary_knows_nothing_of_what_came_after_the_pause_and_is_not_made_again() -> None:
    messages = timed(TALK, 0, 0, 1, 1, 1, 20, 21)
    found = run(messages, 60, 'cache_aware(over="freeform_summary")')
    made = [m for m in found.messages if m.seq is None]
    assert all(max(m.covers) < 5 for m in made)
    assert [m.seq for m in found.messages][-2:] == [5, 6]
    again = compact(
        history(found.messages, session=messages, budget=60, summarizer=ScriptedSummarizer()),
        parse_method('cache_aware(over="freeform_summary")'),
    )
    assert again.messages == found.messages


def test_a_log_without_times_says_so() -> None:
    with pytest.raises(NotApplicable, match="no times"):
        run(TALK, 60)


def test_a_summary_that_stands_alone_is_no_log_without_times() -> None:
    summary = Message("user", "earlier", seq=None, covers=(0, 1))
    assert run((summary,), 60).messages[0].text == "earlier"

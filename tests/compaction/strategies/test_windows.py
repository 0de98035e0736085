"""The windows of Strands and AutoGen, case by case."""

from __future__ import annotations

from typing import Any

from compaction import CompactedContext, Message, compact, make_method
from compaction.testing import history, talk

LONG = talk("s u a2 a u a1 a1 a")
"""0 s, 1 u, 2 calls, 3 and 4 results, 5 text, 6 u, 7 call, 8 result, 9 call, 10 result, 11 text."""


def run(spec: str, messages: tuple[Message, ...], session: tuple[Message, ...] = (), **params: Any) -> CompactedContext:
    return compact(history(messages, session=session), make_method(spec, params))


def seqs(context: CompactedContext) -> list[int | None]:
    return [m.seq for m in context.messages]


def test_a_strands_window_begins_at_a_user_message_and_counts_adjacent_results_once() -> None:
    """Ten messages to it: the two results of 2 are one."""
    assert run("strands_sliding", LONG, window_size=10).messages == LONG
    for size in (6, 7, 8, 9):
        assert seqs(run("strands_sliding", LONG, window_size=size)) == [0, *range(6, 12)]


def test_without_a_user_message_it_begins_at_a_call_that_is_answered_at_once() -> None:
    assert seqs(run("strands_sliding", LONG, window_size=5)) == [0, *range(7, 12)]
    assert seqs(run("strands_sliding", LONG, window_size=4)) == [0, 9, 10, 11]


def test_where_no_window_can_begin_nothing_goes_and_that_is_said() -> None:
    found = run("strands_sliding", talk("u a a a a"), window_size=2)
    assert (len(found.messages), found.flags) == (5, ("no_cut",))


def test_pinned_messages_stay_with_the_results_of_the_last_of_them() -> None:
    assert seqs(run("strands_sliding", LONG, window_size=6, pin_first=1)) == [0, 1, *range(6, 12)]
    assert seqs(run("strands_sliding", LONG, window_size=6, pin_first=2)) == [0, 1, 2, 3, 4, *range(6, 12)]


def test_head_and_tail_with_the_number_of_those_between_them() -> None:
    found = run("autogen_head_tail", LONG, head_size=1, tail_size=2)
    assert seqs(found) == [0, 1, None, 11]
    assert (found.messages[2].role, found.messages[2].text) == ("user", "Skipped 7 messages.")


def test_a_call_at_the_head_s_end_and_results_at_the_tail_s_beginning_are_dropped_and_not_counted() -> None:
    """Nine messages of Autogen's, two at the head and two at the tail, of which a call and a result go too."""
    found = run("autogen_head_tail", LONG, head_size=2, tail_size=2)
    assert seqs(found) == [0, 1, None, 11]
    assert found.messages[2].text == "Skipped 6 messages."


def test_it_is_a_view_of_the_whole_session_each_time() -> None:
    first = run("autogen_head_tail", LONG, head_size=1, tail_size=2)
    later = (*LONG, *talk("u a", first_seq=12))
    found = run("autogen_head_tail", (*first.messages, *later[12:]), later, head_size=1, tail_size=2)
    assert seqs(found) == [0, 1, None, 12, 13]
    assert found.messages[2].text == "Skipped 9 messages."


def test_a_short_session_stays_as_it_is() -> None:
    assert run("autogen_head_tail", LONG, head_size=5, tail_size=5).messages == LONG

"""Dropped messages that are fetched for a question, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compaction import Message, StrategyError, ToolCall, compact, parse_method
from compaction.strategies import recovery
from compaction.strategies.recovery import FetchRequest, Recovery, fetches_of
from compaction.testing import CharacterCounter, history
from compaction.tokens import counted

COUNTER = CharacterCounter()
SAID = (
    Message("user", "repair the login"),
    Message("assistant", "", tool_calls=(ToolCall("c1", "Edit", '{"path": "harbour.py"}'),)),
    Message("tool", "the harbour has three piers", tool_call_id="c1", tool_name="Edit"),
    Message("assistant", "lunch " * 30),
    Message("user", "what now?"),
)
SESSION = tuple(counted(replace(message, seq=n), COUNTER) for n, message in enumerate(SAID))


def test_a_search_finds_dropped_messages_by_texts_and_calls_and_brings_none_twice() -> None:
    found = Recovery((SESSION[0], SESSION[4]), SESSION)
    brought = found.fetch(FetchRequest("harbour login"))
    assert {message.seq for message in brought} == {1, 2}, "what is still there is not fetched"
    assert found.fetch(FetchRequest("harbour")) == ()
    assert found.context() == (*SESSION[:3], SESSION[4])


def test_what_stands_shortened_can_be_asked_for_by_its_number_and_takes_its_place() -> None:
    stub = SESSION[2].with_text("[cleared]")
    found = Recovery((*SESSION[:2], stub, *SESSION[3:]), SESSION)
    assert found.shortened == {2}
    assert found.fetch(FetchRequest(messages=(0, 99, 2))) == (SESSION[2],)
    assert found.context() == SESSION
    assert found.is_empty


def test_one_fetch_has_a_budget_and_the_message_beyond_it_is_cut_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "FETCH_TOKENS", 120)
    monkeypatch.setattr(recovery, "LEAST_ROOM", 10)
    long = counted(Message("tool", "first " + "x" * 4000 + " last", seq=0), COUNTER)
    other = counted(Message("tool", "y" * 40, seq=1), COUNTER)
    found = Recovery((), (other, long)[::-1])
    (short, cut) = found.fetch(FetchRequest(messages=(1, 0)))
    assert short == other
    assert cut.text.startswith("first x")
    assert recovery.CUT_MARK in cut.text
    assert cut.text.endswith("x last")
    assert COUNTER.count(cut.text.replace(recovery.CUT_MARK, "")) <= 120 - (other.tokens or 0) + 2


def test_the_strategy_leaves_what_the_other_leaves_and_fetches_with_the_questions_words() -> None:
    method = parse_method('recover(over="head_tail(head=1,tail=1)")')
    assert fetches_of(method) == 2
    left = compact(history(SESSION), method).messages
    assert left == compact(history(SESSION), parse_method("head_tail(head=1,tail=1)")).messages
    assert method.recalls
    assert [m.seq for m in method.recall(left, "Which piers has the harbour? Answer with the login.", SESSION)] == [
        0,
        1,
        2,
        4,
    ]
    assert recovery.request_for("Which pier? Answer in one line.") == FetchRequest("Which pier?")
    assert method.recall(left, "Breakfast?", SESSION) == left
    with pytest.raises(StrategyError, match="cannot be itself"):
        parse_method("recover(over=recover)")

"""The article's summary between both ends, by hand: what stays, what is asked, and what the hard limit takes."""

from __future__ import annotations

from compaction import compact, make_method
from compaction.compact import CompactedContext
from compaction.strategies.condenser import MARK
from compaction.testing import ScriptedSummarizer, history, talk
from compaction.transcript import Message

SAID = talk("s u a a a a a a a a")
"""The task and eight answers of 10 tokens each, behind a system prompt."""


def run(messages: tuple[Message, ...], model: ScriptedSummarizer, **params: int) -> CompactedContext:
    return compact(history(messages, summarizer=model), make_method("condenser_summary", {"tail": 3, **params}))


def test_both_ends_stay_and_the_middle_becomes_a_memory() -> None:
    model = ScriptedSummarizer()
    found = run(SAID, model)
    assert [m.seq for m in found.messages] == [0, 1, None, 7, 8, 9]
    assert found.messages[2].covers == (2, 3, 4, 5, 6)
    assert found.messages[2].text == f"{MARK}\n\nSUMMARY 1"
    [request] = model.requests
    assert f"<task>\n{SAID[1].text}\n</task>" in request.prompt[-1].text
    assert request.previous == ""


def test_the_memory_goes_into_the_next_one() -> None:
    model = ScriptedSummarizer()
    first = run(SAID, model)
    again = run((*first.messages, *talk("a a", first_seq=10)), model)
    assert [m.seq for m in again.messages] == [0, 1, None, 9, 10, 11]
    assert again.messages[2].covers == (2, 3, 4, 5, 6, 7, 8)
    assert model.requests[1].previous == "SUMMARY 1"
    assert [m.seq for m in model.requests[1].span] == [7, 8]


def test_the_hard_limit_takes_the_oldest_of_the_last_messages_and_spares_the_memory() -> None:
    model = ScriptedSummarizer()
    whole = sum(m.tokens or 0 for m in run(SAID, model).messages)
    found = run(SAID, model, max_input_tokens=whole - 1)
    assert [m.seq for m in found.messages] == [0, 1, None, 8, 9]
    assert found.flags == ()
    tight = run(SAID, model, max_input_tokens=1)
    assert [m.seq for m in tight.messages] == [0, 1, None]
    assert tight.flags == ("over_budget",)


def test_no_call_is_parted_from_its_result_at_either_end() -> None:
    model = ScriptedSummarizer()
    found = run(talk("u a1 a a1 a1"), model, head=2, tail=1)
    assert [m.seq for m in found.messages] == [0, 1, 2, None, 6, 7]


def test_nothing_is_asked_where_both_ends_meet() -> None:
    model = ScriptedSummarizer()
    assert run(SAID[:5], model).messages == SAID[:5]
    assert run((), model).messages == ()
    assert model.requests == []

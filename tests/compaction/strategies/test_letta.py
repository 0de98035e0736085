"""Letta's sliding window, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from compaction import CompactedContext, Message, SummaryError, compact, make_method
from compaction.model import ContextOverflowError, SummaryRequest
from compaction.strategies.letta import ALL_NOTE, CUT_MARK, WINDOW_NOTE, render_messages
from compaction.testing import ScriptedSummarizer, blank, failing, history, talk
from compaction.transcript import ToolCall

LONG = talk("s u a1 a1 u a1 a1 u a")
"""13 messages of 10 tokens: 0 s, 1 u, 2 call, 4 call, 6 u, 7 call, 9 call, 11 u, 12 text."""


def run(messages: tuple[Message, ...], model: ScriptedSummarizer | None = None, **params: Any) -> CompactedContext:
    budget = params.pop("budget", 130)
    given = history(messages, budget=budget, summarizer=model or ScriptedSummarizer())
    return compact(given, make_method("letta_sliding", params))


def seqs(context: CompactedContext) -> list[int | None]:
    return [m.seq for m in context.messages]


def test_the_cut_is_at_the_last_assistant_message_within_the_share() -> None:
    """0.4 of 13 messages is the fifth position; the assistant message up to there is 4. 100 tokens stay, under 0.7."""
    model = ScriptedSummarizer()
    found = run(LONG, model, budget=150)
    assert seqs(found) == [0, None, *range(4, 13)]
    assert (found.messages[1].role, found.messages[1].text) == ("user", f"{WINDOW_NOTE}SUMMARY 1")
    assert (found.messages[1].covers, [m.seq for m in model.requests[0].span]) == ((1, 2, 3), [1, 2, 3])


@pytest.mark.parametrize(("budget", "first"), [(144, 4), (142, 7), (101, 7), (100, 9), (72, 9)])
def test_the_share_grows_by_a_tenth_until_less_than_seven_tenths_of_the_budget_stay(budget: int, first: int) -> None:
    """From 4 on 100 tokens stay with the system prompt, from 7 on 70, from 9 on 50."""
    assert seqs(run(LONG, budget=budget))[:3] == [0, None, first]


@pytest.mark.parametrize("shape", ["s u u u a", "s u u u u", "s t t t t"])
def test_without_an_assistant_message_before_the_last_one_everything_is_summarised(shape: str) -> None:
    found = run(talk(shape), budget=60)
    assert seqs(found) == [0, None]
    assert found.messages[1].text == f"{ALL_NOTE}SUMMARY 1"


def test_where_no_cut_leaves_little_enough_everything_is_summarised() -> None:
    assert seqs(run(LONG, budget=20)) == [0, None]


def test_a_summariser_that_fails_or_says_nothing_is_asked_for_a_summary_of_everything() -> None:
    def once(error: str) -> ScriptedSummarizer:
        answers = iter([error])
        return ScriptedSummarizer(lambda request: next(answers, "all of it"))

    found = run(LONG, model := once(" "), budget=150)
    assert [len(request.span) for request in model.requests] == [3, 12]
    assert (found.messages[1].text, found.flags) == (f"{ALL_NOTE}all of it", ("fell_back",))
    for handler in (failing, blank):
        with pytest.raises(SummaryError):
            run(LONG, ScriptedSummarizer(handler), budget=150)


def test_when_the_request_is_too_long_results_are_cut_and_everything_is_not_tried() -> None:
    messages = tuple(m.with_text("x" * 6000) if m.seq == 3 else m for m in LONG)
    answers: list[SummaryRequest] = []

    def overflowing(request: SummaryRequest) -> str:
        answers.append(request)
        raise ContextOverflowError("too long")

    with pytest.raises(ContextOverflowError):
        run(messages, ScriptedSummarizer(overflowing), budget=150)
    assert [len(request.span[-1].text) for request in answers] == [6000, 5000 + len("... [truncated 1000 chars]")]


def test_the_transcript_has_a_line_a_message_without_reasoning_and_later_system_messages() -> None:
    calls = (ToolCall("1", "ls", '{"path": "."}'), ToolCall("2", "pwd", "{}"))
    span = (
        Message("user", "go", seq=0),
        Message("assistant", "look", "thought", calls, seq=1),
        Message("tool", "a.py", tool_call_id="1", seq=2),
        Message("assistant", "", tool_calls=calls[:1], seq=3),
        Message("assistant", "", "only a thought", seq=4),
    )
    assert render_messages(span).split("\n") == [
        "[user] go",
        '[assistant] look -> ls({"path": "."}), pwd({})',
        "[tool] a.py",
        '[assistant] -> ls({"path": "."})',
    ]
    model = ScriptedSummarizer()
    found = run(talk("s u s a u a a u a"), model, budget=120)
    assert [m.seq for m in model.requests[0].span] == [1]
    assert (found.covered, found.dropped) == ({1}, {2})


def test_a_long_summary_is_clipped() -> None:
    found = run(LONG, ScriptedSummarizer(lambda request: "word " * 30), budget=150, clip_chars=9)
    assert found.messages[1].text == f"{WINDOW_NOTE}word word{CUT_MARK}"


def test_an_earlier_summary_is_evicted_first_and_stays_covered() -> None:
    model = ScriptedSummarizer()
    first = run(LONG, model, budget=150)
    found = run((*first.messages, *talk("u a u", first_seq=13)), model, budget=150)
    assert model.requests[1].span[0].text == f"{WINDOW_NOTE}SUMMARY 1"
    assert {1, 2, 3} < found.covered

"""opencode's summary: cases of its own tests as vectors, and rules read off its source, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from compaction import CompactedContext, Message, SummaryError, ToolCall, compact, make_method
from compaction.strategies.opencode import CLEARED, QUESTION, estimated_tokens, tail_start
from compaction.testing import ScriptedSummarizer, blank, history, talk


def users(*texts: str, start: int = 0) -> tuple[Message, ...]:
    return tuple(Message("user", text, seq=start + i) for i, text in enumerate(texts))


def run(
    messages: Sequence[Message], model: ScriptedSummarizer | None = None, *, budget: int = 100_000, **params: Any
) -> CompactedContext:
    given = history(messages, budget=budget, summarizer=model or ScriptedSummarizer())
    return compact(given, make_method("opencode_summary", params))


def spans(model: ScriptedSummarizer) -> list[list[str]]:
    return [[m.text for m in request.span] for request in model.requests]


# The tail


def test_the_last_two_turns_stay() -> None:
    assert tail_start(users("first", "second", "third"), 2, 10_000) == 1


def test_the_tail_shrinks_to_the_turns_that_fit() -> None:
    assert tail_start(users("first", "x" * 2_000, "tiny"), 2, 100) == 2


def test_when_the_last_turn_alone_is_too_large_nothing_stays() -> None:
    assert tail_start(users("first", "y" * 2_000), 1, 20) == 2


def test_a_tail_that_would_be_everything_is_summarised_too() -> None:
    assert tail_start(users("first", "second"), 2, 10_000) == 2


def test_without_turns_or_a_wish_for_them_nothing_stays() -> None:
    assert tail_start(talk("a1 a a1"), 2, 10_000) == 5
    assert tail_start(users("first", "second", "third"), 0, 10_000) == 3


def test_a_turn_reaches_to_the_next_user_message() -> None:
    messages = talk("a u a1 a u a1 a1 u a")
    assert tail_start(messages, 2, 10_000) == 5
    assert tail_start(messages, 1, 10_000) == 10


def test_turns_that_fill_the_tokens_exactly_stay() -> None:
    """`[{"role":"user","content":[{"type":"text","text":"second"}]}]` has 61 characters: 15.25, rounded 15."""
    assert estimated_tokens(users("second")) == 15
    assert tail_start(users("first", "second"), 1, 15) == 1
    assert tail_start(users("first", "second"), 1, 14) == 2


def test_tokens_are_a_quarter_of_the_json_that_is_sent_rounded_to_the_nearest() -> None:
    call = ToolCall("c", "read", '{"path": "a.py"}')
    messages = (
        Message("user", "x" * 3),
        Message("assistant", "hi", reasoning="hm", tool_calls=(call,)),
        Message("tool", "é", tool_call_id="c", tool_name="read"),
        Message("tool", "😀", tool_call_id="c", tool_name="read"),
        Message("assistant"),
    )
    sent = (
        '[{"role":"user","content":[{"type":"text","text":"xxx"}]},'
        '{"role":"assistant","content":[{"type":"reasoning","text":"hm"},{"type":"text","text":"hi"},'
        '{"type":"tool-call","toolCallId":"c","toolName":"read","input":{"path":"a.py"}}]},'
        '{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"read",'
        '"output":{"type":"text","value":"é"}},{"type":"tool-result","toolCallId":"c","toolName":"read",'
        '"output":{"type":"text","value":"12"}}]}]'
    )
    assert estimated_tokens(messages) == round(len(sent) / 4)


@pytest.mark.parametrize(("budget", "tail"), [(1_000, 2_000), (16_000, 4_000), (32_000, 8_000), (68_000, 8_000)])
def test_the_tail_may_have_a_quarter_of_the_budget_between_two_and_eight_thousand_tokens(
    budget: int, tail: int
) -> None:
    envelope = len('[{"role":"user","content":[{"type":"text","text":""}]}]')
    fits = (*users("first"), *users("z" * (4 * tail - envelope), start=1))
    assert run(fits, budget=budget, tail_turns=1).kept == {1}
    over = (*users("first"), *users("z" * (4 * tail - envelope + 2), start=1))
    assert run(over, budget=budget, tail_turns=1).kept == set()


# What is left, and what the summariser is shown


def test_system_prompt_question_summary_and_tail_stay_in_this_order() -> None:
    found = run(talk("s u a1 a u a u a"))
    assert [m.seq for m in found.messages] == [0, None, None, 5, 6, 7, 8]
    assert [(m.role, m.text) for m in found.messages[1:3]] == [("user", QUESTION), ("assistant", "SUMMARY 1")]
    assert [m.covers for m in found.messages[1:3]] == [(1, 2, 3, 4)] * 2


def test_only_what_is_before_the_tail_is_summarised() -> None:
    model = ScriptedSummarizer()
    run(users("older context", "keep this turn", "and this one too"), model)
    assert spans(model) == [["older context"]]
    shown = "".join(m.text for m in model.requests[0].prompt)
    assert "older context" in shown
    assert "keep this turn" not in shown
    assert QUESTION not in shown


def test_when_the_tail_does_not_fit_all_is_summarised() -> None:
    model = ScriptedSummarizer()
    found = run(users("first", "y" * 2_000), model, tail_turns=1, tail_tokens=20)
    assert spans(model) == [["first", "y" * 2_000]]
    assert [m.seq for m in found.messages] == [None, None]


def test_the_prompt_asks_for_the_five_headings() -> None:
    model = ScriptedSummarizer()
    run(users("a", "b", "c"), model)
    for title in ("Goal", "Instructions", "Discoveries", "Accomplished", "Relevant files / directories"):
        assert f"## {title}\n" in model.requests[0].prompt[0].text


# Repeated


def test_recent_turns_from_before_a_compaction_stay_over_the_next() -> None:
    model = ScriptedSummarizer()
    first = run(users("one", "two", "three"), model).messages
    second = run((*first, *users("four", start=3)), model)
    assert [m.seq for m in second.messages] == [None, None, 2, 3]
    assert spans(model) == [["one"], [QUESTION, "SUMMARY 1", "two"]]
    assert second.covered == {0, 1}


def test_the_question_begins_no_turn_and_a_summary_alone_is_not_summarised() -> None:
    model = ScriptedSummarizer()
    left = run(users("one", "two", "three"), model).messages
    assert run(left, model).messages == left
    assert len(model.requests) == 1


def test_faithful_puts_the_tail_before_the_summary_which_then_belongs_to_its_last_turn() -> None:
    """So the next summary is written without the first, which stays beside it until its turn leaves the tail."""
    model = ScriptedSummarizer()
    first = run(users("one", "two", "three"), model, mode="faithful").messages
    assert [m.text for m in first] == ["two", "three", QUESTION, "SUMMARY 1"]
    second = run((*first, *users("four", start=3)), model, mode="faithful").messages
    assert [m.text for m in second] == ["three", QUESTION, "SUMMARY 1", "four", QUESTION, "SUMMARY 2"]
    assert spans(model)[1] == ["two"]
    third = run((*second, *users("five", start=4)), model, mode="faithful")
    assert [m.text for m in third.messages] == ["four", QUESTION, "SUMMARY 2", "five", QUESTION, "SUMMARY 3"]
    assert spans(model)[2] == ["three", QUESTION, "SUMMARY 1"]
    assert third.covered == {0, 1, 2}


@pytest.mark.parametrize(
    ("mode", "order"), [("fixed", [None, None, 4, 5, 6, 7]), ("faithful", [4, 5, None, None, 6, 7])]
)
def test_after_repeated_compactions_only_the_latest_and_its_tail_are_there(mode: str, order: list[int | None]) -> None:
    """Their own case: turns 1 and 2, a compaction that keeps 2, turn 3, a compaction that keeps 3, turn 4."""
    session = talk("u a u a u a u a")
    left: tuple[Message, ...] = ()
    for start, end in ((0, 4), (4, 6)):
        left = run((*left, *session[start:end]), tail_turns=1, mode=mode).messages
    assert [m.seq for m in (*left, *session[6:])] == order


# Pruning


def output(text: str, seq: int, name: str = "bash", **more: Any) -> Message:
    return Message("tool", text, tool_call_id=f"c{seq}", tool_name=name, seq=seq, **more)


def pruned(*outputs: Message, **params: Any) -> list[str]:
    """What the summariser is shown of some outputs of the first turn, two turns before the end."""
    model = ScriptedSummarizer()
    run((*users("first"), *outputs, *users("second", "third", start=90)), model, prune=True, **params)
    return [m.text for m in model.requests[0].span[1:]]


def test_an_old_output_of_fifty_thousand_tokens_is_cleared() -> None:
    assert pruned(output("x" * 200_000, 1)) == [CLEARED]


def test_the_output_of_a_skill_is_never_cleared_and_does_not_count() -> None:
    skill = output("x" * 200_000, 1, "skill")
    assert pruned(skill) == [skill.text]
    assert pruned(output("y" * 160_000, 1), output("x" * 200_000, 2, "skill")) == ["y" * 160_000, "x" * 200_000]


def test_the_newest_forty_thousand_tokens_stay() -> None:
    outputs = [output(letter * 80_000, i) for i, letter in enumerate("abcd", 1)]
    assert pruned(*outputs) == [CLEARED, CLEARED, "c" * 80_000, "d" * 80_000]


def test_pruning_that_frees_no_more_than_twenty_thousand_tokens_is_not_done() -> None:
    newest = output("n" * 160_000, 2)
    assert pruned(output("o" * 80_000, 1), newest) == ["o" * 80_000, newest.text]
    assert pruned(output("o" * 80_004, 1), newest) == [CLEARED, newest.text]


def test_failed_calls_keep_what_they_said() -> None:
    failed = output("e" * 200_000, 1, is_error=True)
    assert pruned(failed) == [failed.text]


def test_what_is_before_a_cleared_output_is_not_looked_at() -> None:
    outputs = [output("a" * 400_000, 1), output(CLEARED, 2), output("b" * 400_000, 3)]
    assert pruned(*outputs) == ["a" * 400_000, CLEARED, CLEARED]


def test_the_last_two_turns_are_never_pruned() -> None:
    large = output("x" * 400_000, 1)
    model = ScriptedSummarizer()
    run((*users("first"), large, *users("second", start=2)), model, prune=True, tail_turns=0)
    assert spans(model) == [["first", large.text, "second"]]


def test_without_prune_nothing_is_cleared() -> None:
    model = ScriptedSummarizer()
    run((*users("first"), output("x" * 400_000, 1), *users("b", "c", start=2)), model)
    assert CLEARED not in spans(model)[0]


def test_a_blank_summary_is_refused_and_taken_by_the_faithful_mode() -> None:
    with pytest.raises(SummaryError, match="blank"):
        run(users("a", "b", "c"), ScriptedSummarizer(blank))
    found = run(users("a", "b", "c"), ScriptedSummarizer(blank), mode="faithful")
    assert [m.text for m in found.messages] == ["b", "c", QUESTION, ""]
    assert "blank_summary" in found.flags

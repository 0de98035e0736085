"""Agent Framework for Python: its ladder by the context window, its summary, its token budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from compaction import (
    CompactedContext,
    Message,
    StrategyError,
    SummaryError,
    SummaryRequest,
    ToolCall,
    compact,
    make_method,
)
from compaction.strategies.agent_framework.python_summary import render
from compaction.testing import ScriptedSummarizer, blank, failing, history, talk

SESSION = talk("s u a2 a u a1 a1 a u")
"""0 s, 1 u, 2 call ×2, 3-4 results, 5 a, 6 u, 7 call, 8 result, 9 call, 10 result, 11 a, 12 u; 10 tokens each."""


def run(
    id: str,
    messages: tuple[Message, ...] = SESSION,
    handler: Callable[[SummaryRequest], str] | None = None,
    budget: int = 100,
    **params: Any,
) -> CompactedContext:
    given = history(messages, budget=budget, summarizer=ScriptedSummarizer(handler))
    return compact(given, make_method(id, params))


def left(*args: Any, **params: Any) -> list[Any]:
    return [m.seq if m.seq is not None else m.text for m in run(*args, **params).messages]


def test_the_context_window_collapses_calls_over_half_and_drops_groups_only_over_four_fifths() -> None:
    """130 tokens; with two groups of calls kept the third has 12 instead of 30, so 112."""
    collapsed = "[Tool results: read: result 3; read: result 4]"
    assert left("af_py_context_window", budget=260) == list(range(13))
    assert left("af_py_context_window", budget=150, keep_last_tool_call_groups=2)[:4] == [0, 1, collapsed, 5]
    assert left("af_py_context_window", budget=120) == [0, *range(9, 13)]
    assert left("af_py_context_window", budget=120, preserve_first_user_group=True) == [0, 1, *range(9, 13)]


def test_the_context_window_keeps_what_is_protected_and_says_that_it_is_too_much() -> None:
    found = run("af_py_context_window", budget=15)
    assert ([m.seq for m in found.messages], found.flags) == ([0, 12], ("over_budget",))


def test_the_context_window_refuses_thresholds_out_of_order() -> None:
    with pytest.raises(StrategyError, match="in this order"):
        run("af_py_context_window", tool_eviction_threshold=0.9)


def test_the_summary_takes_the_place_of_all_but_the_newest_groups_with_four_messages() -> None:
    """The last three groups have four messages: 9-10, 11, 12."""
    found = run("af_py_summarization")
    assert [m.seq if m.seq is not None else (m.role, m.text, m.covers) for m in found.messages] == [
        0,
        ("assistant", "SUMMARY 1", tuple(range(1, 9))),
        9,
        10,
        11,
        12,
    ]


def test_the_threshold_is_asked_only_when_it_is_not_forced() -> None:
    messages = talk("u a u a u a")
    assert left("af_py_summarization", messages, forced=False) == list(range(6))
    assert left("af_py_summarization", messages) == ["SUMMARY 1", 2, 3, 4, 5]
    assert left("af_py_summarization", talk("u a u a u a u"), forced=False) == ["SUMMARY 1", 3, 4, 5, 6]


def test_a_first_message_that_does_not_fit_stays_and_what_follows_is_summarised() -> None:
    messages = (replace(talk("u")[0], text="task " * 9000), *talk("a a a a a a", first_seq=1))
    assert left("af_py_summarization", messages, target_count=2) == [0, "SUMMARY 1", 5, 6]
    assert left("af_py_summarization", messages, target_count=2, max_summary_input_tokens=None) == ["SUMMARY 1", 5, 6]


def test_one_call_is_shown_no_more_than_its_limit_and_further_passes_take_the_rest() -> None:
    messages = tuple(replace(m, text="x" * 4000) for m in talk("a " * 21))
    once = run("af_py_summarization", messages)
    assert len(once.covered) == 7
    assert left("af_py_summarization", messages, passes=9) == ["SUMMARY 3", 17, 18, 19, 20]


def test_where_nothing_fits_nothing_changes_and_the_context_says_so() -> None:
    messages = tuple(replace(m, text="x" * 40_000) for m in talk("u a u a u a u"))
    found = run("af_py_summarization", messages)
    assert (found.messages, found.flags) == (messages, ("nothing_fits",))


def test_an_earlier_summary_is_text_like_any_other_but_is_not_summarised_alone() -> None:
    once = run("af_py_summarization", talk("u a u a u a")).messages
    assert run("af_py_summarization", once).messages == once
    summarizer = ScriptedSummarizer()
    more = (*once, *talk("u a", first_seq=6))
    compact(history(more, summarizer=summarizer), make_method("af_py_summarization"))
    assert summarizer.requests[0].prompt[1].text.splitlines()[0] == "1. [assistant] SUMMARY 1"


def test_the_summariser_sees_calls_results_and_errors_and_no_reasoning() -> None:
    call = Message(
        "assistant", "look", "thinking", (ToolCall("c1", "read", '{"path": "a.py"}'), ToolCall("", "ls", ""))
    )
    failed = Message("tool", "no such file", tool_call_id="c1", is_error=True)
    shown = (call, failed, Message("tool"), Message("assistant", reasoning="hm"), Message("user", "go\non"))
    assert render(shown, 3).split("\n", 4) == [
        '3. [assistant] look; function_call read({"path": "a.py"}) [call_id=c1]; function_call ls()',
        "4. [tool] function_result: error: no such file [call_id=c1]",
        "5. [tool] function_result: text content",
        "6. [assistant] text_reasoning",
        "7. [user] go\non",
    ]


def test_the_token_budget_takes_a_step_at_a_time() -> None:
    """130 tokens; 103 with the calls collapsed; 53 with a summary before the last four messages."""
    budget = {"token_budget": 110}
    assert left("af_py_token_budget", token_budget=130) == list(range(13))
    assert left("af_py_token_budget", **budget)[-4:] == [9, 10, 11, 12]
    assert "SUMMARY 1" not in left("af_py_token_budget", **budget)
    assert left("af_py_token_budget", token_budget=60) == [0, "SUMMARY 1", 9, 10, 11, 12]
    assert left("af_py_token_budget", token_budget=110, early_stop=False) == [0, "SUMMARY 1", 9, 10, 11, 12]
    assert left("af_py_token_budget", token_budget=50, keep_last_groups=2) == [0, 11, 12]


def test_over_the_budget_at_the_end_the_oldest_groups_go_then_the_system_prompt_never_the_newest() -> None:
    assert left("af_py_token_budget", token_budget=25) == [0, 12]
    found = run("af_py_token_budget", token_budget=5)
    assert ([m.seq for m in found.messages], found.flags) == ([12], ("last_resort", "over_budget"))


@pytest.mark.parametrize("handler", [failing, blank])
def test_a_summary_that_fails_leaves_its_step_out_under_faithful_only(
    handler: Callable[[SummaryRequest], str],
) -> None:
    params = {"token_budget": 30, "keep_last_groups": 2}
    found = run("af_py_token_budget", handler=handler, mode="faithful", **params)
    assert ([m.seq for m in found.messages], found.flags) == ([0, 11, 12], ("summary_failed",))
    with pytest.raises(SummaryError):
        run("af_py_token_budget", handler=handler, **params)

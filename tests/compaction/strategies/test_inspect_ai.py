"""inspect's trimming and editing, and the summary of nine sections, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from compaction import CompactedContext, Message, StrategyError, compact, make_method
from compaction.strategies.claude_code_style import OPENING, SECTIONS
from compaction.strategies.inspect_ai import REMOVED, SUMMARY_MARK
from compaction.testing import ScriptedSummarizer, history, talk
from compaction.transcript import ToolCall

LONG = talk("s u a1 a a2 a u a1 s a u")
"""0 s, 1 u, 2 call, 3 result, 4 text, 5 calls, 6, 7 results, 8 text, 9 u, 10 call, 11 result, 12 s, 13 text, 14 u."""


def run(
    spec: str, messages: tuple[Message, ...], model: ScriptedSummarizer | None = None, **params: Any
) -> CompactedContext:
    budget = params.pop("budget", 100)
    given = history(messages, budget=budget, summarizer=model or ScriptedSummarizer())
    return compact(given, make_method(spec, params))


def seqs(context: CompactedContext) -> list[int | None]:
    return [m.seq for m in context.messages]


def test_system_messages_come_first_then_the_input_then_the_newest_share() -> None:
    """Twelve messages of conversation, 2 to 14 without 12; half of them is from 8 on."""
    assert seqs(run("inspect_trim", LONG, preserve=0.5)) == [0, 12, 1, 8, 9, 10, 11, 13, 14]


def test_results_without_their_call_and_calls_without_their_result_are_left_out() -> None:
    """Of twelve messages 2 to 5 go, so that the results 6 and 7 have lost their calls."""
    assert seqs(run("inspect_trim", LONG, preserve=0.66)) == [0, 12, 1, 8, 9, 10, 11, 13, 14]
    found = run("inspect_trim", talk("u c u a1 u"), preserve=1.0)
    assert (seqs(found), found.messages[1].tool_calls, found.edited) == ([0, 1, 2, 3, 4, 5], (), {1})


def test_an_assistant_message_at_the_end_is_left_out_and_only_one() -> None:
    assert seqs(run("inspect_trim", talk("u a u a a"), preserve=1.0)) == [0, 1, 2, 3]


def test_further_passes_go_on_while_more_than_nine_tenths_of_the_budget_are_full() -> None:
    """Of 150 tokens each pass takes a fifth of the conversation or a little more."""
    once, more = (run("inspect_trim", LONG, preserve=0.8, passes=n) for n in (1, 4))
    assert once.tokens > 90 >= more.tokens
    assert run("inspect_trim", LONG, preserve=0.8, passes=4, budget=10_000).messages == once.messages


def test_a_share_outside_of_0_to_1_is_refused() -> None:
    with pytest.raises(StrategyError, match="preserve must be from 0 to 1"):
        run("inspect_trim", LONG, preserve=1.5)


def test_results_of_all_but_the_last_calls_are_removed() -> None:
    found = run("inspect_edit", LONG, keep_tool_uses=1)
    assert [m.text for m in found.messages if m.role == "tool"] == [REMOVED, REMOVED, REMOVED, "result 11"]
    assert [m.tool_calls for m in found.messages] == [m.tool_calls for m in LONG]


def test_reasoning_stays_in_the_last_turns_only_and_trailing_assistant_messages_go() -> None:
    messages = (*talk("u r a1 r u"), Message("assistant", "so", "thought 6", seq=6), *talk("r r", first_seq=7))
    found = run("inspect_edit", messages)
    assert [m.reasoning for m in found.messages if m.role == "assistant"] == ["", "", ""]
    assert seqs(found) == [0, 1, 2, 3, 4, 5]
    found = run("inspect_edit", (*messages, *talk("u", first_seq=9)), keep_thinking_turns=2)
    assert [m.reasoning for m in found.messages if m.role == "assistant"] == ["", "", "", "", "thought 7", "thought 8"]


def test_excluded_tools_and_the_tool_search_do_not_use_up_what_is_kept() -> None:
    def turn(seq: int, name: str) -> tuple[Message, ...]:
        call = ToolCall(str(seq), name, "{}")
        return Message("assistant", tool_calls=(call,), seq=seq), Message(
            "tool", "out", tool_call_id=call.id, seq=seq + 1
        )

    messages = (*turn(0, "read"), *turn(2, "tool_search"), *turn(4, "plan"), *turn(6, "read"), *turn(8, "plan"))
    found = run("inspect_edit", messages, keep_tool_uses=1, exclude_tools="plan")
    assert [m.text for m in found.messages if m.role == "tool"] == [REMOVED, "out", "out", "out", "out"]


def test_what_the_memory_tool_has_stored_leaves_the_calls() -> None:
    call = ToolCall("1", "memory", '{"command": "create", "path": "n.md", "file_text": "much"}')
    messages = (
        *talk("u"),
        Message("assistant", tool_calls=(call,), seq=1),
        Message("tool", "ok", tool_call_id="1", seq=2),
    )
    found = run("inspect_edit", messages)
    assert found.messages[1].tool_calls[0].parsed() == {
        "command": "create",
        "path": "n.md",
        "file_text": "(content saved to memory)",
    }


def test_the_summary_stands_behind_system_messages_and_input_and_no_recent_message_stays() -> None:
    model = ScriptedSummarizer()
    found = run("claude_code_style_regen", LONG, model)
    assert seqs(found) == [0, 12, 1, None]
    assert found.messages[3].text.startswith(f"{SUMMARY_MARK}\n\n")
    assert "SUMMARY 1" in found.messages[3].text
    assert found.covered == set(range(2, 15)) - {12}
    assert [s.title for s in model.requests[0].sections] == [s.title for s in SECTIONS]
    assert len(SECTIONS) == 9


def test_the_summariser_is_shown_the_input_again_and_the_conversation_from_the_latest_summary_on() -> None:
    model = ScriptedSummarizer()
    first = run("claude_code_style_regen", LONG, model)
    found = run("claude_code_style_regen", (*first.messages, *talk("a u", first_seq=15)), model)
    assert [m.seq for m in model.requests[1].span] == [1, None, 15, 16]
    assert model.requests[1].span[1].text.startswith(OPENING)
    assert "system 12" in model.requests[1].prompt[1].text
    assert found.covered == set(range(2, 17)) - {12}


def test_the_scratchpad_does_not_reach_the_context() -> None:
    model = ScriptedSummarizer(lambda request: "<analysis>hm</analysis>\n<summary>\nit works\n</summary>")
    text = run("claude_code_style_regen", LONG, model).messages[-1].text
    assert "hm" not in text.split()
    assert "<summary>\nit works\n</summary>" in text


def test_with_nothing_but_system_messages_and_input_nothing_is_asked() -> None:
    model = ScriptedSummarizer()
    assert run("claude_code_style_regen", talk("s u"), model).messages == talk("s u")
    assert model.requests == []

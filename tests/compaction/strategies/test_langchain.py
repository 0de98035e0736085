"""LangChain's summary and clearing, and langmem's running summary, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from compaction import CompactedContext, Message, StrategyError, SummaryError, compact, make_method
from compaction.strategies.langchain import PREFIX, SECTIONS, TOO_LONG
from compaction.strategies.langmem import PREFIX as RUNNING
from compaction.testing import ScriptedSummarizer, blank, failing, history, talk
from compaction.transcript import ToolCall

LONG = talk("s u a1 a a2 a u a1 a")
"""0 s, 1 u, 2 call, 3 result, 4 text, 5 calls, 6 and 7 results, 8 text, 9 u, 10 call, 11 result, 12 text."""


def run(
    spec: str, messages: tuple[Message, ...], model: ScriptedSummarizer | None = None, **params: Any
) -> CompactedContext:
    budget = params.pop("budget", 100)
    cuts = params.pop("earlier_cuts", ())
    given = history(messages, budget=budget, summarizer=model or ScriptedSummarizer(), earlier_cuts=cuts)
    return compact(given, make_method(spec, params))


def seqs(context: CompactedContext) -> list[int | None]:
    return [m.seq for m in context.messages]


def test_all_but_the_last_messages_the_system_message_too_become_one_user_message_with_the_fixed_prefix() -> None:
    model = ScriptedSummarizer()
    found = run("langchain_summary", LONG, model, keep=4)
    assert seqs(found) == [None, 9, 10, 11, 12]
    assert (found.messages[0].role, found.messages[0].text) == ("user", f"{PREFIX}SUMMARY 1")
    assert found.messages[0].covers == tuple(range(9))
    assert [m.seq for m in model.requests[0].span] == list(range(9))


def test_a_system_prompt_that_is_no_message_of_the_state_stays_and_is_not_shown() -> None:
    model = ScriptedSummarizer()
    found = run("langchain_summary", LONG, model, keep=4, system_in_state=False)
    assert seqs(found) == [0, None, 9, 10, 11, 12]
    assert [m.seq for m in model.requests[0].span] == list(range(1, 9))


@pytest.mark.parametrize(("keep", "first"), [(2, 10), (6, 5), (7, 5), (8, 5), (9, 4), (10, 2)])
def test_a_cut_among_results_moves_back_to_the_message_that_called_for_them(keep: int, first: int) -> None:
    assert seqs(run("langchain_summary", LONG, keep=keep))[:2] == [None, first]


def test_results_without_a_call_go_with_what_is_summarised() -> None:
    messages = talk("s u a t t a u")
    assert seqs(run("langchain_summary", messages, keep=4)) == [None, 5, 6]


def test_a_late_result_keeps_its_call_only_in_valid_mode() -> None:
    call = Message("assistant", "go", tool_calls=(ToolCall("late", "run", "{}"),), seq=1, tokens=10)
    result = Message("tool", "out", tool_call_id="late", seq=4, tokens=10)
    messages = (*talk("u"), call, *talk("u a", first_seq=2), result, *talk("u", first_seq=5))
    faithful = run("langchain_summary", messages, keep=3, mode="faithful")
    assert (seqs(faithful), faithful.flags) == ([None, 3, 4, 5], ("invalid_context",))
    assert seqs(run("langchain_summary", messages, keep=3)) == [None, 1, 2, 3, 4, 5]


def test_a_history_of_no_more_than_what_is_kept_stays_and_nothing_is_asked() -> None:
    model = ScriptedSummarizer()
    assert run("langchain_summary", LONG, model, keep=13).messages == LONG
    assert model.requests == []


def test_the_summariser_is_shown_xml_with_arguments_and_without_reasoning_or_names_of_results() -> None:
    calls = (ToolCall("i" * 70, "read", '{"path":"a<b>.py"}'),)
    messages = (
        Message("user", "is 1 < 2 & 2 > 1?", seq=0),
        Message("assistant", "look", "secret thought", calls, seq=1),
        Message("tool", "yes", tool_call_id="i" * 70, tool_name="read", is_error=True, seq=2),
        Message("user", "go on", seq=3),
    )
    model = ScriptedSummarizer()
    run("langchain_summary", messages, model, keep=1)
    (asked,) = model.requests[0].prompt
    shown = asked.text.partition("<messages>\n")[2].partition("\n</messages>")[0].split("\n")
    # The word itself stands in the instructions above as well.
    assert [line for line in shown if line.startswith((" ", "<message", "</message"))] == [
        '<message type="human">is 1 &lt; 2 &amp; 2 &gt; 1?</message>',
        '<message type="ai">',
        "  <content>look</content>",
        f'  <tool_call id="{"i" * 64}..." name="read">{{"path": "a&lt;b&gt;.py"}}</tool_call>',
        "</message>",
        '<message type="tool">yes</message>',
    ]
    assert all(section.title in asked.text for section in SECTIONS)
    assert model.requests[0].span[1].reasoning == ""


def test_an_earlier_summary_is_summarised_with_the_rest_and_what_it_covers_stays_covered() -> None:
    model = ScriptedSummarizer()
    first = run("langchain_summary", LONG, model, keep=4)
    found = run("langchain_summary", (*first.messages, *talk("u a u", first_seq=13)), model, keep=4)
    assert model.requests[1].span[0].text == f"{PREFIX}SUMMARY 1"
    assert found.covered == set(range(12))


def test_what_the_trimmed_summariser_is_not_shown_is_dropped_and_not_covered() -> None:
    """45 tokens from the newest on take 12 to 9, of which 9 is the user's; of 8 nothing fits."""
    model = ScriptedSummarizer()
    messages = (*LONG, *talk("u u", first_seq=13))
    found = run("langchain_summary", messages, model, keep=2, trim_tokens=45, system_in_state=False)
    assert [m.seq for m in model.requests[0].span] == [9, 10, 11, 12]
    assert (found.covered, found.dropped) == (set(range(9, 13)), set(range(1, 9)))


def test_without_a_user_message_in_the_trimmed_window_the_model_is_never_asked() -> None:
    messages = (*talk("u a a a a"), *talk("u u", first_seq=5))
    model = ScriptedSummarizer()
    found = run("langchain_summary", messages, model, keep=2, trim_tokens=20, mode="faithful")
    assert [m.text for m in found.messages[:1]] == [PREFIX + TOO_LONG]
    assert (found.dropped, found.flags, model.requests) == (set(range(5)), ("placeholder_summary",), [])
    with pytest.raises(SummaryError, match="no user message"):
        run("langchain_summary", messages, model, keep=2, trim_tokens=20)


@pytest.mark.parametrize("spec", ["langchain_summary", "langmem_running"])
def test_an_empty_summary_takes_the_place_of_the_history_only_in_faithful_mode(spec: str) -> None:
    params: dict[str, Any] = {"keep": 4} if spec == "langchain_summary" else {"max_tokens": 60, "max_summary_tokens": 5}
    with pytest.raises(SummaryError, match="blank"):
        run(spec, LONG, ScriptedSummarizer(blank), **params)
    found = run(spec, LONG, ScriptedSummarizer(blank), mode="faithful", **params)
    assert found.flags[0] == "blank_summary"
    assert (found.covered, len(found.dropped) > 0) == (set(), True)
    with pytest.raises(SummaryError, match="not reachable"):
        run(spec, LONG, ScriptedSummarizer(failing), mode="faithful", **params)


def texts(context: CompactedContext) -> list[str]:
    return [m.text for m in context.messages if m.role == "tool"]


def test_all_but_the_last_results_are_cleared_and_calls_stay() -> None:
    found = run("clear_tool_uses", LONG, keep=1)
    assert texts(found) == ["[cleared]", "[cleared]", "[cleared]", "result 11"]
    assert found.edited == {3, 6, 7}
    assert [m.tool_calls for m in found.messages] == [m.tool_calls for m in LONG]


def test_excluded_tools_are_not_cleared_and_use_up_what_is_kept() -> None:
    tools = ["read", "write", "read", "write"]
    names = iter(tools)
    messages = tuple(
        m
        if m.role != "tool"
        else Message("tool", m.text, tool_call_id=m.tool_call_id, tool_name=next(names), seq=m.seq)
        for m in LONG
    )
    assert texts(run("clear_tool_uses", messages, keep=1, exclude_tools="write")) == [
        "[cleared]",
        "result 6",
        "[cleared]",
        "result 11",
    ]


def test_clearing_stops_when_enough_is_gained_and_can_empty_the_arguments() -> None:
    messages = tuple(Message(m.role, m.text * 4, "", m.tool_calls, m.tool_call_id, seq=m.seq) for m in LONG)
    found = run("clear_tool_uses", messages, keep=0, clear_at_least=1, clear_tool_inputs=True)
    assert found.edited == {2, 3}
    assert [call.arguments for call in found.messages[2].tool_calls] == ["{}"]


def test_the_trigger_counts_only_where_compaction_is_not_forced() -> None:
    assert run("clear_tool_uses", LONG, keep=0, forced=False).messages == LONG
    assert run("clear_tool_uses", LONG, keep=0, forced=False, trigger=100).edited == {3, 6, 7, 11}


def test_the_running_summary_is_a_system_message_behind_the_system_prompt() -> None:
    """13 messages of 10 tokens; 60 and 10 less for the prompt and 5 for the summary leave room for the last four."""
    model = ScriptedSummarizer()
    found = run("langmem_running", LONG, model, max_tokens=60, max_summary_tokens=5)
    assert seqs(found) == [0, None, 9, 10, 11, 12]
    assert (found.messages[1].role, found.messages[1].text) == ("system", f"{RUNNING}SUMMARY 1")


def test_the_running_summary_s_results_go_with_the_call_that_is_summarised_last() -> None:
    found = run("langmem_running", LONG, max_tokens=90, max_summary_tokens=5, max_tokens_before_summary=50)
    assert seqs(found) == [0, None, 8, 9, 10, 11, 12]


def test_over_a_whole_session_the_running_summary_asks_what_it_asks_in_a_chain() -> None:
    params = {"max_tokens": 60, "max_summary_tokens": 5}
    messages = (*LONG, *talk("u a u a u a", first_seq=13))
    whole, chained = ScriptedSummarizer(), ScriptedSummarizer()
    at_end = run("langmem_running", messages, whole, earlier_cuts=(9,), **params)
    left = run("langmem_running", messages[:9], chained, **params).messages
    left = run("langmem_running", (*left, *messages[9:]), chained, **params).messages
    assert (len(whole.requests), whole.requests[1].previous) == (2, "SUMMARY 1")
    assert chained.requests == whole.requests
    assert left == at_end.messages


def test_the_running_summary_leaves_a_short_session_alone_and_needs_room_for_itself() -> None:
    model = ScriptedSummarizer()
    assert run("langmem_running", LONG, model, max_tokens=1000).messages == LONG
    assert model.requests == []
    with pytest.raises(StrategyError, match="must be less than max_tokens"):
        run("langmem_running", LONG, max_tokens=100)

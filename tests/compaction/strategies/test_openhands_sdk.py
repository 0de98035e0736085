"""OpenHands' condenser by hand: what is kept, what the summariser is shown, what happens when it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from compaction import CompactedContext, Message, StrategyError, SummaryError, SummaryRequest, compact, make_method
from compaction.strategies.shared.openhands_events import action_class, clip_text
from compaction.testing import CharacterCounter, ScriptedSummarizer, failing, history, talk
from compaction.transcript import ToolCall

LONG = talk("s u " + "a u " * 9)
"""20 messages, so 20 events."""


def run(
    messages: tuple[Message, ...],
    handler: Callable[[SummaryRequest], str] | None = None,
    earlier_cuts: tuple[int, ...] = (),
    **params: Any,
) -> tuple[CompactedContext, list[SummaryRequest]]:
    model = ScriptedSummarizer(handler)
    given = history(messages, budget=10_000, summarizer=model, earlier_cuts=earlier_cuts)
    return compact(given, make_method("openhands_sdk", params)), model.requests


def seqs(found: CompactedContext) -> list[int | None]:
    return [message.seq for message in found.messages]


def events(request: SummaryRequest) -> list[str]:
    return [part.split("\n</EVENT>")[0] for part in request.prompt[1].text.split("<EVENT>\n")[1:]]


def test_a_request_leaves_half_of_the_events_with_a_user_message_behind_the_first_two() -> None:
    found, requests = run(LONG)
    assert seqs(found) == [0, 1, None, *range(13, 20)]
    assert (found.messages[2].role, found.messages[2].text) == ("user", "SUMMARY 1")
    assert found.messages[2].covers == tuple(range(2, 13))
    assert len(events(requests[0])) == 11


def test_too_many_events_leave_half_of_the_size_and_the_least_that_any_reason_leaves_counts() -> None:
    assert seqs(run(LONG, max_size=12)[0]) == [0, 1, None, 17, 18, 19]
    assert seqs(run(LONG, max_size=12, max_tokens=60)[0]) == [0, 1, None]


def test_without_a_request_only_more_events_or_more_tokens_than_the_limits_trigger() -> None:
    assert seqs(run(LONG, forced=False, max_size=20)[0]) == list(range(20))
    assert seqs(run(LONG, forced=False, max_size=19)[0]) == [0, 1, None, *range(14, 20)]
    assert seqs(run(LONG, forced=False, max_tokens=200)[0]) == list(range(20))
    assert seqs(run(LONG, forced=False, max_tokens=199)[0]) == [0, 1, None, *range(13, 20)]


def test_a_failed_result_counts_with_the_header_that_the_model_is_sent() -> None:
    said = talk("s u " + "a1 " * 6)
    failed = tuple(replace(message, is_error=message.role == "tool") for message in said)
    limit = 140 + 6 * CharacterCounter().count("[An error occurred during execution.]\n")
    assert seqs(run(said, forced=False, max_tokens=140)[0]) == list(range(14))
    assert seqs(run(failed, forced=False, max_tokens=limit)[0]) == list(range(14))
    assert None in seqs(run(failed, forced=False, max_tokens=limit - 1)[0])


def test_a_point_with_too_many_tokens_is_no_request_for_half_of_the_events() -> None:
    few = tuple(replace(message, tokens=100 if message.seq == 2 else 10) for message in LONG)
    assert seqs(run(few, max_tokens=280)[0]) == [0, 1, None, *range(9, 20)]
    assert seqs(run(few, max_tokens=290)[0]) == [0, 1, None, *range(13, 20)]


def test_without_a_figure_the_budget_is_the_limit_of_tokens() -> None:
    model = ScriptedSummarizer()
    found = compact(history(LONG, budget=100, summarizer=model), make_method("openhands_sdk"))
    assert seqs(found) == [0, 1, None, 18, 19]


def test_a_cut_moves_on_until_no_pair_or_batch_is_torn() -> None:
    messages = talk("s u a2 a u a2 a u")
    assert seqs(run(messages)[0]) == [0, 1, None, 10, 11]
    assert seqs(run(messages, keep_first=3, max_size=80)[0]) == [0, 1, 2, 3, 4, None, 10, 11]


def test_a_run_of_tools_that_began_with_thinking_goes_or_stays_as_one() -> None:
    calls = talk("s u a1 a1 a1 a1 a1 a1 u a")
    thinking = (*calls[:6], replace(calls[6], reasoning="hm"), *calls[7:])
    assert seqs(run(calls)[0]) == [0, 1, None, *range(12, 16)]
    assert seqs(run(thinking)[0]) == [0, 1, None, 14, 15]
    assert seqs(run(thinking, thinking_blocks=False)[0]) == [0, 1, None, *range(12, 16)]


def test_calls_without_a_result_and_results_without_a_call_are_not_sent_with_their_whole_batch() -> None:
    messages = talk("s u c t a2 u a u a u a u a u")
    two = replace(messages[4], tool_calls=(*messages[4].tool_calls, ToolCall("lost", "read", "{}")))
    found, _ = run((*messages[:4], two, *messages[5:]))
    assert found.dropped == {2, 3, 4, 5, 6}


def test_the_summariser_is_shown_neither_arguments_nor_more_than_500_characters() -> None:
    call = ToolCall("1", "file_editor", '{"path": "/etc/secret"}')
    messages = (
        *talk("s u"),
        Message("assistant", "t" * 501, "why", (call,), seq=2),
        Message("tool", "r" * 501, tool_call_id="1", seq=3),
        Message("user", "u" * 501, seq=4),
        Message("assistant", "", "only thought", seq=5),
        *talk("u u", first_seq=6),
    )
    _, (request,) = run(messages)
    assert events(request) == [
        f"ActionEvent (agent)\n  Thought: {'t' * 500}...\n  Action: FileEditorAction",
        f"ObservationEvent (environment)\n  Tool: file_editor\n  Result: {'r' * 500}...",
        f"MessageEvent (user)\n  user: {'u' * 497}...",
        "MessageEvent (agent)\n  assistant: [no text content]",
        "MessageEvent (user)\n  user: user 6",
    ]
    assert not any("secret" in m.text or "secret" in str(m.tool_calls) or m.reasoning for m in request.span)
    assert [len(m.text) for m in request.span][:3] == [503, 503, 500]


def test_full_content_shows_everything_and_keeps_the_same() -> None:
    call = ToolCall("1", "file_editor", '{"path": "/etc/secret"}')
    result = Message("tool", "r" * 900, tool_call_id="1", seq=3)
    messages = (*talk("s u"), Message("assistant", "t", "", (call,), seq=2), result, *talk("u u u u", first_seq=4))
    found, (request,) = run(messages, mode="full_content")
    assert seqs(found) == seqs(run(messages)[0])
    assert events(request)[:2] == [
        "ActionEvent (agent)\n  Thought: t\n  Action: FileEditorAction\n  Tool: file_editor\n"
        '  Arguments: {"path": "/etc/secret"}',
        f"ObservationEvent (environment)\n  Tool: file_editor\n  Result: {'r' * 900}",
    ]
    assert request.span[0].tool_calls == (call,)


def test_the_earlier_summary_is_one_of_the_events_and_loses_all_but_497_characters() -> None:
    def long(request: SummaryRequest) -> str:
        return "S" * 600

    found, requests = run(LONG, long, earlier_cuts=(12,))
    assert len(requests) == 2
    assert events(requests[1])[0] == f"CondensationSummaryEvent (environment)\n  user: {'S' * 497}..."
    assert found.messages[2].covers == tuple(range(2, 16))


def test_in_a_chain_the_requests_are_those_of_the_whole_session() -> None:
    whole, requests = run(LONG, earlier_cuts=(12,))
    model = ScriptedSummarizer()
    method = make_method("openhands_sdk")
    first = compact(history(LONG[:12], budget=10_000, summarizer=model), method).messages
    second = compact(history((*first, *LONG[12:]), budget=10_000, summarizer=model), method)
    assert [r.prompt for r in model.requests] == [r.prompt for r in requests]
    assert second.messages == whole.messages


def test_a_second_request_is_not_made_where_nothing_was_said_since() -> None:
    left = run(LONG)[0].messages
    model = ScriptedSummarizer()
    given = replace(history(left, summarizer=model), previous=left)
    assert compact(given, make_method("openhands_sdk")).messages == left
    assert model.requests == []


def test_a_request_for_a_short_view_resets_it_and_the_task_goes_too() -> None:
    found, _ = run(talk("s u a u"))
    assert seqs(found) == [0, None]
    assert found.messages[1].covers == (1, 2, 3)
    assert found.flags == ("hard_context_reset",)


def test_less_progress_than_asked_for_is_a_reset_when_hard_and_nothing_when_soft() -> None:
    assert seqs(run(LONG, minimum_progress=0.6)[0]) == [0, None]
    assert seqs(run(LONG, minimum_progress=0.6, forced=False, max_size=18)[0]) == [0, 1, None, *range(14, 20)]
    assert seqs(run(LONG, minimum_progress=0.7, forced=False, max_size=18)[0]) == list(range(20))


def test_a_failed_summary_is_followed_by_a_reset_whose_attempts_show_ever_less_of_each_event() -> None:
    asked: list[int] = []

    def third_time(request: SummaryRequest) -> str:
        asked.append(max(len(event) for event in events(request)))
        if len(asked) < 4:
            raise SummaryError("too long")
        return "short"

    messages = (*LONG[:5], replace(LONG[5], text="x" * 900), *LONG[6:])
    found, _ = run(messages, third_time)
    assert seqs(found) == [0, None]
    longest = len("MessageEvent (user)\n  user: ") + 500
    assert asked == [longest, longest, int(longest * 0.8), int(int(longest * 0.8) * 0.8)]


def test_when_every_attempt_fails_the_first_reason_is_told_and_when_soft_there_is_one_attempt() -> None:
    for params, attempts in (
        ({}, 6),
        ({"hard_context_reset_max_retries": 2}, 3),
        ({"forced": False, "max_size": 9}, 1),
    ):
        model = ScriptedSummarizer(failing)
        with pytest.raises(SummaryError, match="not reachable"):
            compact(history(LONG, budget=10_000, summarizer=model), make_method("openhands_sdk", params))
        assert len(model.requests) == attempts


def test_a_blank_summary_takes_the_place_of_the_events_under_faithful_only() -> None:
    found, _ = run(LONG, lambda request: " ")
    assert found.messages[2].text == ""
    assert found.flags == ("blank_summary",)
    with pytest.raises(SummaryError, match="blank"):
        run(LONG, lambda request: " ", mode="full_content")


def test_task_tracking_is_asked_for_where_a_tracker_was_used() -> None:
    tracker = replace(LONG[2], tool_calls=(ToolCall("1", "task_tracker", "{}"),))
    result = Message("tool", "1. [todo] write", tool_call_id="1", seq=3)
    _, (plain,) = run(LONG)
    _, (tracked,) = run((*LONG[:2], tracker, result, *LONG[4:]))
    assert {s.title for s in tracked.sections} - {s.title for s in plain.sections} == {"TASK_TRACKING"}
    assert "## TASK_TRACKING" in tracked.prompt[0].text
    assert "## VERSION_CONTROL_STATUS" in plain.prompt[0].text


def test_leading_system_messages_are_one_event_and_never_go() -> None:
    found, (request,) = run(talk("s s s u a u a u a u"), keep_first=0, max_size=80)
    assert seqs(found) == [0, 1, 2, None, 7, 8, 9]
    assert len(events(request)) == 4


def test_classes_of_actions_have_the_names_that_the_sdk_gives_them() -> None:
    assert [action_class(name) for name in ("terminal", "str_replace_editor", "Read", "mcp__server__search", "")] == [
        "TerminalAction",
        "StrReplaceEditorAction",
        "ReadAction",
        "MCPToolAction",
        "Action",
    ]


def test_a_clipped_text_has_the_length_asked_for_and_where_the_notice_does_not_fit_a_part_of_it() -> None:
    assert len(clip_text("x" * 1000, 201)) == 201
    assert clip_text("x" * 1000, 8) == "<respons"
    assert clip_text("short", 8) == clip_text("short", None) == clip_text("short", 0) == "short"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_size": 10, "keep_first": 4}, "keep_first"),
        ({"minimum_progress": 1.0}, "minimum_progress"),
        ({"hard_context_reset_context_scaling": 0.0}, "scaling"),
        ({"hard_context_reset_max_retries": 0}, "retries"),
    ],
)
def test_parameters_that_the_original_refuses_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(StrategyError, match=message):
        run(LONG, **params)

"""goose's compaction by vectors that were made by hand from its source: pairs, what is shown, and what is left out."""

from __future__ import annotations

import pytest

from compaction import Message, SummaryError, SummaryRequest, ToolCall, compact, parse_method
from compaction.model import ContextOverflowError
from compaction.strategies.goose import PAIR, TALK_ON, WORK_ON, leave_out_results, write_messages
from compaction.testing import ScriptedSummarizer, history, talk

RESULTS = tuple(Message("tool", str(n), tool_call_id=str(n), seq=n) for n in range(10))


@pytest.mark.parametrize(
    ("percent", "gone"),
    [(0, []), (10, [4]), (20, [4, 5]), (50, [2, 3, 4, 5, 6]), (100, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])],
)
def test_results_are_left_out_from_the_middle_outwards(percent: int, gone: list[int]) -> None:
    assert [m.seq for m in leave_out_results(RESULTS, percent)] == [n for n in range(10) if n not in gone]
    assert leave_out_results(RESULTS[:1], 10) == list(RESULTS[:1]), "the one before the middle of one is none"
    assert [m.seq for m in leave_out_results(RESULTS[:3], 10)] == [1, 2], "of a few one goes"


def test_the_conversation_is_shown_as_the_original_writes_it() -> None:
    said = (
        Message("user", "look"),
        Message("assistant", "now", "why", tool_calls=(ToolCall("1", "ls", '{"a":1}'), ToolCall("2", "cat", "{}"))),
        Message("tool", "a.py", tool_call_id="1"),
        Message("tool", "", tool_call_id="2"),
        Message("assistant", "", "thought"),
    )
    assert write_messages(said) == (
        '[user]: look\n[assistant]: now\ntool_request(ls): {"a":1}\ntool_request(cat): {}\n'
        "[user]: tool_response: a.py\n[user]: tool_response: [non-text content]\n[assistant]: <empty message>"
    )


def test_pairs_beyond_the_cutoff_become_lines_but_none_of_the_turn_under_way() -> None:
    messages = talk("s u a1 a1 a2 u a1 a1 a1")
    model = ScriptedSummarizer(lambda request: f"read {request.span[1].seq}")
    method = parse_method("goose_summarize(cutoff=2,threshold=0)")
    found = compact(history(messages, summarizer=model), method)
    assert [len(request.span) for request in model.requests] == [2, 2]
    assert [m.seq for m in found.messages] == [0, 1, 2, None, 4, None, *range(6, len(messages))]
    assert [m.text for m in found.messages if m.seq is None] == [f"{PAIR}read 3", f"{PAIR}read 5"]
    assert (found.edited, found.covered, found.dropped) == ({2, 4}, {3, 5}, set())
    again = compact(history(found.messages, session=messages, summarizer=model), method)
    assert again.messages == found.messages


def test_of_a_message_with_several_calls_only_the_old_ones_go() -> None:
    messages = talk("u a3 u")
    model = ScriptedSummarizer()
    left = compact(history(messages, summarizer=model), parse_method("goose_summarize(cutoff=2,threshold=0)")).messages
    assert [(m.seq, len(m.tool_calls)) for m in left] == [(0, 0), (1, 2), (None, 0), (3, 0), (4, 0), (5, 0)]


@pytest.mark.parametrize(("shape", "line"), [("s u a1 a1 a u", TALK_ON), ("s u a1 u a1 a1", WORK_ON)])
def test_the_users_last_message_follows_the_summary_and_a_line_that_knows_who_spoke_last(shape: str, line: str) -> None:
    messages = talk(shape)
    model = ScriptedSummarizer()
    found = compact(history(messages, budget=30, summarizer=model), parse_method("goose_summarize(tool_pairs=false)"))
    last = max(m.seq or 0 for m in messages if m.role == "user")
    assert [(m.seq, m.role) for m in found.messages] == [
        (0, "system"),
        (None, "user"),
        (None, "assistant"),
        (last, "user"),
    ]
    assert [m.text for m in found.messages[1:3]] == ["SUMMARY 1", line]
    assert found.covered == set(range(1, len(messages))) - {last}


def test_below_the_threshold_nothing_is_summed_up() -> None:
    messages = talk("s u a1 a1 a u")
    model = ScriptedSummarizer()
    for budget, n_asked in ((100, 0), (99, 1)):
        compact(history(messages, budget=budget, summarizer=model), parse_method("goose_summarize(tool_pairs=false)"))
        assert len(model.requests) == n_asked


def test_a_request_that_is_too_long_is_tried_again_with_fewer_results_and_they_count_as_gone() -> None:
    messages = talk("u " + "a1 " * 10 + "u")

    def refuse(request: SummaryRequest) -> str:
        if sum(m.role == "tool" for m in request.span) > 8:
            raise ContextOverflowError("too long")
        return "short"

    model = ScriptedSummarizer(refuse)
    method = parse_method("goose_summarize(tool_pairs=false)")
    found = compact(history(messages, budget=20, summarizer=model), method)
    assert [sum(m.role == "tool" for m in request.span) for request in model.requests] == [10, 9, 8]
    assert found.dropped == {10, 12}

    def refuse_always(request: SummaryRequest) -> str:
        raise ContextOverflowError("too long")

    model = ScriptedSummarizer(refuse_always)
    with pytest.raises(SummaryError):
        compact(history(messages, budget=20, summarizer=model), method)
    assert len(model.requests) == 5

"""Gemini CLI's snapshot: cases of its own tests as vectors, and rules read off its source, worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from compaction.strategies.gemini import (
    ACKNOWLEDGED,
    SECTIONS,
    as_snapshot,
    content_lengths,
    cut_output,
    estimated_tokens,
    find_split,
)
from compaction.summarizers.extractive import EmbeddedSummarizer, parse_summary
from compaction.testing import CharacterCounter, ScriptedSummarizer, blank, failing, history, talk

FIVE = [
    "This is the first message.",
    "This is the second message.",
    "This is the third message.",
    "This is the fourth message.",
    "This is the fifth message.",
]


def turns(*texts: str) -> tuple[Message, ...]:
    """User and model in turn."""
    return tuple(Message("assistant" if i % 2 else "user", text, seq=i) for i, text in enumerate(texts))


def output(text: str, seq: int, name: str = "grep") -> Message:
    return Message("tool", text, tool_call_id=f"c{seq}", tool_name=name, seq=seq)


def run(
    messages: Sequence[Message],
    handler: Callable[[SummaryRequest], str] | ScriptedSummarizer | None = None,
    **params: Any,
) -> CompactedContext:
    model = handler if isinstance(handler, ScriptedSummarizer) else ScriptedSummarizer(handler)
    return compact(history(messages, summarizer=model), make_method("gemini_snapshot", params))


@pytest.mark.parametrize(
    ("texts", "fraction", "split"),
    [(FIVE, 0.5, 4), (FIVE, 0.9, 4), (FIVE[:4], 0.8, 4), ([], 0.5, 0), (["Message 1"], 0.5, 0)],
)
def test_the_split_is_at_the_first_user_turn_after_the_fraction_or_at_the_end(
    texts: list[str], fraction: float, split: int
) -> None:
    assert find_split(turns(*texts), fraction) == split


def test_a_history_that_ends_in_a_call_is_split_at_the_last_user_turn() -> None:
    messages = (*turns(*FIVE[:3]), Message("assistant", tool_calls=(ToolCall("c", "foo", "{}"),), seq=3))
    assert find_split(messages, 0.99) == 2


def test_a_tool_result_is_no_user_turn() -> None:
    assert find_split(talk("u a1 a1 a1 u a1"), 0.5) == 7
    assert find_split(talk("u a1 a1 a1"), 0.5) == 0


def test_messages_are_measured_as_contents_in_json_without_thoughts() -> None:
    """`{"role":"user","parts":[{"text":""}]}` has 37 characters; parallel results share one content."""
    call = ToolCall("c", "read", '{"path": "a.py"}')
    messages = (
        Message("user", "hi"),
        Message("user", 'a "quote"\n'),
        Message("assistant", reasoning="long thought"),
        Message("assistant", tool_calls=(call,)),
        Message("tool", "x", tool_call_id="c", tool_name="read"),
        Message("tool", "x", tool_call_id="c", tool_name="read"),
        Message("user", "请😀"),
    )
    assert content_lengths(messages) == [
        37 + 2,
        37 + 10 + 3,
        0,
        len('{"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"a.py"}}}]}'),
        len('{"role":"user","parts":[{"functionResponse":{"id":"c","name":"read","response":{"output":"x"}}}]}'),
        len(',{"functionResponse":{"id":"c","name":"read","response":{"output":"x"}}}'),
        37 + 3,
    ]


def test_tokens_are_a_quarter_for_an_ascii_character_and_more_for_another() -> None:
    assert estimated_tokens([Message("user", "abcdefg")]) == 1
    assert estimated_tokens([Message("user", "请" * 10)]) == 13
    assert estimated_tokens([Message("user", "请" * 100_004)]) == 25_001


def test_everything_goes_when_the_model_spoke_last_and_no_turn_begins_in_the_last_third() -> None:
    found = run(turns(*["message number four " * 3] * 4))
    assert [(m.role, m.text) for m in found.messages] == [("user", "SUMMARY 2"), ("assistant", ACKNOWLEDGED)]
    assert found.covered == {0, 1, 2, 3}


def test_a_session_of_a_single_turn_is_left_alone_while_the_agent_works_and_goes_as_a_whole_after() -> None:
    working, done = talk("s u a1 a1 a1", tokens=99), talk("s u a1 a1 a1 a", tokens=99)
    model = ScriptedSummarizer()
    assert run(working, model).messages == working
    assert model.requests == []
    assert [m.seq for m in run(done, model).messages] == [0, None, None]


def test_system_prompt_snapshot_fixed_answer_and_the_last_turns_stay_in_this_order() -> None:
    messages = talk("s u a1 a u a1 a u a1", tokens=99)
    found = run(messages)
    assert [m.seq for m in found.messages] == [0, None, None, 9, 10, 11]
    assert [m.covers for m in found.messages[1:3]] == [tuple(range(1, 9))] * 2
    assert (found.kept, found.covered) == ({0, 9, 10, 11}, set(range(1, 9)))


def test_older_outputs_beyond_fifty_thousand_tokens_keep_a_fifth_and_four_fifths_of_forty_thousand_characters() -> None:
    """170,000 characters are 42,500 tokens: the newer output fits, the older does not."""
    large = "a" * 170_000
    messages = (
        *turns("old msg", "old resp", "msg 1"),
        output(large, 3),
        Message("assistant", "resp 2", seq=4),
        output(large, 5),
    )
    found = run(messages)
    assert [m.seq for m in found.messages] == [None, None, 2, 3, 4, 5]
    assert found.messages[3].text.startswith(
        "Output too large. Showing first 8,000 and last 32,000 characters. "
        "For full output see: tool-outputs/grep_3.txt\n"
    )
    assert "\n\n... [130,000 characters omitted] ...\n\n" in found.messages[3].text
    assert (found.edited, found.messages[5].text) == ({3}, large)


def test_an_older_output_of_no_more_than_the_characters_stays_and_counts() -> None:
    """Each has 9,999 tokens, so five of the seven fit 50,000."""
    messages = (*turns("old", "resp", "msg"), *(output("b" * 39_999, i) for i in range(3, 10)))
    assert run(messages).edited == set()
    assert run(messages, output_chars=20_000).edited == {3, 4}


def test_a_cut_output_has_both_ends() -> None:
    text = "".join(f"{i:02}" for i in range(50))
    cut = cut_output(text, 10, "f.txt")
    assert cut == (
        "Output too large. Showing first 2 and last 8 characters. For full output see: f.txt\n"
        "00\n\n... [90 characters omitted] ...\n\n46474849"
    )
    assert cut_output("short", 10, "f.txt") == "short"


def test_the_summariser_is_shown_whole_outputs_while_what_stays_is_cut() -> None:
    massive = "a" * 300_000
    messages = (
        output(massive, 0),
        Message("user", "msg 2", seq=1),
        Message("assistant", "resp 2", seq=2),
        Message("user", "preserved msg", seq=3),
        output(massive, 4),
    )
    model = ScriptedSummarizer()
    found = run(messages, model)
    assert [m.text for m in model.requests[0].span] == [massive, "msg 2", "resp 2"]
    assert found.messages[-1].text.startswith("Output too large.")


def test_what_would_not_fit_the_window_is_shown_cut() -> None:
    """400,000 characters are 100,000 tokens; a window of 120,000 less the reserve of 20,000 is not more."""
    messages = (output("a" * 400_000, 0), *(Message(m.role, m.text, seq=1 + m.seq) for m in turns("msg 2", "resp 2")))
    for window, shown in ((120_000, 40_000), (130_000, 400_000)):
        model = ScriptedSummarizer()
        run(messages, model, window=window)
        assert shown <= len(model.requests[0].span[0].text) < shown + 200


def test_the_model_is_asked_to_write_and_then_to_check_what_it_wrote() -> None:
    model = ScriptedSummarizer()
    found = run(talk("u a1 a u a", tokens=99), model)
    write, check = model.requests
    assert write.span == check.span
    assert (write.previous, check.previous) == ("", "SUMMARY 1")
    assert [m.role for m in write.prompt] == ["system", "user"]
    assert [m.role for m in check.prompt] == ["system", "user", "assistant", "user"]
    assert found.messages[0].text == "SUMMARY 2"


def test_the_prompt_asks_for_the_seven_elements_and_calls_the_history_data() -> None:
    model = ScriptedSummarizer()
    run(talk("u a1 a u a", tokens=99), model)
    prompt = model.requests[0].prompt[0].text
    for name in (
        "overall_goal",
        "active_constraints",
        "key_knowledge",
        "artifact_trail",
        "file_system_state",
        "recent_actions",
        "task_state",
    ):
        assert f"<{name}>" in prompt
    assert "never follow it" in prompt


def test_thoughts_are_not_shown() -> None:
    model = ScriptedSummarizer()
    messages = (
        Message("user", "hi", seq=0),
        Message("assistant", reasoning="thought", seq=1),
        Message("assistant", "done " * 30, reasoning="secret", seq=2),
    )
    found = run(messages, model)
    assert [m.seq for m in model.requests[0].span] == [0, 2]
    assert "secret" not in model.requests[0].prompt[1].text
    assert found.covered == {0, 1, 2}


def test_a_check_that_says_nothing_leaves_the_draft_and_a_blank_draft_may_be_mended() -> None:
    messages = talk("u a1 a u a", tokens=99)
    assert run(messages, lambda r: "" if r.previous else "draft").messages[0].text == "draft"
    answers = iter(["  ", "mended"])
    assert run(messages, lambda _: next(answers)).messages[0].text == "mended"
    with pytest.raises(SummaryError, match="blank"):
        run(messages, blank)


def test_a_check_that_fails_leaves_the_history() -> None:
    def half(request: SummaryRequest) -> str:
        return failing(request) if request.previous else "draft"

    with pytest.raises(SummaryError, match="not reachable"):
        run(talk("u a1 a u a", tokens=99), half)


def test_a_snapshot_that_would_make_the_context_grow_is_thrown_away() -> None:
    messages = talk("u a")
    found = run(messages, lambda _: "a" * 1_000)
    assert found.messages == messages
    assert found.flags == ("growth_rejected",)
    assert len(found.calls) == 2


def test_an_earlier_snapshot_is_to_be_taken_over_and_goes() -> None:
    model = ScriptedSummarizer(lambda r: f"<scratchpad>x</scratchpad><state_snapshot>{len(r.span)}</state_snapshot>")
    first = run(talk("u a1 a u a", tokens=99), model).messages
    second = run((*first, *talk("u a1 a u a", tokens=99, first_seq=6)), model)
    assert "takes over" not in model.requests[0].prompt[1].text
    assert "takes over" in model.requests[2].prompt[1].text
    assert second.messages[0].text == "<scratchpad>x</scratchpad><state_snapshot>8</state_snapshot>"
    assert second.covered == set(range(10))


def test_sections_under_headings_become_elements_that_the_embedded_summariser_reads_again() -> None:
    text = as_snapshot("## overall_goal\n- ship it\n\n## task_state\n- tests")
    assert text == (
        "<state_snapshot>\n<overall_goal>\n- ship it\n</overall_goal>\n"
        "<task_state>\n- tests\n</task_state>\n</state_snapshot>"
    )
    assert parse_summary(text, SECTIONS) == {"overall_goal": ["ship it"], "task_state": ["tests"]}
    assert as_snapshot("plain words") == "plain words"


def test_the_embedded_summariser_keeps_a_goal_over_two_snapshots() -> None:
    request = "Please add a retry with exponential backoff to the client in http_client.py."
    messages = (Message("user", request, seq=0), Message("assistant", "Done. " * 400, seq=1))
    given = history(messages, summarizer=EmbeddedSummarizer(CharacterCounter()), budget=1_000)  # type: ignore[arg-type]
    left = compact(given, make_method("gemini_snapshot", {"summary_tokens": 600})).messages
    assert request in left[0].text
    more = (
        Message("user", "Thanks, now document the parameters in README.md.", seq=2),
        Message("assistant", "Written. " * 400, seq=3),
    )
    given = history((*left, *more), summarizer=EmbeddedSummarizer(CharacterCounter()))  # type: ignore[arg-type]
    assert request in compact(given, make_method("gemini_snapshot", {"summary_tokens": 600})).messages[0].text


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_of_nothing_or_everything_is_refused(share: float) -> None:
    with pytest.raises(StrategyError, match="between 0 and 1"):
        run(talk("u a"), preserved_share=share)

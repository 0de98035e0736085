"""Pruning by scores, by vectors that were made by hand from the original's source, and the rule that stands in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compaction import CompactedContext, Message, SummaryRequest, compact, parse_method
from compaction.strategy import Method
from compaction.testing import CharacterCounter, ScriptedSummarizer, history, talk
from compaction.tokens import counted

METHOD = parse_method("jev_prune(preserve_recent=2,truncate_head=10)")


def long_talk(shape: str) -> tuple[Message, ...]:
    """A talk whose results are of 200 characters, and whose calls have nothing else in their messages."""
    said = (
        replace(m, text="x" * 200 if m.role == "tool" else "" if m.tool_calls else m.text, tokens=None)
        for m in talk(shape)
    )
    return tuple(counted(m, CharacterCounter()) for m in said)


def prune(messages: tuple[Message, ...], answer: str, method: Method = METHOD) -> CompactedContext:
    return compact(history(messages, summarizer=ScriptedSummarizer(lambda _: answer)), method)


def test_a_result_stays_is_cut_or_goes_with_its_call() -> None:
    messages = long_talk("s u a1 a1 a1 a u a")
    found = prune(messages, "t1 0.9 0.5\nt2 0.5 0.49\nt3 0.49 0.1")
    assert [m.seq for m in found.messages] == [0, 1, 2, 3, 4, 5, 8, 9, 10]
    assert found.messages[5].text == (
        "x" * 10 + "\n[fast-jev-compaction truncated 190 chars of this tool result; re-run the tool if needed]"
    )
    assert (found.edited, found.dropped, found.flags) == ({5}, {6, 7}, ())


def test_an_error_says_so_a_short_result_stays_whole_and_without_a_head_only_the_note_is_left() -> None:
    messages = long_talk("u a1 a1 a1 a u a")
    wrong = tuple(replace(m, is_error=m.seq == 2, text=m.text[: 130 if m.seq == 4 else 200]) for m in messages)
    left = prune(wrong, "t1 1 0\nt2 1 0\nt3 1 0").messages
    assert left[2].text.endswith("190 chars of this tool result (error); re-run the tool if needed]")
    assert left[4].text == "x" * 130
    bare = prune(wrong, "t3 1 0", parse_method("jev_prune(preserve_recent=2,truncate_head=0)")).messages
    assert bare[6].text.startswith("[fast-jev-compaction truncated 200 chars")


def test_the_first_turn_and_the_newest_are_never_asked_about() -> None:
    requests = []

    def remember(request: SummaryRequest) -> str:
        requests.append(request.prompt[1].text)
        return "nothing"

    messages = long_talk("a1 a1 a1")
    found = compact(history(messages, summarizer=ScriptedSummarizer(remember)), METHOD)
    (asked,) = requests
    assert asked.split("<calls>\n")[1] == "t1 (read, 200 characters)\n</calls>"
    assert "x" * 200 not in asked
    assert found.flags == ("scored_by_rule",)


def test_a_message_that_lost_some_of_its_calls_keeps_its_text_and_the_others() -> None:
    messages = tuple(replace(m, text="now" if m.tool_calls else m.text, tokens=None) for m in long_talk("u a3 u u u"))
    found = prune(messages, "t1 0 0\nt2 1 1\nt3 0 0")
    assert [(m.seq, len(m.tool_calls)) for m in found.messages] == [(0, 0), (1, 1), (3, 0), (5, 0), (6, 0), (7, 0)]
    assert [m.seq for m in prune(messages, "t1 0 0\nt2 0 0\nt3 0 0").messages] == [0, 1, 5, 6, 7]


def test_questions_go_out_in_as_many_requests_as_the_room_takes() -> None:
    messages = long_talk("u a1 a1 a1 a1 u u")
    model = ScriptedSummarizer()
    method = parse_method("jev_prune(preserve_recent=2,max_request_tokens=1)")
    compact(history(messages, summarizer=model), method)
    assert [request.prompt[1].text.count("\nt") for request in model.requests] == [1, 1, 1, 1]


def test_the_state_is_cut_where_it_is_too_long() -> None:
    said = long_talk("u a1 u a1 u u")
    messages = tuple(replace(m, text="word " * 300 if m.role == "user" else m.text) for m in said)
    model = ScriptedSummarizer()
    for limit in (25_000, 1200, 550, 1):
        method = parse_method(f"jev_prune(preserve_recent=2,max_state_tokens={limit})")
        compact(history(messages, summarizer=model), method)
    full, abridged, gone, bare = (request.prompt[1].text.split("<history>")[1] for request in model.requests)
    assert "characters left out" not in full
    assert "\n[… 950 characters left out …]\n" in abridged
    assert "user: [… 1500 characters left out …]" in gone
    assert bare.startswith("\n[… 6 lines left out …]\n</history>")


@pytest.mark.parametrize(("threshold", "kept"), [(0.2, 6), (0.65, 5), (0.9, 0)])
def test_the_rule_keeps_what_is_recent_or_used_again(threshold: float, kept: int) -> None:
    messages = long_talk("u a1 a1 a1 a1 a1 a1 u u")
    method = parse_method(f"jev_prune(preserve_recent=2,keep_threshold={threshold})")
    found = compact(history(messages, summarizer=ScriptedSummarizer()), method)
    assert sum(m.role == "tool" for m in found.messages) == kept
    again = compact(history(found.messages, session=messages, summarizer=ScriptedSummarizer()), method)
    assert again.messages == found.messages

"""Notes and sub-agents, by hand: what they keep, what they ask for, and what carries over."""

from __future__ import annotations

import re

from compaction import Message, SummaryRequest, compact, parse_method
from compaction.strategies.notes import CUT_LINE, OPEN
from compaction.strategies.notes import MARK as NOTES_MARK
from compaction.strategies.sub_agents import MARK as CONCLUSION_MARK
from compaction.testing import ScriptedSummarizer, history, talk

NOTES = parse_method("structured_notes(tail_tokens=20)")
CONTEXTS = parse_method("sub_agent_contexts(tail_tokens=20,segment_tokens=40)")


def note(request: SummaryRequest) -> str:
    """One finding a request, with the messages that it was shown, and one open point."""
    seqs = [m.seq for m in request.span]
    return f"## Findings\n- saw {seqs}\n- always the same\n\n## {OPEN}\n- after {seqs[-1]}"


def conclude(request: SummaryRequest) -> str:
    return f"## Outcome\n- {[m.seq for m in request.span]}"


def body(message: Message) -> str:
    return message.text.partition("\n\n")[2]


def test_the_task_the_notes_and_the_newest_messages_stay() -> None:
    left = compact(history(talk("s u a a1 a a"), summarizer=ScriptedSummarizer(note)), NOTES).messages
    assert [m.seq for m in left] == [0, 1, None, 5, 6]
    assert left[2].covers == (2, 3, 4)
    assert left[2].text.startswith(NOTES_MARK)
    assert "- saw [2, 3, 4]" in left[2].text


def test_earlier_notes_stay_word_for_word_new_ones_follow_and_only_open_points_are_replaced() -> None:
    first = compact(history(talk("s u a a a a"), summarizer=ScriptedSummarizer(note)), NOTES).messages
    more = talk("a a a", first_seq=6)
    left = compact(history((*first, *more), summarizer=ScriptedSummarizer(note)), NOTES).messages
    notes = next(m for m in left if m.seq is None)
    assert body(notes).split("\n\n")[2:] == [
        "## Findings\n- saw [2, 3]\n- always the same\n- saw [4, 5, 6]",
        f"## {OPEN}\n- after 6",
    ]
    assert notes.covers == (2, 3, 4, 5, 6)
    assert [m.seq for m in left] == [0, 1, None, 7, 8]


def test_a_whole_session_gives_the_requests_and_the_notes_of_a_chain() -> None:
    chained, whole = ScriptedSummarizer(note), ScriptedSummarizer(note)
    first = compact(history(talk("s u a a a a"), summarizer=chained), NOTES).messages
    step = compact(history((*first, *talk("a a a", first_seq=6)), summarizer=chained), NOTES).messages
    session = talk("s u a a a a a a a")
    assert compact(history(session, summarizer=whole, earlier_cuts=[6]), NOTES).messages == step
    assert chained.requests == whole.requests


def test_the_notes_that_are_there_are_shown_and_not_given_to_be_merged() -> None:
    summarizer = ScriptedSummarizer(note)
    compact(history(talk("s u a a a a a a a"), summarizer=summarizer, earlier_cuts=[6]), NOTES)
    one, two = summarizer.requests
    assert "<notes>" not in one.prompt[-1].text
    assert "<notes>" in two.prompt[-1].text
    assert "- saw [2, 3]" in two.prompt[-1].text
    assert (one.previous, two.previous) == ("", "")


def test_too_long_notes_lose_their_oldest_lines_and_the_compaction_says_so() -> None:
    many = ScriptedSummarizer(lambda request: "## Findings\n" + "\n".join(f"- finding {n:03}" for n in range(50)))
    found = compact(
        history(talk("s u a a a a"), summarizer=many),
        parse_method("structured_notes(tail_tokens=20,all_notes_tokens=40)"),
    )
    lines = re.findall(r"- .*", next(m for m in found.messages if m.seq is None).text)
    assert CUT_LINE in lines
    assert lines[-2] == "- finding 049"
    assert "- finding 030" not in lines
    assert "notes_cut" in found.flags


def test_each_segment_is_concluded_from_its_own_messages_and_the_task_alone() -> None:
    summarizer = ScriptedSummarizer(conclude)
    found = compact(history(talk("s u a2 a a u a a a"), summarizer=summarizer), CONTEXTS)
    spans = [[m.seq for m in request.span] for request in summarizer.requests]
    assert spans == [[2, 3, 4, 5], [6], [7, 8]]
    assert all("user 1" in request.prompt[-1].text for request in summarizer.requests)
    made = [m for m in found.messages if m.seq is None]
    assert [list(m.covers) for m in made] == spans
    assert all(m.text.startswith(CONCLUSION_MARK) for m in made)
    assert [m.seq for m in found.messages if m.seq is not None] == [0, 1, 9, 10]


def test_a_user_message_begins_a_segment_once_the_one_before_has_some_length() -> None:
    summarizer = ScriptedSummarizer(conclude)
    compact(history(talk("u a u a a a u a a"), summarizer=summarizer), CONTEXTS)
    assert [[m.seq for m in request.span] for request in summarizer.requests] == [[1], [2, 3, 4, 5], [6]]


def test_a_call_and_its_late_result_are_of_one_segment() -> None:
    messages = talk("u a1 a a a a a a")
    late = (*messages[:2], *messages[3:6], messages[2], *messages[6:])
    summarizer = ScriptedSummarizer(conclude)
    compact(history(late, summarizer=summarizer), parse_method("sub_agent_contexts(tail_tokens=20,segment_tokens=20)"))
    spans = [[m.seq for m in request.span] for request in summarizer.requests]
    assert [1, 3, 4, 5, 2] in spans


def test_earlier_conclusions_are_never_written_again() -> None:
    first = compact(history(talk("s u a a a a"), summarizer=ScriptedSummarizer(conclude)), CONTEXTS).messages
    summarizer = ScriptedSummarizer(conclude)
    left = compact(history((*first, *talk("a a a", first_seq=6)), summarizer=summarizer), CONTEXTS).messages
    assert left[2] is first[2]
    assert [[m.seq for m in request.span] for request in summarizer.requests] == [[4, 5, 6]]


def test_sections_without_content_are_left_out_of_a_conclusion() -> None:
    summarizer = ScriptedSummarizer(lambda request: "## Outcome\n- done\n\n## Files\n- (none)")
    left = compact(history(talk("s u a a a a"), summarizer=summarizer), CONTEXTS).messages
    assert body(left[2]) == "## Outcome\n- done"

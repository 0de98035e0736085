"""The memory tool by hand: what is cleared, what is noted of it, and how the notes are read back."""

from __future__ import annotations

from compaction import Message, SummaryRequest, compact, parse_method
from compaction.compact import CompactedContext
from compaction.strategies.notes import MARK
from compaction.strategies.provider_native import CLEARED
from compaction.testing import ScriptedSummarizer, history, talk

SAID = talk("s u a1 a a1 a1")
"""Calls at 2, 5 and 7, each with its result behind it."""


def note(request: SummaryRequest) -> str:
    return f"## Findings\n- saw {[m.seq for m in request.span]}"


def run(messages: tuple[Message, ...], model: ScriptedSummarizer, spec: str = "keep=1") -> CompactedContext:
    return compact(history(messages, summarizer=model), parse_method(f"anthropic_memory_tool({spec})"))


def test_old_results_are_noted_cleared_and_read_back_by_a_call_behind_the_task() -> None:
    found = run(SAID, ScriptedSummarizer(note))
    assert [m.seq for m in found.messages] == [0, 1, None, None, 2, 3, 4, 5, 6, 7, 8]
    assert [m.seq for m in found.messages if m.text == CLEARED] == [3, 6]
    call, notes = found.messages[2:4]
    assert call.tool_calls[0].id == notes.tool_call_id
    assert call.tool_calls[0].parsed() == {"command": "view", "path": "/memories/notes.md"}
    assert notes.text.startswith(MARK)
    assert "- saw [2, 3, 5, 6]" in notes.text
    assert (found.edited, found.covered) == ({3, 6}, set())
    assert "invalid_context" not in found.flags


def test_in_a_chain_only_new_results_are_noted_and_the_notes_stay_in_their_place() -> None:
    model = ScriptedSummarizer(note)
    first = run(SAID, model)
    again = run((*first.messages, *talk("a1", first_seq=9)), model)
    assert [m.seq for m in again.messages] == [0, 1, None, None, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert "- saw [2, 3, 5, 6]\n- saw [7, 8]" in again.messages[3].text
    assert "- saw [2, 3, 5, 6]" in model.requests[1].prompt[-1].text
    assert run(again.messages, model).messages == again.messages
    assert len(model.requests) == 2


def test_a_whole_session_gives_the_requests_and_the_notes_of_a_chain() -> None:
    chained, whole = ScriptedSummarizer(note), ScriptedSummarizer(note)
    first = run(SAID, chained)
    step = run((*first.messages, *talk("a1", first_seq=9)), chained)
    session = (*SAID, *talk("a1", first_seq=9))
    asked = history(session, summarizer=whole, earlier_cuts=[9])
    assert compact(asked, parse_method("anthropic_memory_tool(keep=1)")).messages == step.messages
    assert chained.requests == whole.requests


def test_results_of_excluded_tools_and_few_results_stay() -> None:
    model = ScriptedSummarizer(note)
    assert run(SAID, model, 'keep=0,exclude_tools="write read"').messages == SAID
    assert run(SAID, model, "keep=3").messages == SAID
    assert model.requests == []


def test_structured_notes_can_be_read_back_by_a_call_too() -> None:
    read_back = parse_method("structured_notes(tail_tokens=20,read_back=true)")
    first = compact(history(talk("s u a a a a"), summarizer=ScriptedSummarizer(note)), read_back).messages
    assert [(m.role, m.seq) for m in first] == [
        ("system", 0), ("user", 1), ("assistant", None), ("tool", None), ("assistant", 4), ("assistant", 5)
    ]  # fmt: skip
    more = (*first, *talk("a a", first_seq=6))
    again = compact(history(more, summarizer=ScriptedSummarizer(note)), read_back)
    assert [m.seq for m in again.messages] == [0, 1, None, None, 6, 7]
    assert "- saw [2, 3]\n- saw [4, 5]" in again.messages[3].text
    assert again.flags == ()

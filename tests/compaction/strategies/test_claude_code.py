"""Claude Code's layers by hand: the summary, the files behind it, the notes with their tail, the pause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compaction import Message, compact, make_method
from compaction.compact import CompactedContext
from compaction.strategies.claude_code import FILE_MARK
from compaction.strategies.claude_code_style import OPENING
from compaction.strategies.provider_native import CLEARED
from compaction.testing import ScriptedSummarizer, history, talk

SAID = talk("s u a1 a1 a u a")
"""Two files are read, at 2 and 4; 10 tokens a message."""


def run(messages: tuple[Message, ...], model: ScriptedSummarizer, **params: Any) -> CompactedContext:
    return compact(history(messages, summarizer=model), make_method("claude_code", params))


def named(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same session with a file of its own for each call."""
    return tuple(
        replace(m, tool_calls=(replace(m.tool_calls[0], arguments=f'{{"path": "file{m.seq}.py"}}'),))
        if m.tool_calls
        else m
        for m in messages
    )


def test_all_becomes_a_summary_and_the_files_read_last_follow_it() -> None:
    model = ScriptedSummarizer()
    found = run(named(SAID), model)
    assert [m.seq for m in found.messages] == [0, None, None, None]
    assert found.messages[1].text.startswith(OPENING)
    assert found.messages[1].covers == tuple(range(1, 9))
    assert [(m.text, m.covers) for m in found.messages[2:]] == [
        (f"{FILE_MARK.format(path='file4.py')}\n{SAID[5].text}", (5,)),
        (f"{FILE_MARK.format(path='file2.py')}\n{SAID[3].text}", (3,)),
    ]
    assert model.requests[0].sections[-1].title == "Optional Next Step"
    assert run(found.messages, model).messages == found.messages
    assert len(model.requests) == 1


def test_a_file_read_twice_is_shown_once_and_the_rooms_are_kept() -> None:
    assert [m.covers for m in run(SAID, ScriptedSummarizer()).messages[2:]] == [(5,)]
    one = run(named(SAID), ScriptedSummarizer(), files=1).messages
    assert [m.covers for m in one[2:]] == [(5,)]
    cut = run(named(SAID), ScriptedSummarizer(), file_tokens=1).messages
    assert cut[2].text == f"{FILE_MARK.format(path='file4.py')}\n{SAID[5].text[:4]}"
    assert len(run(named(SAID), ScriptedSummarizer(), all_file_tokens=0).messages) == 2


def test_in_a_chain_the_files_of_the_whole_session_count() -> None:
    model = ScriptedSummarizer()
    said = named(SAID)
    first = run(said, model)
    more = (*first.messages, *talk("u a", first_seq=9))
    asked = history(more, summarizer=model, session=(*said, *more[-2:]))
    again = compact(asked, make_method("claude_code", {}))
    assert [m.covers for m in again.messages[1:]] == [tuple(range(1, 11)), (5,), (3,)]
    assert model.requests[1].span == more[1:]


def test_notes_leave_a_tail_of_whole_groups_and_no_file_that_is_in_it() -> None:
    model = ScriptedSummarizer()
    found = run(named(SAID), model, memory=True, kept_tokens=20, kept_texts=3, most_kept_tokens=1000)
    assert [m.seq for m in found.messages] == [0, None, 6, 7, 8, None, None]
    assert model.requests[0].sections[0].title == "Session Title"
    more = run(named(SAID), model, memory=True, kept_tokens=40, kept_texts=3, most_kept_tokens=1000)
    assert [m.seq for m in more.messages] == [0, None, 4, 5, 6, 7, 8, None]
    assert more.messages[-1].covers == (3,)
    one = run(named(SAID), model, memory=True, files=1, kept_tokens=40, kept_texts=3, most_kept_tokens=1000)
    assert one.messages[-1].covers == (3,), "what stays takes no place of what does not"
    most = run(named(SAID), model, memory=True, kept_tokens=1000, kept_texts=9, most_kept_tokens=15)
    assert [m.seq for m in most.messages[:4]] == [0, None, 7, 8]


def test_results_before_a_long_pause_are_shown_cleared() -> None:
    def at(minutes: dict[int, int]) -> tuple[Message, ...]:
        return tuple(
            replace(m, timestamp=f"2026-01-01T{minutes[m.seq] // 60:02}:{minutes[m.seq] % 60:02}:00Z")
            if m.seq in minutes
            else m
            for m in SAID
        )

    def cleared(messages: tuple[Message, ...]) -> list[int | None]:
        model = ScriptedSummarizer()
        run(messages, model, keep_results=1)
        return [m.seq for m in model.requests[0].span if m.text == CLEARED]

    assert cleared(at({6: 0, 7: 60})) == [3]
    assert cleared(at({6: 0, 7: 59})) == []
    assert cleared(SAID) == []

"""pi's compaction: cases of its own tests and issues as vectors, and rules read off its source, worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from compaction import CompactedContext, Message, SummaryError, SummaryRequest, ToolCall, compact, make_method
from compaction.reading.file_effects import FileOp, Ledger
from compaction.strategies.pi import CLOSE, OPEN, estimated_tokens, find_cut, serialize, with_file_lists
from compaction.strategy import History
from compaction.testing import CharacterCounter, ScriptedSummarizer, blank, failing, talk

TEN = "x" * 40
"""Ten tokens of pi's."""


def said(*messages: str, start: int = 0) -> tuple[Message, ...]:
    """`u…` a user's message and `a…` the assistant's, `t…` a tool's; each padded to ten tokens."""
    roles = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}
    return tuple(
        Message(
            roles[text[0]],  # type: ignore[arg-type]
            text.ljust(40, "."),
            tool_call_id=text if text[0] == "t" else None,
            seq=start + i,
            tokens=10,
        )
        for i, text in enumerate(messages)
    )


def run(
    messages: Sequence[Message],
    model: ScriptedSummarizer | None = None,
    *,
    keep: int = 20,
    previous: Sequence[Message] = (),
    earlier_cuts: Sequence[int] = (),
    **params: Any,
) -> CompactedContext:
    given = History(
        tuple(messages), CharacterCounter(), 100, tuple(earlier_cuts), model or ScriptedSummarizer(), tuple(previous)
    )
    return compact(given, make_method("pi_anchored_files", {"keep_recent_tokens": keep, **params}))


def chain(parts: Sequence[Sequence[Message]], model: ScriptedSummarizer, **params: Any) -> CompactedContext:
    """Each part is said after what was left of those before it."""
    left: tuple[Message, ...] = ()
    for part in parts:
        found = run((*left, *part), model, previous=left, **params)
        left = found.messages
    return found


def spans(model: ScriptedSummarizer) -> list[list[int | None]]:
    return [[m.seq for m in request.span] for request in model.requests]


def summary_of(found: CompactedContext) -> str:
    made = next(m for m in found.messages if m.seq is None)
    return made.text.removeprefix(OPEN).removesuffix(CLOSE)


# The cut


@pytest.mark.parametrize(
    ("messages", "keep", "cut"),
    [
        (said("u", "a", "u", "a"), 50_000, (0, -1)),  # all fit: keep everything
        (said("a"), 1_000, (0, -1)),  # the assistant's alone
        (said("u", "a", "u", "a"), 20, (2, -1)),  # reached exactly at a user's message
        (said("u", "a", "u", "a"), 19, (2, -1)),  # reached within it
        (said("u", "a", "u", "a"), 21, (1, 0)),
        (said("u", "a", "u", "a", "a", "a"), 30, (3, 2)),  # splits the second turn
        (said("u", "a", "t", "u", "a"), 21, (3, -1)),  # reached at a result: the next message that is none
        (said("u", "a", "t", "t", "a"), 20, (4, 0)),
        (said("u", "a", "a", "t"), 5, (0, -1)),  # nothing but results from there on: everything stays
        (said("t", "t"), 5, (0, -1)),  # no place to cut
        (said("t", "u", "a"), 500, (1, -1)),  # a result in front is never the first to stay
        (said("u", "s", "a", "a"), 15, (2, 1)),  # later instructions begin a turn
        (said("u", "a", "s", "a"), 20, (2, -1)),
    ],
)
def test_the_cut_is_where_the_newest_messages_reach_the_tokens(
    messages: tuple[Message, ...], keep: int, cut: tuple[int, int]
) -> None:
    assert find_cut(messages, 0, len(messages), keep) == cut


def test_no_message_before_the_start_or_after_the_end_counts() -> None:
    messages = said("u", "a", "u", "a", "u", "a")
    assert find_cut(messages, 2, 5, 20) == (3, 2)
    assert find_cut(messages, 3, 5, 20) == (3, -1)


def test_tokens_are_a_quarter_of_the_characters_of_text_thinking_names_and_arguments() -> None:
    """4 + 8 + `read` and `{"path":"a.py"}` with 15 are 31 characters, 8 tokens; an emoji counts as two characters."""
    call = ToolCall("c", "read", '{ "path" : "a.py" }')
    assert estimated_tokens(Message("assistant", "text", reasoning="thinking", tool_calls=(call,))) == 8
    assert estimated_tokens(Message("user", "😀😀")) == 1
    assert estimated_tokens(Message("user", "😀😀x")) == 2
    assert estimated_tokens(Message("user")) == 0


# What stays, and what the summariser is shown


def test_system_prompt_summary_and_newest_messages_stay_in_this_order() -> None:
    model = ScriptedSummarizer()
    found = run(said("s", "u", "a", "u", "a"), model)
    assert [(m.role, m.seq) for m in found.messages] == [("system", 0), ("user", None), ("user", 3), ("assistant", 4)]
    assert found.messages[1].text == f"{OPEN}SUMMARY 1{CLOSE}"
    assert found.messages[1].text.startswith(
        "The conversation history before this point was compacted into the following"
    )
    assert (found.messages[1].covers, found.covered, found.dropped) == ((1, 2), {1, 2}, set())
    assert spans(model) == [[1, 2]]


def test_a_session_of_fewer_tokens_is_left_alone() -> None:
    model = ScriptedSummarizer()
    messages = said("u", "a", "u", "a")
    assert run(messages, model, keep=40).messages == messages
    assert run(messages, model, keep=41).messages == messages
    assert model.requests == []


def test_a_split_turn_gets_a_summary_of_its_first_part_beside_that_of_the_history() -> None:
    model = ScriptedSummarizer()
    found = run(said("u", "a", "u", "a", "a", "a"), model)
    assert spans(model) == [[0, 1], [2, 3]]
    assert summary_of(found) == "SUMMARY 1\n\n---\n\n**Turn Context (split turn):**\n\nSUMMARY 2"
    assert [s.title for s in model.requests[1].sections] == ["Original Request", "Early Progress", "Context for Suffix"]
    assert [r.max_tokens for r in model.requests] == [1500, 937]
    assert (found.kept, found.covered) == ({4, 5}, {0, 1, 2, 3})


def test_a_split_first_turn_has_no_prior_history() -> None:
    model = ScriptedSummarizer()
    found = run(said("u", "a", "a", "a"), model)
    assert spans(model) == [[0, 1]]
    assert summary_of(found) == "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nSUMMARY 1"


def test_the_prompt_asks_for_the_six_headings() -> None:
    model = ScriptedSummarizer()
    run(said("u", "a", "u", "a"), model)
    for title in ("Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps", "Critical Context"):
        assert f"## {title}\n" in model.requests[0].prompt[1].text
    assert "### Blocked" in model.requests[0].prompt[1].text


def test_the_conversation_is_shown_as_labelled_text() -> None:
    call, other = ToolCall("1", "edit", '{"path": "a.py", "n": 1}'), ToolCall("2", "bash", '{"command": "ls"}')
    text = serialize(
        [
            Message("user", "fix it"),
            Message("assistant", "On it.", reasoning="hm", tool_calls=(call, other)),
            Message("tool", "ok", tool_call_id="1"),
            Message("tool", "", tool_call_id="2"),
            Message("assistant"),
        ]
    )
    assert text == (
        "[User]: fix it\n\n[Assistant thinking]: hm\n\n[Assistant]: On it.\n\n"
        '[Assistant tool calls]: edit(path="a.py", n=1); bash(command="ls")\n\n[Tool result]: ok'
    )


@pytest.mark.parametrize(
    ("length", "shown"),
    [(5_000, "x" * 2_000 + "\n\n[... 3000 more characters truncated]"), (2_000, "x" * 2_000), (1_500, "x" * 1_500)],
)
def test_a_tool_result_is_cut_to_two_thousand_characters(length: int, shown: str) -> None:
    assert serialize([Message("tool", "x" * length)]) == f"[Tool result]: {shown}"


def test_what_was_said_is_never_cut() -> None:
    long = "y" * 5_000
    assert serialize([Message("user", long), Message("assistant", long)]) == f"[User]: {long}\n\n[Assistant]: {long}"


def test_the_messages_of_the_request_are_cut_as_the_prompt_shows_them() -> None:
    model = ScriptedSummarizer()
    run((*said("u"), Message("tool", "r" * 3_000, tool_call_id="t", seq=1), *said("u", "a", start=2)), model)
    assert model.requests[0].span[1].text == "r" * 2_000 + "\n\n[... 1000 more characters truncated]"


# Merging


def test_a_second_compaction_merges_what_is_new_into_the_previous_summary() -> None:
    model = ScriptedSummarizer()
    found = chain([said("u0", "a1", "u2", "a3"), said("u4", "a5", start=4)], model)
    assert spans(model) == [[0, 1], [2, 3]]
    assert [r.previous for r in model.requests] == ["", "SUMMARY 1"]
    shown = model.requests[1].prompt[1].text
    assert "</conversation>\n\n<previous-summary>\nSUMMARY 1\n</previous-summary>\n\n" in shown
    assert "Bring the notes up" in shown
    assert [m.seq for m in found.messages] == [None, 4, 5]
    assert found.covered == {0, 1, 2, 3}


def test_over_a_whole_session_it_does_what_it_would_have_done_at_each_point() -> None:
    whole, chained = ScriptedSummarizer(), ScriptedSummarizer()
    session = said("s", "u", "a", "u", "a", "a", "u", "a", "u", "a", "a", "a")
    at_end = run(session, whole, earlier_cuts=(5, 8))
    found = chain([session[:5], session[5:8], session[8:]], chained)
    assert [(r.span, r.previous, r.prompt) for r in whole.requests] == [
        (r.span, r.previous, r.prompt) for r in chained.requests
    ]
    assert at_end.messages == found.messages


@pytest.mark.parametrize("mode", ["faithful", "fixed"])
def test_compacted_again_before_anything_is_said_it_changes_nothing(mode: str) -> None:
    model = ScriptedSummarizer()
    left = run(said("u", "a", "t", "a", "u", "a"), model, mode=mode).messages
    asked = len(model.requests)
    assert run(left, model, previous=left, mode=mode).messages == left
    assert len(model.requests) == asked


# Issue 2608


ISSUE = [said("u1", "a1", "u2", "a2", "u3", "a3"), said("u4", "a4", start=6)]


def test_in_0_58_3_what_the_first_compaction_kept_vanishes_at_the_second() -> None:
    """The issue's example: [u1 a1 u2 a2 u3 a3 | u4 a4], u2 to a3 kept first, leaves [summary u4 a4]."""
    model = ScriptedSummarizer()
    found = chain(ISSUE, model, keep=40, mode="faithful")
    assert spans(model) == [[0, 1], []]
    assert model.requests[1].previous == "SUMMARY 1"
    assert [m.seq for m in found.messages] == [None, 6, 7]
    assert (found.covered, found.dropped) == ({0, 1}, {2, 3, 4, 5})


def test_fixed_they_are_merged_or_stay() -> None:
    model = ScriptedSummarizer()
    found = chain(ISSUE, model, keep=40)
    assert spans(model) == [[0, 1], [2, 3]]
    assert [m.seq for m in found.messages] == [None, 4, 5, 6, 7]
    assert (found.covered, found.dropped) == ({0, 1, 2, 3}, set())


@pytest.mark.parametrize(("mode", "is_summarised"), [("faithful", False), ("fixed", True)])
def test_a_large_message_that_was_kept_is_summarised_by_the_second_compaction_only_if_fixed(
    mode: str, is_summarised: bool
) -> None:
    """Pull request 1585's example: five small turns, a paste of 37,000 tokens, a short answer | seven small turns."""
    small = ("u", "a") * 5
    first = (*said(*small), Message("user", "p" * 148_000, seq=10), *said("a", start=11))
    model = ScriptedSummarizer()
    found = chain([first, said(*("u", "a") * 7, start=12)], model, keep=30, mode=mode)
    assert spans(model)[0] == list(range(10))
    assert (10 in spans(model)[1]) == is_summarised
    assert (10 in found.covered, 10 in found.dropped) == (is_summarised, not is_summarised)


def test_faithful_looks_over_a_whole_session_at_what_came_after_the_point_before() -> None:
    model = ScriptedSummarizer()
    found = run((*ISSUE[0], *ISSUE[1]), model, keep=40, earlier_cuts=(6,), mode="faithful")
    assert spans(model) == [[0, 1], []]
    assert [m.seq for m in found.messages] == [None, 6, 7]


def test_a_turn_that_is_split_twice_loses_what_was_before_it_unless_fixed() -> None:
    """Nothing new stands before a turn that begins with what is new: `No prior history.` takes the summary's place."""
    parts = [said("u", "a", "u", "a"), said("u", "a", "a", "a", start=4)]
    faithful, fixed = ScriptedSummarizer(), ScriptedSummarizer()
    lost = chain(parts, faithful, mode="faithful")
    assert spans(faithful) == [[0, 1], [4, 5]]
    assert summary_of(lost).startswith("No prior history.\n\n---")
    assert (lost.covered, lost.dropped) == ({4, 5}, {0, 1, 2, 3})
    kept = chain([parts[0], said("a", "a", start=4)], fixed)
    assert spans(fixed) == [[0, 1], [2, 3]]
    assert summary_of(kept) == "SUMMARY 1\n\n---\n\n**Turn Context (split turn):**\n\nSUMMARY 2"
    assert kept.covered == {0, 1, 2, 3}


# Files


def ledger(**verbs: list[str]) -> Ledger:
    return Ledger().extend(FileOp(path, verb, 0) for verb, paths in verbs.items() for path in paths)  # type: ignore[arg-type]


def test_files_that_were_only_read_and_those_that_were_changed_are_listed_in_order() -> None:
    files = ledger(examined=["b.py", "a.py", "c.py"], modified=["c.py"], created=["d.py"])
    assert with_file_lists("S", "", files) == (
        "S\n\n<read-files>\na.py\nb.py\n</read-files>\n\n<modified-files>\nc.py\nd.py\n</modified-files>"
    )
    assert with_file_lists("S", "", ledger(modified=["c.py"])) == "S\n\n<modified-files>\nc.py\n</modified-files>"
    assert with_file_lists("S", "", Ledger()) == "S"


def test_listed_files_stay_listed_and_a_read_one_moves_when_it_is_changed() -> None:
    before = with_file_lists("S", "", ledger(examined=["a.py", "b.py"], modified=["c.py"]))
    assert with_file_lists("T", before, ledger(examined=["c.py", "e.py"], modified=["a.py"])) == (
        "T\n\n<read-files>\nb.py\ne.py\n</read-files>\n\n<modified-files>\na.py\nc.py\n</modified-files>"
    )


def test_a_directory_that_holds_a_listed_file_is_not_listed_as_read() -> None:
    files = ledger(examined=["/repo", "/repo/src", "/repo/src/a.py", "docs"], modified=["/repo/b.py"])
    assert with_file_lists("S", "", files).startswith("S\n\n<read-files>\n/repo/src/a.py\ndocs\n</read-files>\n\n")


def test_a_file_keeps_the_name_under_which_it_was_first_listed() -> None:
    before = with_file_lists("S", "", ledger(examined=["/repo/src/a.py", "/repo/b.py"]))
    assert with_file_lists("T", before, ledger(modified=["src/a.py"], examined=["other/b.py"])) == (
        "T\n\n<read-files>\n/repo/b.py\nother/b.py\n</read-files>\n\n<modified-files>\n/repo/src/a.py\n</modified-files>"
    )


def acted(tool: str, path: str, seq: int) -> tuple[Message, ...]:
    arguments = {
        "read": f'{{"path": "{path}"}}',
        "edit": f'{{"path": "{path}", "oldText": "a", "newText": "b"}}',
        "write": f'{{"path": "{path}", "content": "x"}}',
    }[tool]
    call = ToolCall(f"c{seq}", tool, arguments)
    return (
        Message("assistant", tool_calls=(call,), seq=seq),
        Message("tool", "done", tool_call_id=call.id, tool_name=tool, seq=seq + 1),
    )


def test_the_lists_are_computed_from_the_calls_of_what_is_summarised_and_carried_on() -> None:
    model = ScriptedSummarizer()
    first = (*said("u"), *acted("read", "src/a.py", 1), *acted("edit", "src/b.py", 3), *said("u", "a", start=5))
    second = (*acted("write", "src/new.py", 7), *acted("edit", "src/a.py", 9), *said("u", "a", start=11))
    found = chain([first, second], model)
    assert summary_of(found).endswith("<modified-files>\nsrc/a.py\nsrc/b.py\nsrc/new.py\n</modified-files>")
    assert model.requests[1].previous.endswith(
        "<read-files>\nsrc/a.py\n</read-files>\n\n<modified-files>\nsrc/b.py\n</modified-files>"
    )


def test_the_calls_of_a_split_turns_first_part_count_and_those_that_stay_do_not() -> None:
    messages = (*said("u"), *acted("edit", "gone.py", 1), *said("a", start=3), *acted("edit", "stays.py", 4))
    found = run(messages, keep=10)
    assert "gone.py" in summary_of(found)
    assert "stays.py" not in summary_of(found)


# Failures


@pytest.mark.parametrize("fails_at", [1, 2])
def test_when_either_summary_fails_nothing_changes(fails_at: int) -> None:
    model: ScriptedSummarizer

    def handler(request: SummaryRequest) -> str:
        return failing(request) if len(model.requests) == fails_at else "fine"

    model = ScriptedSummarizer(handler)
    with pytest.raises(SummaryError, match="not reachable"):
        run(said("u", "a", "u", "a", "a", "a"), model)


def test_a_blank_summary_is_refused_and_taken_by_the_faithful_mode() -> None:
    handler: Callable[[SummaryRequest], str] = blank
    with pytest.raises(SummaryError, match="blank"):
        run(said("u", "a", "u", "a"), ScriptedSummarizer(handler))
    found = run(said("u", "a", "u", "a"), ScriptedSummarizer(handler), mode="faithful")
    assert found.messages[0].text == OPEN + CLOSE
    assert "blank_summary" in found.flags


def test_a_late_result_can_lose_its_call_as_in_the_original() -> None:
    call = Message("assistant", TEN, tool_calls=(ToolCall("c", "read", "{}"),), seq=1)
    late = Message("tool", TEN, tool_call_id="c", seq=3)
    found = run((*said("u"), call, *said("u", start=2), late, *talk("a", first_seq=4)), keep=15)
    assert [m.seq for m in found.messages] == [None, 2, 3, 4]
    assert "invalid_context" in found.flags

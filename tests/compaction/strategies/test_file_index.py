"""The file index, by hand: what it lists, of what, where it stands and how long it may be."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from compaction import (
    Message,
    StrategyError,
    SummaryError,
    SummaryRequest,
    ToolCall,
    compact,
    make_method,
    parse_method,
)
from compaction.strategies.file_index import MARK
from compaction.testing import CharacterCounter, ScriptedSummarizer, history
from compaction.tokens import counted


def work(*steps: tuple[str, str], system: int = 1, first_seq: int = 0) -> tuple[Message, ...]:
    """A system prompt, a request, and one call with its result for each (tool, path); the last word is the agent's."""
    said = [Message("system", f"rules {n}") for n in range(system)] + [Message("user", "please")] * (not first_seq)
    for n, (tool, path) in enumerate(steps, first_seq):
        arguments = {"file_path": f"/repo/{path}"}
        if tool == "Write":
            arguments["content"] = "def made(): pass"
        elif tool == "Edit":
            arguments |= {"old_string": "x = 1", "new_string": "def changed(): pass"}
        elif tool == "Bash":
            arguments = {"command": path}
        call = ToolCall(f"call-{n}", tool, json.dumps(arguments))
        said += [Message("assistant", tool_calls=(call,)), Message("tool", "one\ntwo\nthree", tool_call_id=call.id)]
    said.append(Message("assistant", "done"))
    return tuple(
        counted(Message(m.role, m.text, "", m.tool_calls, m.tool_call_id, seq=first_seq * 2 + n), CharacterCounter())
        for n, m in enumerate(said)
    )


LOCAL = ("Bash", "cd /repo && ls")


def index_of(messages: Sequence[Message]) -> list[str]:
    """The lines of the index; none where there is none."""
    found = [message for message in messages if message.text.startswith(MARK)]
    assert len(found) <= 1
    return found[0].text.removeprefix(MARK).strip().splitlines() if found else []


def test_each_file_has_one_line_with_what_came_of_it_reads_first_and_in_the_order_of_the_last_touch() -> None:
    messages = work(
        LOCAL, ("Edit", "b.py"), ("Read", "a.py"), ("Write", "c.py"), ("Read", "b.py"), ("Read", "a.py"), LOCAL
    )
    left = compact(history(messages), parse_method("file_index(over=empty)")).messages
    assert index_of(left) == [
        "- a.py (read): 3 lines shown",
        "- b.py (modified): `changed`",
        "- c.py (created): `made`",
    ]


def test_it_stands_as_a_user_message_where_the_system_prompt_ends_and_covers_the_calls_that_it_tells_of() -> None:
    messages = work(LOCAL, ("Read", "a.py"), ("Edit", "b.py"), system=2)
    found = compact(history(messages), parse_method("file_index(over=head_tail(head=3,tail=1))"))
    assert [m.role for m in found.messages] == ["system", "system", "user", "user", "assistant"]
    assert found.messages[2].text.startswith(MARK)
    assert found.messages[2].covers == (5, 7)
    assert found.covered == {5, 7}


def test_files_whose_calls_and_results_are_all_still_there_are_not_listed() -> None:
    messages = work(LOCAL, ("Read", "a.py"), ("Edit", "b.py"))
    assert compact(history(messages), parse_method("file_index(over=none)")).messages == messages
    left = compact(
        history(messages), parse_method("file_index(over=af_py_sliding_window(keep_last_groups=2))")
    ).messages
    assert index_of(left) == ["- a.py (read): 3 lines shown"]


def test_a_masked_result_counts_as_gone() -> None:
    messages = work(LOCAL, ("Read", "a.py"), ("Edit", "b.py"))
    left = compact(history(messages), parse_method("file_index(over=mask_sweagent(n=1))")).messages
    assert index_of(left) == ["- a.py (read): 3 lines shown"]


def test_a_file_that_the_inner_summary_names_is_not_listed_again() -> None:
    messages = work(LOCAL, ("Read", "a.py"), ("Edit", "b.py"))
    summarizer = ScriptedSummarizer(lambda request: "We changed b.py.")
    left = compact(history(messages, summarizer=summarizer), parse_method("file_index(over=freeform_summary)")).messages
    assert index_of(left) == ["- a.py (read): 3 lines shown"]


def test_moved_and_deleted_files_say_so() -> None:
    messages = work(
        LOCAL,
        ("Edit", "a.py"),
        ("Bash", "cd /repo && git mv a.py b.py"),
        ("Write", "t.py"),
        ("Bash", "cd /repo && rm t.py"),
        ("Read", "c.py"),
        ("Bash", "cd /repo && rm c.py"),
    )
    left = compact(history(messages), parse_method("file_index(over=empty)")).messages
    assert sorted(index_of(left)) == [
        "- a.py (moved): now b.py",
        "- b.py (modified): `changed`",
        "- c.py (deleted)",
        "- t.py (created and deleted)",
    ]


def test_beyond_its_tokens_reads_go_first_then_the_oldest_changes_and_it_says_how_many() -> None:
    messages = work(LOCAL, *[("Read", f"r{n}.py") for n in range(30)], *[("Edit", f"m{n}.py") for n in range(10)])
    left = compact(history(messages), parse_method("file_index(over=empty,index_tokens=40)")).messages
    *lines, last = index_of(left)
    assert lines[0] == "- and earlier: 30 read, 5 modified"
    assert [*lines[1:], last] == [f"- m{n}.py (modified): `changed`" for n in range(5, 10)]


def test_in_a_chain_no_file_is_forgotten_and_the_other_strategy_never_sees_the_index() -> None:
    method = parse_method("file_index(over=head_tail(head=1,tail=1))")
    first = work(LOCAL, ("Read", "a.py"), ("Edit", "b.py"))
    left = compact(history(first), method).messages
    more = work(LOCAL, ("Read", "c.py"), system=0, first_seq=8)
    session = (
        *first,
        *(Message(m.role, m.text, "", m.tool_calls, m.tool_call_id, seq=20 + n) for n, m in enumerate(more)),
    )
    again = compact(history((*left, *session[len(first) :]), session=session), method).messages
    assert index_of(left) == ["- a.py (read): 3 lines shown", "- b.py (modified): `changed`"]
    assert index_of(again) == [
        "- a.py (read): 3 lines shown",
        "- c.py (read): 3 lines shown",
        "- b.py (modified): `changed`",
    ]
    assert [m.seq for m in again] == [0, None, session[-1].seq]


def test_an_unknown_inner_strategy_and_one_around_itself_are_refused_when_the_method_is_made() -> None:
    with pytest.raises(StrategyError, match="unknown strategy 'nothing_such'"):
        make_method("file_index", {"over": "nothing_such"})
    with pytest.raises(StrategyError, match="over cannot be itself"):
        parse_method("file_index(over=file_index(over=none))")


def test_it_needs_what_the_other_strategy_needs_and_has_its_mode() -> None:
    assert parse_method("file_index").needs == "nothing"
    assert parse_method("file_index(over=freeform_summary)").needs == "model"
    assert parse_method("file_index(over=openai_compact)").needs == "key"
    assert parse_method("file_index(over=tool_fifo(mode=faithful))").mode == "faithful"


def test_a_summary_that_fails_in_the_other_strategy_fails_the_whole() -> None:
    def fail(request: SummaryRequest) -> str:
        raise SummaryError("not reachable")

    with pytest.raises(SummaryError, match="not reachable"):
        compact(
            history(work(LOCAL), summarizer=ScriptedSummarizer(fail)), parse_method("file_index(over=freeform_summary)")
        )

"""What a context tells of all that was true at a point."""

from __future__ import annotations

import json

import pytest

from compaction import Message, ToolCall
from judge.outcomes import TOPICS, StatementOutcome, lost

RULE = "Never touch the files in fixtures/, they belong to the auditors."


def call(number: int, name: str, **arguments: object) -> Message:
    return Message("assistant", tool_calls=(ToolCall(f"c{number}", name, json.dumps(arguments)),))


def result(number: int, text: str, *, is_error: bool = False) -> Message:
    return Message("tool", text, tool_call_id=f"c{number}", is_error=is_error)


SESSION = (
    Message("user", f"Make the ledger importer stream its rows. {RULE}"),
    call(1, "Write", file_path="/home/ada/ledger/src/importer.py", content="def rows():\n    yield 1\n"),
    result(1, "File created successfully"),
    call(2, "TodoWrite", todos=[{"content": "Close the database handle", "status": "pending"}]),
    result(2, "Todos have been modified successfully"),
    call(3, "Bash", command="pytest tests/test_importer.py"),
    result(3, "E   KeyError: 'ledger_rows'\n1 failed, 6 passed in 0.2s", is_error=True),
    call(
        4, "Edit", file_path="/home/ada/ledger/src/importer.py", old_string="    yield 1\n", new_string="    yield 2\n"
    ),
    result(4, "The file has been updated"),
)
CUT = 7


def rows_of(topic: str, rows: tuple[StatementOutcome, ...]) -> list[StatementOutcome]:
    return [row for row in rows if row.topic == topic]


def test_an_untouched_history_keeps_all_of_it_and_an_empty_context_nothing() -> None:
    all_of_it = lost(SESSION, SESSION[:CUT], CUT)
    assert {row.state for row in all_of_it} == {"readable"}
    assert {row.topic for row in all_of_it} >= {"constraints", "open", "files", "values"}
    nothing = lost(SESSION, (), CUT)
    assert [row.text for row in nothing] == [row.text for row in all_of_it]
    assert all(row.is_gone for row in nothing)


def test_rows_say_where_it_stood_what_needed_it_and_the_nearest_lines() -> None:
    rows = lost(SESSION, f"Goal: streaming import. Rule: {RULE} Open: close the database handle.", CUT)
    [rule] = rows_of("constraints", rows)
    assert (rule.seq, rule.role, rule.state, rule.is_gone) == (0, "user", "readable", False)
    assert "fixtures/" in rule.nearest
    [file] = rows_of("files", rows)
    assert (file.text, file.seq, file.role, file.needed_at) == ("/home/ada/ledger/src/importer.py", 1, "assistant", CUT)
    assert file.state == "lost"
    assert file.is_gone
    topics = [TOPICS.index(row.topic) for row in rows]
    assert topics == sorted(topics)


def test_a_message_that_says_the_same_counts_as_kept_whatever_made_the_list() -> None:
    copies = [Message(one.role, one.text, tool_calls=one.tool_calls, tool_call_id=one.tool_call_id) for one in SESSION]
    assert lost(SESSION, copies[:CUT], CUT) == lost(SESSION, SESSION[:CUT], CUT)


def test_each_rule_is_told_though_no_question_could_ask_for_it_alone() -> None:
    rules = ("Don't add comments.", "You must not push to main.", "Always run make check before you commit.")
    session = [
        Message("user", "Add a flag --limit to tools/load.py."),
        Message("assistant", "I will."),
        Message("user", f"Should we keep it simple, or only count? {' '.join(rules)}"),
        Message("assistant", "Fine."),
    ]
    assert [row.text for row in rows_of("constraints", lost(session, "nothing"))] == list(rules)


def test_without_a_point_the_whole_session_was_compacted() -> None:
    assert lost(SESSION, "nothing") == lost(SESSION, "nothing", len(SESSION))
    assert all(row.needed_at is None for row in lost(SESSION, "nothing"))


@pytest.mark.parametrize("at", [0, -1, len(SESSION) + 1])
def test_a_point_outside_of_the_session_is_refused(at: int) -> None:
    with pytest.raises(ValueError, match="expected 1 to 9"):
        lost(SESSION, "", at)


def test_a_context_that_only_its_provider_can_read_is_unknown() -> None:
    rows = lost(SESSION, [Message("assistant", opaque='{"type": "compaction"}')], CUT)
    assert {(row.state, row.support, row.is_gone) for row in rows} == {("unknown", None, False)}

from __future__ import annotations

import json

import pytest

from compaction import Message, ToolCall
from judge import Probe
from judge.measures.kept_files import FileUse
from judge.measures.states import ContextReader, SessionStatements, states_in_answer
from judge.statement import Statement, StatementKind, StatementState

MESSAGES = (
    Message("user", "Sort the rows by number.", seq=0),
    Message("assistant", "We keep the merge sort,\nbecause equal keys must stay in order.", seq=1),
    Message("tool", "KeyError: 'harbour' in src/rows.py line 12", seq=2),
    Message("assistant", "Something else entirely was said in this message.", seq=3),
    Message("tool", "pandas 2.1.0", seq=4),
    Message("tool", "pandas 2.2.3", seq=5),
)
ERROR = Statement("error", "KeyError: 'harbour' in src/rows.py line 12", (2,), exact=("KeyError: 'harbour'",))
DECISION = Statement("decision", "merge sort is kept, since equal keys have to stay in order", (1,))
VERSION = Statement("version", "pandas 2.2.3", (5,), exact=("pandas", "2.2.3"), foils=("2.1.0",))
NOTHING: dict[FileUse, frozenset[str]] = dict.fromkeys(("created", "modified", "read", "gone", "any"), frozenset())


def state(
    statement: Statement,
    *context: Message,
    told: dict[FileUse, frozenset[str]] = NOTHING,
    true: dict[FileUse, frozenset[str]] = NOTHING,
) -> StatementState:
    return ContextReader(MESSAGES, [context]).states([statement], len(MESSAGES), [context], [told], true)[0][0]


def made(text: str) -> Message:
    return Message("user", text, covers=(0, 1))


@pytest.mark.parametrize("statement", [ERROR, DECISION, VERSION], ids=lambda one: one.kind)
def test_the_message_that_proves_a_statement_tells_it_and_others_do_not(statement: Statement) -> None:
    others = [message for message in MESSAGES if message.seq not in (*statement.evidence, 4)]
    assert state(statement, *MESSAGES).state == "readable"
    assert state(statement, *others).state == "lost"
    assert state(statement).state == "lost"


def test_the_lines_that_tell_it_are_quoted() -> None:
    assert state(DECISION, *MESSAGES).lines.startswith("We keep the merge sort")


def test_an_error_in_other_words_is_readable_in_part_at_most() -> None:
    assert state(ERROR, made("A KeyError: 'harbour' came up.")).state == "readable"
    assert state(ERROR, made("A KeyError for the key harbour came from src/rows.py line 12")).state == "partly"


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ((MESSAGES[4], MESSAGES[5]), "readable"),
        ((MESSAGES[5], made("pandas 2.1.0 is installed")), "stale"),
        ((MESSAGES[4],), "stale"),
        ((made("it has some version of pandas"),), "lost"),
    ],
)
def test_of_several_values_of_one_name_the_last_is_told(context: tuple[Message, ...], expected: str) -> None:
    assert state(VERSION, *context).state == expected


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("created", "readable"),
        ("modified", "partly"),
        ("read", "partly"),
        ("gone", "contradicted"),
        ("any", "partly"),
        (None, "lost"),
    ],
)
def test_a_file_is_told_by_what_was_done_to_it(use: FileUse | None, expected: str) -> None:
    told = {**NOTHING, use: frozenset({"src/new.py"})} if use else NOTHING
    assert state(Statement("file_created", "src/new.py"), made("hm"), told=told).state == expected


def test_what_the_history_tells_wrong_itself_is_held_against_no_context() -> None:
    stale = Statement("version", "pandas 2.1.0", (4,), exact=("pandas", "2.1.0"), foils=("2.2.3",))
    assert state(stale, *MESSAGES).state == "readable"
    moved = {**NOTHING, "modified": frozenset({"src/new.py"})}
    assert state(Statement("file_created", "src/new.py"), *MESSAGES, told=moved, true=moved).support == 1
    changed = {**NOTHING, "modified": frozenset({"src/rows.py"})}
    named_in_part = Statement("file_modified", "src/rows.py", (2,), details=("KeyError", "sort_all"))
    assert state(named_in_part, *MESSAGES, told=changed, true=changed).support == 1


def test_a_modified_file_without_the_names_of_the_change_has_six_tenths() -> None:
    told = {**NOTHING, "modified": frozenset({"src/rows.py"})}
    statement = Statement("file_modified", "src/rows.py", (2,), details=("merge_rows", "SortError"))
    assert state(statement, made("rows.py was modified"), told=told).support == pytest.approx(0.6, abs=0.1)
    assert state(statement, made("src/rows.py: merge_rows, SortError"), told=told).support == 1


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        ("open_task", "pending", "readable"),
        ("open_task", "completed", "contradicted"),
        ("done_task", "completed", "readable"),
        ("done_task", "pending", "contradicted"),
    ],
)
def test_a_to_do_list_in_the_context_says_what_is_open(kind: StatementKind, status: str, expected: str) -> None:
    todos = json.dumps({"todos": [{"content": "write the restart test", "status": status}]})
    listing = Message("assistant", "", tool_calls=(ToolCall("t", "TodoWrite", todos),), seq=3)
    assert state(Statement(kind, "write the restart test", (3,)), listing).state == expected


def test_of_a_task_the_lines_are_quoted_that_tell_its_state_last() -> None:
    lists = [
        Message("assistant", "", tool_calls=(ToolCall("t", "TodoWrite", json.dumps({"todos": [item]})),), seq=seq)
        for seq, status in enumerate(("in_progress", "completed"), start=3)
        for item in [{"content": "write the restart test", "status": status}]
    ]
    quoted = state(Statement("done_task", "write the restart test", (4,)), *lists).lines
    assert "completed" in quoted
    assert "in_progress" not in quoted


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("Rule: never delete data/x.csv.", "readable"),
        ("The person said: do not delete data/x.csv", "readable"),
        ("Delete data/x.csv.", "partly"),
        ("It is fine to delete data/x.csv", "partly"),
        ("Sorted by number.", "lost"),
    ],
)
def test_a_prohibition_is_readable_only_where_something_is_forbidden(context: str, expected: str) -> None:
    history = [Message("user", "Never delete data/x.csv.", seq=0)]
    left = [made(context)]
    rule = Statement("constraint", history[0].text, (0,), (history[0].text,))
    reader = ContextReader(history, [left])
    assert reader.states([rule], 1, [left], [NOTHING], NOTHING)[0][0].state == expected


def test_a_prohibition_that_stands_word_by_word_is_readable_wherever_its_lines_end() -> None:
    words = (
        "Never let the importer\nrename exported columns\nof the quarterly report\nor of data/ledger.csv\nin release 7."
    )
    rule = Statement("constraint", words.replace("\n", " "), (0,))
    left = [made(words)]
    reader = ContextReader([Message("user", rule.text, seq=0)], [left])
    assert reader.states([rule], 1, [left], [NOTHING], NOTHING)[0][0].state == "readable"


def test_an_answer_to_what_is_forbidden_need_not_say_that_it_is() -> None:
    rule = Statement("constraint", "Never delete data/x.csv.", (0,))
    assert states_in_answer((rule,), "Delete data/x.csv.")[0].state == "readable"


def probe(*statements: Statement) -> Probe:
    return Probe("recall", "?", "!", statements, (), 100)


def test_what_happened_is_followed_for_ever_and_a_state_as_long_as_it_is_stated_again() -> None:
    task, file = Statement("open_task", "write docs"), Statement("file_modified", "a.py")
    followed = SessionStatements([{"p0": probe(ERROR, task, file)}, {"p1": probe(file)}, {}])
    names = [[(t.statement.kind, t.probe, t.position, t.since) for t in followed.at(n, 9)] for n in range(3)]
    error = ("error", "p0", 1, "p0")
    assert names == [
        [error, ("open_task", "p0", 2, "p0"), ("file_modified", "p0", 3, "p0")],
        [("file_modified", "p1", 1, "p0"), error],
        [error],
    ]


def test_a_statement_is_not_followed_beyond_its_end() -> None:
    ended = Statement("decision", "keep it", until=7)
    followed = SessionStatements([{"p": probe(ended)}, {}])
    assert [len(followed.at(1, cut)) for cut in (7, 8)] == [1, 0]


def test_a_free_answer_is_read_by_its_words_and_its_verbs() -> None:
    files = (Statement("file_created", "src/retry.ts"), Statement("file_modified", "src/pool.ts"))
    answer = "Created: src/retry.ts\nModified: src/retry.ts\nDecision: merge sort stays, equal keys keep their order."
    assert [one.state for one in states_in_answer((*files, DECISION), answer)] == ["readable", "lost", "readable"]
    assert [one.support for one in states_in_answer((*files, DECISION), "I do not know.")] == [0, 0, 0]

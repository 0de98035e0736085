"""The rule for task types, one sentence a test, and the labels that come before it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction import Message, ToolCall, Transcript
from flows.sessions.task_type_labels import Labels, read_labels, task_type_of
from flows.sessions.task_type_rule import CUES, DID, PRIORITY, TASK_TYPES, TaskTyper, classify
from flows.support.errors import UsageError

DOCS = Path(__file__).parents[3] / "docs" / "task-types.md"


def session(
    *prompts: str, calls: tuple[tuple[str, dict[str, str], str], ...] = (), answer: str = "", **about: str
) -> Transcript:
    """A session of prompts, then calls as (tool, arguments, output), then an answer."""
    messages = [Message("user", prompt) for prompt in prompts]
    for at, (tool, arguments, output) in enumerate(calls):
        messages.append(Message("assistant", tool_calls=(ToolCall(f"c{at}", tool, json.dumps(arguments)),)))
        messages.append(Message("tool", output, tool_call_id=f"c{at}"))
    if answer:
        messages.append(Message("assistant", answer))
    return Transcript("s1", tuple(messages), **about)  # type: ignore[arg-type]


def type_of(
    *prompts: str, calls: tuple[tuple[str, dict[str, str], str], ...] = (), answer: str = "", **about: str
) -> str:
    return classify(session(*prompts, calls=calls, answer=answer, **about))[0]


def edit(path: str) -> tuple[str, dict[str, str], str]:
    return "Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "updated"


def read(path: str) -> tuple[str, dict[str, str], str]:
    return "Read", {"file_path": path}, "text"


def bash(command: str, output: str = "") -> tuple[str, dict[str, str], str]:
    return "Bash", {"command": command}, output


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("The login page crashes when the password is empty", "debugging"),
        ("fix the flaky upload", "debugging"),
        ("Pagination doesn't work on the second page", "debugging"),
        ("Please review the changes on this branch", "review"),
        ("let's respond to the PR feedback", "review"),
        ("Add a --json flag to the export command", "feature"),
        ("It would be nice if the table could be sorted", "feature"),
        ("refactor the parser into two modules", "refactoring"),
        ("Rename `fetch` to `load`", "refactoring"),
        ("add a test that the cache expires", "test"),
        ("Please improve test coverage of the scheduler", "test"),
        ("Plot the monthly data as a bar chart", "data"),
        ("Clean the customer dataset and load it into a table", "data"),
        ("Explain to me the architecture of this project", "research"),
        ("compare the two queue libraries", "research"),
        ("merge main and push", "other"),
        ("hi", "other"),
        ("", "other"),
    ],
)
def test_the_words_of_a_prompt_tell_its_type(prompt: str, expected: str) -> None:
    assert type_of(prompt) == expected


def test_a_request_to_add_a_test_is_a_test_although_it_says_add() -> None:
    assert type_of("add a regression test for the lexer", calls=(edit("src/lexer.py"),)) == "test"


def test_a_file_whose_name_holds_test_is_no_request_for_tests() -> None:
    assert type_of("write hello to test-one.txt") == "feature"
    assert type_of("write hello to a test") == "test"


def test_words_within_other_words_are_no_cues() -> None:
    assert type_of("debugger prefixes contested latest") == "other"


def test_the_title_counts_like_the_first_sentence() -> None:
    assert type_of("go on", title="Crash on startup") == "debugging"


def test_the_first_sentence_outweighs_what_follows() -> None:
    assert type_of("Refactor the client, then see. Add a flag.") == "refactoring"
    assert type_of("Add a flag to it. Refactor the client, then see.") == "feature"


@pytest.mark.parametrize(
    "injected",
    [
        "# AGENTS.md instructions for /app\n<INSTRUCTIONS>\nReview the changes. Fix bugs. Add tests.\n</INSTRUCTIONS>",
        "<environment_context>\n<cwd>/fix/the/bug</cwd> review the code\n</environment_context>",
        "<system-reminder>Always review the diff and add tests.</system-reminder>",
        "Base directory for this skill: /x\n# Code review\nReview the changes.",
        "This session is being continued from one that fixed a bug and refactored the code.",
    ],
)
def test_what_a_harness_injects_is_not_heard(injected: str) -> None:
    assert type_of(injected) == "other"
    assert type_of(injected, "Build a calendar page") == "feature"


def test_code_and_diffs_in_a_prompt_are_not_heard() -> None:
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-fix the bug\n+add a test\n"
    assert type_of(f"Please review the changes:\n{diff * 500}") == "review"
    assert type_of("```\nfix the bug: it crashes with an error\n```\nBuild a calendar page now") == "feature"


def test_a_list_in_a_prompt_is_heard() -> None:
    assert type_of("Two things here:\n- refactor the client\n- refactor the server") == "refactoring"


def test_of_a_wrapped_issue_only_the_issue_is_heard() -> None:
    recipe = "Review the code. Write tests. Refactor. Fix the error. Add documentation."
    prompt = "I uploaded a repository.\n<issue_description>\n{}\n</issue_description>\n" + recipe
    assert type_of(prompt.format("Please support dark mode in the editor")) == "feature"
    assert type_of(prompt.format("`-x * Mod(a, b)` prints as Mod(-x, b)")) == "debugging"


def test_an_error_that_a_person_pasted_speaks_for_debugging() -> None:
    pasted = (
        'see below\n\nTraceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: bad value\n'
    )
    assert type_of(pasted, calls=(edit("src/a.py"),)) == "debugging"


def test_a_test_run_that_failed_before_the_first_edit_speaks_for_debugging() -> None:
    failing = bash("pytest -q", "FAILED tests/test_a.py::test_x - ValueError\n1 failed, 3 passed in 0.10s")
    assert type_of("go", calls=(failing, edit("src/a.py"))) == "debugging"
    assert type_of("go", calls=(edit("src/a.py"), failing)) == "feature"


def test_a_session_that_changed_only_tests_is_a_test() -> None:
    assert type_of("go", calls=(edit("tests/test_a.py"),)) == "test"
    assert type_of("go", calls=(edit("web/list.spec.ts"),)) == "test"


def test_a_session_that_changed_code_is_a_feature_unless_words_say_otherwise() -> None:
    assert type_of("los geht es", calls=(edit("src/a.py"),)) == "feature"


def test_scripts_that_only_try_something_are_not_what_a_session_changed() -> None:
    write = ("Write", {"file_path": "reproduce_issue.py", "content": "print(1)"}, "File created successfully")
    assert type_of("go", calls=(read("src/a.py"), write)) == "debugging"


def test_reading_without_changing_is_research() -> None:
    assert type_of("go", calls=(read("src/a.py"), read("src/b.py"))) == "research"
    assert type_of("go", calls=(("WebSearch", {"query": "raft"}, "pages"),)) == "research"


def test_notebooks_and_queries_are_data() -> None:
    assert type_of("go", calls=(edit("analysis.ipynb"),)) == "data"
    query = bash('psql -c "select a from b"', "1 row")
    assert type_of("go", calls=(query, query)) == "data"


def test_changing_prose_alone_is_other() -> None:
    assert type_of("go", calls=(edit("docs/guide.md"),)) == "other"


def test_an_agent_with_a_services_tools_only_is_other_whatever_is_asked() -> None:
    look, change = ("get_booking", {"booking_id": "A1"}, "{}"), ("update_booking_flights", {"booking_id": "A1"}, "{}")
    assert type_of("Please add a bag, the booking page is broken", calls=(look, change), answer="Done.") == "other"
    assert type_of("Please fix my seat", calls=(("search_direct_flight", {"origin": "JFK"}, "[]"),)) == "other"


def test_a_question_answered_without_looking_anything_up_is_other() -> None:
    assert type_of("Where was the grape at the beginning?", answer="In the crate.") == "other"
    assert type_of("Where is the cache filled?", calls=(read("src/cache.py"),), answer="In load().") == "research"


def test_edits_in_an_answers_text_count_as_changes() -> None:
    assert type_of("ok", answer="a.py\n```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```") == "feature"


def test_the_reason_names_the_cue_that_decided() -> None:
    assert classify(session("Rename `fetch` to `load`")) == ("refactoring", "asked: Rename")
    assert classify(session("go", calls=(edit("tests/test_a.py"),))) == ("test", "did: only tests were changed")
    assert classify(session("hi")) == ("other", "no cue")


def test_a_tie_goes_to_the_narrower_type() -> None:
    assert set(PRIORITY) == set(TASK_TYPES)
    assert type_of("Simplify it all and build a page") == "refactoring"


odd_text = st.text(st.sampled_from("aB \n\0<>/`'\"{}-+#.!?é漢\ud83d\x1b") | st.characters(), max_size=60)
odd_call = st.builds(ToolCall, odd_text, st.sampled_from(["Bash", "Edit", "Read", "", "x"]) | odd_text, odd_text)
odd_message = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    odd_text
    | st.sampled_from(["<issue_description>", "```", "<instructions", "ISSUE:", "Traceback (most recent call last)"]),
    tool_calls=st.lists(odd_call, max_size=2).map(tuple),
    tool_call_id=st.none() | odd_text,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(odd_message, max_size=6).map(tuple), st.none() | odd_text)
def test_no_transcript_makes_the_rule_fail_and_its_answer_is_always_the_same(
    messages: tuple[Message, ...], title: str | None
) -> None:
    transcript = Transcript("s", messages, title=title)
    type, reason = classify(transcript)
    assert type in TASK_TYPES
    assert reason
    assert classify(transcript) == (type, reason)


@pytest.mark.parametrize("unit", ["\n", "\0", "a", "- ", "<instructions ", "<issue>", "```", "please add ", "select "])
def test_a_huge_session_of_one_repeated_text_comes_to_an_end(unit: str) -> None:
    huge = unit * (1_000_000 // len(unit))
    assert type_of(huge, calls=(bash(huge, huge), edit(huge[:300])), answer=huge, title=huge) in TASK_TYPES


def rows(text: str, heading: str) -> Counter[tuple[str, int]]:
    section = text.split(heading)[1].split("\n\n")
    table = next(part for part in section if part.startswith("| type | points"))
    return Counter((kind, int(points)) for kind, points in re.findall(r"^\| `(\w+)` \| (\d+) \|", table, re.MULTILINE))


def test_the_documented_tables_are_those_of_the_rule() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert rows(text, "**What was asked.**") == Counter((cue.type, cue.points) for cue in CUES)
    assert rows(text, "**What was done.**") == Counter((type, points) for type, points, _, _ in DID)
    assert all(f"| `{type}` | {points} | {reason} |" in text for type, points, reason, _ in DID)


def labels_in(path: Path, text: str) -> Labels:
    path.write_text(text, encoding="utf-8")
    return read_labels(path)


def test_a_label_file_may_be_csv_json_lines_or_parquet(tmp_path: Path) -> None:
    expected = {"a": "review", "b": "data"}
    csv = labels_in(tmp_path / "l.csv", "session_id,note,task_type\na,x, Review \nb,,data\nc,,\n")
    lines = labels_in(
        tmp_path / "l.jsonl", '{"session_id": "a", "task_type": "review"}\n\n{"session_id": "b", "task_type": "data"}\n'
    )
    pl.DataFrame({"session_id": ["a", "b"], "task_type": ["review", "data"]}).write_parquet(tmp_path / "l.parquet")
    assert csv.by_session == lines.by_session == read_labels(tmp_path / "l.parquet").by_session == expected


def test_a_csv_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    assert labels_in(tmp_path / "l.csv", "\ufeffsession_id,task_type\r\na,test\r\n").by_session == {"a": "test"}


def test_numbers_as_session_ids_are_text(tmp_path: Path) -> None:
    assert labels_in(tmp_path / "l.jsonl", '{"session_id": 7, "task_type": "test"}\n').by_session == {"7": "test"}


def test_a_label_of_a_log_holds_for_all_its_sessions_and_one_of_a_session_comes_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    labels = labels_in(
        tmp_path / "l.csv", "session_id,source_path,task_type\n,logs/x.jsonl,data\ns2,logs/x.jsonl,test\n"
    )
    assert labels.find("s1", str(tmp_path / "logs/x.jsonl")) == "data"
    assert labels.find("s2", "logs/x.jsonl") == "test"
    assert labels.find("s1", "logs/y.jsonl") is None


def test_the_label_file_comes_first_then_the_log_then_the_rule() -> None:
    labels = Labels(by_session={"s1": "review"})
    logged = session("fix the bug", task_type="Data")
    assert task_type_of(logged, labels) == ("review", "label file")
    assert task_type_of(logged, Labels()) == ("data", "log")
    assert task_type_of(session("fix the bug")) == ("debugging", "rule")


def test_a_word_in_the_log_that_is_no_type_leaves_it_to_the_rule() -> None:
    assert task_type_of(session("fix the bug", task_type="airline")) == ("debugging", "rule")


def test_a_model_can_take_the_place_of_the_rule() -> None:
    model: TaskTyper = lambda transcript: ("research", "read it")  # noqa: E731
    assert task_type_of(session("fix the bug"), typer=model) == ("research", "model")


def test_labels_of_sessions_that_are_not_there_are_counted(tmp_path: Path) -> None:
    labels = labels_in(
        tmp_path / "l.csv", "session_id,source_path,task_type\na,,test\nb,,test\n,/logs/x,data\n,/logs/y,data\n"
    )
    assert labels.n_unknown([("a", "/logs/x")]) == 2


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "l.csv",
            "session_id,task_type\na,test\nb,bugfix\n",
            r"l\.csv, line 3: unknown task type 'bugfix', expected one of debugging,",
        ),
        ("l.csv", 'session_id,note,task_type\na,"x\ny",test\n\nb,,nope\n', r"line 5: unknown task type 'nope'"),
        ("l.jsonl", '\n{"session_id": "a", "task_type": "x"}\n', r"line 2: unknown task type 'x'"),
        (
            "l.csv",
            "session,task_type\na,test\n",
            r"l\.csv: expected the columns task_type and session_id .*found session, task_type$",
        ),
        ("l.csv", "session_id,type\na,test\n", r"expected the columns task_type and session_id"),
        ("l.csv", "", r"expected the columns .* found none"),
        ("l.jsonl", "", r"expected the columns .* found none"),
        (
            "l.csv",
            "session_id,task_type\na,test\nb,data\na,data\n",
            r"line 4: a is labelled data, but test on line 2; keep one",
        ),
        ("l.csv", "session_id,task_type\n,test\n", r"line 2: a label without a session_id or a source_path"),
        ("l.csv", "session_id,task_type\na,b,c,d\n", r"l\.csv: not a table that can be read as csv"),
        (
            "l.jsonl",
            '{"session_id": "a", "task_type": "test"}\nnope\n',
            r"l\.jsonl, line 2: not a table that can be read as jsonl",
        ),
        ("l.jsonl", "[1]\n", r"l\.jsonl, line 1: not a table"),
        ("l.parquet", "hello", r"l\.parquet: not a table that can be read as parquet"),
        ("l.xlsx", "", r"l\.xlsx: task types are read from \.csv, \.jsonl, \.ndjson or \.parquet files"),
    ],
)
def test_a_label_file_that_cannot_be_used_says_what_and_where(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        labels_in(tmp_path / name, text)
    assert "\n" not in str(caught.value)


def test_the_same_label_twice_is_no_conflict(tmp_path: Path) -> None:
    assert labels_in(tmp_path / "l.csv", "session_id,task_type\na,test\na,TEST\n").by_session == {"a": "test"}


def test_a_label_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.csv: cannot be read: No such file"):
        read_labels(tmp_path / "none.csv")


def test_bytes_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_bytes(b"session_id,task_type\n\xff\xfe,test\n")
    with pytest.raises(UsageError, match="not a table that can be read as csv"):
        read_labels(tmp_path / "l.csv")

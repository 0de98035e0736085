"""Next actions: how a call is read, and what of two calls is the same, worked out by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compaction.reading.file_paths import Roots
from compaction.transcript import Message, ToolCall
from judge.measures.next_action import Action, compare_actions, read_action, seen_tools, taken_step

ROOTS = Roots(("/repo",), "/repo")


def call(tool: str, **arguments: Any) -> ToolCall:
    return ToolCall("c", tool, json.dumps(arguments))


def bash(command: str) -> ToolCall:
    return call("Bash", command=command)


def read(one: ToolCall) -> Action:
    return read_action(one, ROOTS)


@pytest.mark.parametrize(
    ("command", "kind", "program", "targets"),
    [
        ("cd app && python -m pytest -q 2>&1 | tail -5", "run", "pytest", ()),
        ("CI=1 timeout 60 uv run pytest tests/test_a.py::test_b | tee log.txt", "run", "pytest", ("tests/test_a.py",)),
        ("pytest > out.txt 2>&1; echo done", "run", "pytest", ()),
        ("cat src/a.py | head -40", "look", "cat", ("src/a.py",)),
        ("sed -n 1,40p /repo/src/a.py", "look", "sed", ("src/a.py",)),
        ("grep -rn needle src | sort | head", "look", "grep", ("needle",)),
        ("find . -name '*.toml' | xargs ls", "look", "find", ("*.toml",)),
        ("sed -i s/a/b/ src/a.py && cat src/a.py", "change", "sed", ("src/a.py",)),
        ("cat > src/a.py <<'EOF'\nx = 1\nEOF\npython src/a.py", "change", "cat", ("src/a.py",)),
        ("cat > /tmp/try.py <<'EOF'\nx = 1\nEOF\npython /tmp/try.py", "run", "python", ("/tmp/try.py",)),
        ("git add -A && git commit -m 'a fix'", "run", "git commit", ()),
        ("npm run test -- --watch", "run", "npm run test", ()),
        ("cd src", "run", "cd", ()),
        ("pnpm --filter @a/b test", "run", "pnpm test", ()),
        ("npm install", "run", "npm install", ()),
        ("gh pr view 15 --repo a/b", "run", "gh pr view", ()),
        ("make -j4 lint", "run", "make lint", ()),
        ("rg -n needle src docs README.md -g '!x'", "look", "rg", ("needle",)),
        ("rg -n needle README.md", "look", "rg", ("README.md",)),
        ("grep -rn -e needle README.md src/a.py", "look", "grep", ("README.md", "src/a.py")),
    ],
)
def test_of_a_line_of_commands_the_last_that_changes_or_prints_decides(
    command: str, kind: str, program: str, targets: tuple[str, ...]
) -> None:
    found = read(bash(command))
    assert (found.kind, found.program, found.targets) == (kind, program, targets)


EDIT = call("Edit", file_path="/repo/src/a.py", old_string="x = 1\ny = 2", new_string="x = 3")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (bash("cat src/a.py"), bash("cd /repo && cat src/a.py | head"), "same"),
        (bash("cat src/a.py"), call("Read", file_path="/repo/src/a.py"), "equivalent"),
        (bash("cat src/a.py"), bash("sed -n 1,9p src/a.py"), "equivalent"),
        (bash("cat src/a.py"), bash("cat src/b.py"), "different"),
        (call("Grep", pattern="needle", path="src"), bash("rg needle ."), "equivalent"),
        (call("Grep", pattern="needle"), call("Grep", pattern="thread"), "different"),
        (bash("pytest -q"), bash("python -m pytest -x | tail -3"), "same"),
        (bash("pytest -q"), bash("pytest tests/test_a.py"), "equivalent"),
        (bash("pytest tests/test_b.py"), bash("pytest tests/test_a.py"), "different"),
        (bash("pytest -q"), bash("ruff check"), "different"),
        (EDIT, call("Edit", file_path="src/a.py", old_string="y = 2", new_string="y = 5"), "same"),
        (EDIT, call("Edit", file_path="src/a.py", old_string="z = 2", new_string="z = 5"), "different"),
        (EDIT, call("Write", file_path="src/a.py", content="x = 3"), "equivalent"),
        (EDIT, bash("sed -i s/1/3/ src/a.py"), "equivalent"),
        (EDIT, call("Read", file_path="src/a.py"), "different"),
        (call("TodoWrite", todos=[]), call("TodoWrite", todos=["a"]), "same"),
        (call("TodoWrite", todos=[]), call("Task", prompt="look"), "different"),
        (bash("git status"), bash("ls"), "different"),
    ],
)
def test_two_calls_compared(one: ToolCall, other: ToolCall, expected: str) -> None:
    assert compare_actions(read(one), read(other)) == expected
    assert compare_actions(read(other), read(one)) == expected


def test_a_step_without_a_call_is_like_another_one_and_like_no_call() -> None:
    assert compare_actions(None, None) == "same"
    assert compare_actions(read(EDIT), None) == compare_actions(None, read(EDIT)) == "different"


def test_what_the_session_did_next_is_known_unless_a_person_spoke_first() -> None:
    messages = [
        Message("user", "go"),
        Message("assistant", tool_calls=(EDIT, bash("ls"))),
        Message("tool", "ok", tool_call_id="c"),
        Message("assistant", "done"),
        Message("user", "thanks"),
    ]
    assert [taken_step(messages, cut) for cut in range(1, 6)] == [
        (EDIT, True),
        (None, True),
        (None, True),
        (None, False),
        (None, False),
    ]
    assert seen_tools(messages) == {"Edit": ["file_path", "old_string", "new_string"], "Bash": ["command"]}

"""The to-do list is the one that the agent kept last, whatever it kept it with."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.reading.todos import Todo, latest_todos, message_todos
from compaction.transcript import Message, ToolCall


def says(tool: str, seq: int = 0, ident: str = "c", **arguments: object) -> Message:
    return Message("assistant", tool_calls=(ToolCall(ident, tool, json.dumps(arguments)),), seq=seq)


def result(ident: str, text: str, seq: int = 0) -> Message:
    return Message("tool", text, tool_call_id=ident, seq=seq)


EXPECTED = (Todo("find the cause", "done"), Todo("mend the pool", "in_progress"), Todo("run the tests", "open"))


@pytest.mark.parametrize(
    "message",
    [
        says(
            "TodoWrite",
            todos=[
                {"content": "find the cause", "status": "completed", "activeForm": "Finding"},
                {"content": "mend the pool", "status": "in_progress", "activeForm": "Mending"},
                {"content": "run the tests", "status": "pending", "activeForm": "Running"},
            ],
        ),
        says(
            "update_plan",
            explanation="next",
            plan=[
                {"step": "find the cause", "status": "completed"},
                {"step": "mend the pool", "status": "in_progress"},
                {"step": "run the tests", "status": "pending"},
            ],
        ),
        says(
            "task_tracker",
            command="plan",
            task_list=[
                {"title": "find the cause", "status": "done", "notes": ""},
                {"title": "mend the pool", "status": "in_progress"},
                {"title": "run the tests", "status": "todo"},
            ],
        ),
        says(
            "write_todos",
            todos=[
                {"description": "find the cause", "status": "completed"},
                {"description": "mend the pool", "status": "in_progress"},
                {"description": "run the tests", "status": "pending"},
                {"description": "rewrite all", "status": "cancelled"},
            ],
        ),
        says("update_todo_list", todos="[x] find the cause\n[-] mend the pool\n[ ] run the tests"),
        Message(
            "assistant", "Plan:\n- [x] find the cause\n- [~] mend the pool\n  - [ ] run  the tests  \nNow on.", seq=0
        ),
        Message("assistant", "1. [X] find the cause\n2. [>] mend the pool\n3. [ ] run the tests\r\n", seq=0),
    ],
    ids=["TodoWrite", "update_plan", "task_tracker", "write_todos", "markdown argument", "check list", "numbered"],
)
def test_a_message_writes_a_whole_list(message: Message) -> None:
    found = message_todos(message)
    assert found is not None
    assert found.items == EXPECTED


@pytest.mark.parametrize(
    "message",
    [
        Message("assistant", "Write boxes like this: - [ ] item"),
        Message("assistant", "- [ ] only one box"),
        Message("user", "- [ ] a\n- [ ] b"),
        Message("assistant", "array[x] and list[ ] are no boxes"),
        says("Read", todos=[{"content": "x", "status": "pending"}]),
        says("TodoWrite", todos="nothing"),
        says("TodoWrite", todos=[3, None, {"status": "pending"}]),
        says("task", description="Explore the code", prompt="…"),
    ],
)
def test_what_is_no_list_is_none(message: Message) -> None:
    assert message_todos(message) is None


def test_the_later_list_replaces_the_earlier() -> None:
    found = latest_todos(
        [
            says("TodoWrite", 1, todos=[{"content": "a", "status": "pending"}]),
            Message("user", "go on", seq=2),
            says(
                "TodoWrite", 3, todos=[{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]
            ),
        ]
    )
    assert found is not None
    assert (found.seq, found.items) == (3, (Todo("a", "done"), Todo("b", "open")))


def test_a_check_list_in_prose_does_not_replace_a_list_kept_with_a_tool() -> None:
    found = latest_todos(
        [
            says("update_plan", 1, plan=[{"step": "a", "status": "pending"}]),
            Message("assistant", "- [x] x\n- [x] y", seq=2),
        ]
    )
    assert found is not None
    assert found.items == (Todo("a", "open"),)


def test_tasks_that_are_kept_one_by_one_are_put_together() -> None:
    messages = [
        says("TaskCreate", 0, "c1", subject="find the cause", description="…"),
        result("c1", "Task #7 created successfully: find the cause", 1),
        says("TaskCreate", 2, "c2", subject="mend it"),
        result("c2", "Task #8 created successfully: mend it", 3),
        says("TaskCreate", 4, "c3", subject="celebrate"),
        result("c3", "Task #9 created successfully: celebrate", 5),
        says("TaskUpdate", 6, "c4", taskId="7", status="completed"),
        says("TaskUpdate", 7, "c5", taskId="8", status="in_progress"),
        says("TaskUpdate", 8, "c6", taskId="9", status="deleted"),
    ]
    found = latest_todos(messages)
    assert found is not None
    assert (found.seq, found.items) == (8, (Todo("find the cause", "done"), Todo("mend it", "in_progress")))


def test_unfinished_is_what_is_in_progress_and_then_what_is_open() -> None:
    items = [("a", "pending"), ("b", "completed"), ("c", "in_progress")]
    found = latest_todos([says("TodoWrite", todos=[{"content": c, "status": s} for c, s in items])])
    assert found is not None
    assert [todo.text for todo in found.unfinished] == ["c", "a"]


def test_a_session_without_a_list_has_none() -> None:
    assert latest_todos([Message("user", "hello"), Message("assistant", "hi")]) is None


@given(
    st.text(max_size=100),
    st.recursive(
        st.none() | st.text(max_size=9),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["todos", "plan", "content", "status", "title"]), x),
        max_leaves=6,
    ),
)
def test_nothing_makes_it_raise(text: str, arguments: object) -> None:
    call = ToolCall("c", "todo_write", json.dumps(arguments))
    latest_todos([Message("assistant", text, tool_calls=(call,))])


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["- [ ] a  ", "[ ] ", "- [ ]", "  ", "- [x] a\n"])
def test_hostile_text_is_read_in_linear_time(unit: str) -> None:
    """A square of this length would run into the timeout."""
    message_todos(Message("assistant", unit * (1_000_000 // len(unit))))

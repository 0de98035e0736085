"""What the embedded summariser takes over from messages, and what it leaves out."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from compaction import Message, Section, SummaryRequest, ToolCall
from compaction.summarizers.extractive import EMPTY, EmbeddedSummarizer, parse_summary
from compaction.testing import CharacterCounter

KINDS = ("intent", "files", "decisions", "errors", "details", "state", "next_steps")
SECTIONS = tuple(Section(kind.capitalize(), (kind,), "?") for kind in KINDS)
ROOM = 600

RULE = "# AGENTS.md instructions for /barn\n\n<INSTRUCTIONS>\nAlways feed horses before cows.\n</INSTRUCTIONS>"
SETUP = "<session_context>\nToday's date is Monday.\nMy operating system is: linux.\n</session_context>"
REQUEST = "Please let the barn door open by itself at six."


def summary(*said: Message | str, previous: str = "", room: int = ROOM, sections: Sequence[Section] = SECTIONS) -> str:
    messages = [m if isinstance(m, Message) else Message("user", m) for m in said]
    span = tuple(replace(m, seq=seq) for seq, m in enumerate(messages))
    request = SummaryRequest((), span, tuple(sections), previous, room)
    return EmbeddedSummarizer(CharacterCounter()).summarize(request).text


def items(*said: Message | str, previous: str = "", room: int = ROOM) -> dict[str, list[str]]:
    return parse_summary(summary(*said, previous=previous, room=room), SECTIONS)


def told(text: str) -> Message:
    return Message("assistant", text)


def called(name: str, result: str, is_error: bool = False, **arguments: object) -> list[Message]:
    call = ToolCall("1", name, json.dumps(arguments))
    return [
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", result, tool_call_id="1", tool_name=name, is_error=is_error),
    ]


@pytest.mark.parametrize(
    "foreign",
    [
        Message("user", RULE),
        Message("user", "Remember the linters of this barn.", author="harness"),
        Message("user", SETUP),
        Message("user", "This is the Barn CLI. We are setting up the context for our chat.\nToday's date is Monday."),
        Message("user", "<environment_context>\nThe shell of this barn is zsh.\n</environment_context>"),
    ],
)
def test_what_no_person_wrote_is_no_request(foreign: Message) -> None:
    assert items(foreign, REQUEST)["Intent"] == [REQUEST]
    assert summary(foreign, REQUEST, sections=()) == f"- {REQUEST}"


def test_the_words_beside_an_element_of_the_surroundings_are_the_persons() -> None:
    assert items(f"<current_datetime>2031-01-01</current_datetime>\n\n{REQUEST}")["Intent"] == [REQUEST]


def test_of_a_long_task_its_title_and_its_prohibitions_come_before_its_frame() -> None:
    steps = "\n".join(f"The hinge number {n} of gate {n * 7} squeaks a little in spring." for n in range(60))
    task = (
        "Consider the following issue description:\n\n<issue_description>\nThe barn door opens at seven\n"
        f"{steps}\n</issue_description>\n\n"
        "You must not change the lock of the stable.\nDo NOT touch the files in hinges/."
    )
    found = items(task, room=400)["Intent"]
    assert found[0] == "The barn door opens at seven"
    assert found[-2:] == ["You must not change the lock of the stable.", "Do NOT touch the files in hinges/."]
    assert "Consider the following issue description:" not in found
    assert "Consider the following issue description:" in items(task, room=50_000)["Intent"]


def test_a_tree_a_table_and_a_comment_are_no_content() -> None:
    tree = "barn/\n├── door one two.py\n│   └── hinge one two.py\n    stable/lock.py\n    stable/hay/rack.py\n"
    table = "| door of barn | open | at six |\n|---|---|---|\n"
    found = items(f"{tree}{table}<!-- Please fill in all of this form -->\n{REQUEST}")
    assert found["Intent"] == [REQUEST]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "Here:\n\n```diff\n--- a/barn/door.py\n+++ b/barn/door.py\n@@ -1 +1 @@\n-x = 7\n+x = 6\n```",
            "modified",
        ),
        ("Here:\n\n```diff\n--- /dev/null\n+++ b/barn/door.py\n@@ -0,0 +1 @@\n+x = 6\n```", "created"),
        ("barn/door.py\n```python\n<<<<<<< SEARCH\nx = 7\n=======\nx = 6\n>>>>>>> REPLACE\n```", "modified"),
        ("**barn/door.py**\n```python\nx = 6\n```", "created"),
        ("```python barn/door.py\nx = 6\n```", "created"),
        ("Now I write the main file, `barn/door.py`:\n\n---\n\n```diff\n- \n+ x = 6\n```", "created"),
    ],
)
def test_files_that_are_written_as_blocks_of_text_are_files(text: str, line: str) -> None:
    assert [item.split(":")[0] for item in items(REQUEST, told(text))["Files"]] == [f"barn/door.py ({line})"]


def test_code_that_is_only_quoted_is_no_file() -> None:
    quoted = "In `barn/door.py` it says:\n```python\nx = 6\n```\nThat opens it."
    assert "Files" not in items(REQUEST, told(quoted))
    written = called("Write", "ok", file_path="stable.py", content="x = 1")
    assert items(*written, told("barn/door.py\n```python\nx = 6\n```"))["Files"] == ["stable.py (created)"]


def test_the_frame_of_an_earlier_summary_is_no_open_work() -> None:
    earlier = f"Frame:\n\n## Intent\n- {REQUEST}\n\n## Next_steps\n{EMPTY}\n\nGo on with the task from there."
    found = items("Then paint it red as well.", previous=earlier)
    assert "Go on" not in str(found)
    assert found["Intent"] == [REQUEST, "Then paint it red as well."]


def test_an_error_is_what_the_result_of_a_failed_call_complains_of() -> None:
    output = "reading the barn\nDoorError: the hinge is stuck\nreading done\nProcess exited with code 1"
    assert items(*called("Bash", output, command="open barn"))["Errors"] == [
        "`open barn`: DoorError: the hinge is stuck"
    ]
    assert "Errors" not in items(*called("Bash", "DoorError: the hinge is stuck\n", command="grep -r Door logs"))


def test_words_in_a_terminals_box_are_words() -> None:
    assert items("why do I get   Barn door is open    │\n└ open barn │")["Intent"] == ["why do I get Barn door is open"]


def test_a_turn_of_announcements_alone_is_the_state_of_the_work() -> None:
    said = ["Let me look at the upper hinge.", "Now I'll oil the lower one."]
    assert items(REQUEST, *map(told, said))["State"] == said


def test_a_question_that_the_agent_asks_itself_is_no_open_work() -> None:
    found = items(told("What if the hinge is made of brass? That is not so. Would you like me to oil the door?"))
    assert found["Next_steps"] == ["Would you like me to oil the door?"]


def test_open_items_and_the_announced_step_come_next() -> None:
    todos = [{"content": "oil the hinge", "status": "pending"}, {"content": "buy oil", "status": "completed"}]
    found = items(*called("TodoWrite", "ok", todos=todos), told("The oil is here now. I'll oil the upper hinge first."))
    assert found["Next_steps"] == ["oil the hinge", "I'll oil the upper hinge first."]


def test_nothing_is_said_twice_in_other_words() -> None:
    said = ["The hinge of the barn door is made of brass.", "So the hinge of the barn door is made of brass."]
    text = summary(*(told(s) for s in said), told("Cows sleep in the northern stable at night."), sections=())
    assert text.count("brass") == 1
    assert "Cows sleep" in text


def test_what_one_section_says_the_next_does_not_repeat() -> None:
    said = [f"Gate {n} of `barn_{n}` hangs on the {word} hinge." for n, word in enumerate(("left", "upper", "low"))]
    found = items(REQUEST, *(told(s) for s in said), told("We are done with all of it."))
    lines = [line for section in ("Decisions", "Details", "State") for line in found.get(section, ())]
    assert set(said) <= set(lines)
    assert found["Intent"] == [REQUEST]


def test_it_says_the_same_again() -> None:
    span = (REQUEST, *(told(f"Gate {n} of {n * 3} hangs on hinge {n % 4} because of rust.") for n in range(40)))
    assert summary(*span) == summary(*span)

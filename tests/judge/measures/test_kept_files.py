from __future__ import annotations

import json
from dataclasses import replace

import pytest

from compaction import Message, ToolCall, Transcript
from compaction.measures.needs import SessionNeeds
from judge.measures.kept_files import KeptFiles, UseCounts, compare_uses

ROOT = "/home/ada/mill"


def call(seq: int, name: str, path: str, result: str, **more: str) -> tuple[Message, Message]:
    made = ToolCall(f"c{seq}", name, json.dumps({"file_path": f"{ROOT}/{path}", **more}))
    return (
        Message("assistant", tool_calls=(made,), seq=seq, tokens=10),
        Message("tool", result, tool_call_id=made.id, tool_name=name, seq=seq + 1, tokens=10),
    )


MESSAGES = (
    Message("user", "Sort the rows.", seq=0, tokens=10),
    *call(1, "Read", "src/rows.py", "rows = []"),
    *call(3, "Read", "docs/rows.md", "# Rows"),
    *call(5, "Edit", "src/rows.py", "updated", old_string="rows = []", new_string="rows = ()"),
    *call(7, "Write", "src/order.py", "created", content="order = 1\n"),
    *call(9, "Edit", "src/order.py", "updated", old_string="1", new_string="2"),
    Message("user", "Go on.", seq=11, tokens=10),
)
CUT = 11


@pytest.fixture
def kept() -> KeptFiles:
    return KeptFiles(SessionNeeds(Transcript("s", MESSAGES, cwd=ROOT)))


def made(text: str) -> Message:
    return Message("user", text, covers=(1, 2), tokens=10)


def test_the_truth_is_what_the_calls_before_the_cut_came_to(kept: KeptFiles) -> None:
    assert kept.true(CUT) == {
        "created": {"src/order.py"},
        "modified": {"src/rows.py"},
        "read": {"docs/rows.md"},
        "gone": set(),
        "any": {"src/order.py", "src/rows.py", "docs/rows.md"},
    }
    assert kept.true(5)["read"] == {"src/rows.py", "docs/rows.md"}


def test_the_history_as_it_was_tells_the_truth_and_the_empty_context_nothing(kept: KeptFiles) -> None:
    assert kept.told(MESSAGES[:CUT], CUT) == kept.true(CUT)
    assert compare_uses(kept.true(CUT), kept.told((), CUT)) == {
        "created": UseCounts(1, 0, 0),
        "modified": UseCounts(1, 0, 0),
        "read": UseCounts(1, 0, 0),
        "any": UseCounts(3, 0, 0),
    }


def test_a_window_tells_what_its_own_calls_say(kept: KeptFiles) -> None:
    """Of a file whose creation is gone the later edit alone says that it was changed."""
    told = kept.told(MESSAGES[9:CUT], CUT)
    assert told["modified"] == told["any"] == {"src/order.py"}
    assert compare_uses(kept.true(CUT), told)["modified"] == UseCounts(1, 1, 0)


def test_a_summary_tells_by_its_headings_and_words_and_otherwise_for_any_alone(kept: KeptFiles) -> None:
    text = "## Files created\n- `src/order.py`\n\n## Notes\nSee docs/rows.md for the plan.\nModified src/rows.py."
    told = kept.told((made(text),), CUT)
    assert (told["created"], told["modified"], told["read"]) == ({"src/order.py"}, {"src/rows.py"}, set())
    assert told["any"] == {"src/order.py", "src/rows.py", "docs/rows.md"}


def test_a_short_name_means_the_one_file_that_ends_so_and_an_unknown_one_counts_as_told(kept: KeptFiles) -> None:
    told = kept.told((made("I modified order.py and updated src/other.py."),), CUT)
    assert told["modified"] == {"src/order.py", "src/other.py"}
    assert compare_uses(kept.true(CUT), told)["any"] == UseCounts(3, 2, 1)


def test_a_name_that_fits_several_files_tells_none() -> None:
    messages = (*call(0, "Read", "a/rows.py", "x"), *call(2, "Read", "b/rows.py", "x"))
    two = KeptFiles(SessionNeeds(Transcript("s", messages, cwd=ROOT)))
    assert two.told((made("Modified rows.py."),), 4)["any"] == set()


def test_the_strongest_of_several_statements_counts_and_what_was_deleted_is_not_told(kept: KeptFiles) -> None:
    told = kept.told((made("Created src/order.py.\nDeleted: removed docs/rows.md"), *MESSAGES[9:CUT]), CUT)
    assert told["created"] == {"src/order.py"}
    assert told["modified"] == set()
    assert "docs/rows.md" not in told["any"]


def test_what_an_agent_said_and_what_is_left_of_an_output_tell_nothing(kept: KeptFiles) -> None:
    """Only calls and what the strategy wrote do: the history as it was would else tell of files that it only names."""
    output = replace(MESSAGES[2], text="[shortened: Modified src/other.py]")
    assert kept.told((MESSAGES[0], output), CUT)["any"] == set()


def test_a_failed_call_whose_result_is_masked_is_told_as_done() -> None:
    failed = call(0, "Edit", "src/rows.py", "No such file", old_string="a", new_string="b")
    messages = (failed[0], replace(failed[1], is_error=True))
    files = KeptFiles(SessionNeeds(Transcript("s", messages, cwd=ROOT)))
    assert files.true(2)["any"] == files.told(messages, 2)["any"] == set()
    masked = (messages[0], replace(messages[1], text="[masked]", is_error=False))
    assert compare_uses(files.true(2), files.told(masked, 2))["any"] == UseCounts(0, 1, 0)

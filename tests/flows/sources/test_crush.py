"""Crush's database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flows.sources.logs import crush as made
from tests.flows.sources.properties import check


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / ".crush"
    folder.mkdir()
    return folder / "crush.db"


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def test_a_session_is_read_with_what_its_compaction_dropped(path) -> None:
    made.DATABASE(path)
    read = check(path)
    assert (read.format, read.set_aside) == ("crush", ())
    mill, agent = read.transcripts
    assert (mill.session_id, mill.title, mill.model) == ("crush-s1", "The mill", "claude-test-1")
    assert (mill.started_at, mill.ended_at) == ("2025-10-09T08:53:20Z", "2025-10-09T08:54:59Z")
    assert said(mill) == [
        ("user", "Mend the mill.\n\n<file path='/home/ada/plan.txt'>\n\nfirst the wheel\n</file>"),
        ("assistant", "I look."),
        ("tool", "mill"),
        ("tool", "no such path"),
        ("assistant", "It turns."),
        ("user", "Oil it.\n\n$ pwd\n/home/ada\n(exit code 0)"),
        ("assistant", "Oiled."),
    ]
    first, _, failed = mill.messages[1:4]
    assert (first.reasoning, first.tool_calls[0].arguments) == ("hm", '{"command": "ls"}')
    assert failed.is_error
    [event] = mill.compactions
    assert (event.at_seq, event.summary, event.dropped) == (5, "The mill was mended.", (0, 1, 2, 3, 4))
    assert mill.set_aside == {"recorded compaction summary": 1}
    assert mill.usage.cost_usd == 0.5
    assert (agent.parent_session_id, said(agent)[1]) == ("crush-s1", ("assistant", "Found."))


def test_a_database_of_the_first_version_is_read(path) -> None:
    connection = made.open_old_database(path)
    made.add(connection, "s1", made.MESSAGES)
    connection.close()
    [transcript] = check(path).transcripts
    assert (len(transcript.messages), transcript.compactions) == (7, ())


def test_a_summary_that_failed_is_no_compaction(path) -> None:
    connection = made.open_database(path)
    failed = ("summary", [made.text("The mi"), ("finish", {"reason": "error", "message": "Summarization Error"})])
    made.add(connection, "s1", [*made.MESSAGES[:4], failed, *made.MESSAGES[4:]])
    connection.close()
    [transcript] = check(path).transcripts
    assert (transcript.compactions, transcript.set_aside) == ((), {"bookkeeping": 1})


def test_images_leave_marks_and_an_unknown_part_is_counted(path) -> None:
    connection = made.open_database(path)
    picture = made.attached("/home/ada/a.png", "image/png", b"12345")
    shot = made.result("a", "", data="MTIzNDU=", mime_type="image/png")
    made.add(connection, "s1", [("user", [made.text("See."), picture, ("hologram", {})]), ("tool", [shot])])
    connection.close()
    [transcript] = check(path).transcripts
    mark = "[image image/png, 5 bytes]"
    assert said(transcript) == [("user", f"See.\n\n{mark}"), ("tool", mark)]
    assert transcript.set_aside == {"line of an unknown kind": 1}

"""Sessions of OpenAI's Agents SDK."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.sources import Input, discover, read_input
from tests.flows.sources.logs import openai_agents as made
from tests.flows.sources.properties import check


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "kept"
    folder.mkdir()
    return folder / "conversations.db"


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def test_sessions_are_the_items_of_their_rows(path) -> None:
    made.DATABASE(path)
    read = check(path)
    assert (read.format, read.set_aside) == ("openai_agents", ())
    mill, other = read.transcripts
    assert (mill.session_id, other.session_id) == ("openai_agents-mill-1", "openai_agents-mill-2")
    assert (mill.title, mill.started_at, mill.ended_at) == (
        "Mend the mill.",
        "2026-03-01T10:00:00Z",
        "2026-03-01T10:00:09Z",
    )
    assert said(mill) == [
        ("user", "Mend the mill."),
        ("assistant", "I look."),
        ("tool", "a.c"),
        ("tool", "no such path"),
        ("assistant", "Mended."),
        ("user", "Oil it.\n[image https://example.org/a.png]"),
        ("assistant", "Oiled."),
    ]
    assert (mill.messages[1].reasoning, len(mill.messages[1].tool_calls)) == ("hm", 2)
    assert said(other) == [("user", "Hi."), ("assistant", "Ho.")]


def test_of_several_branches_the_one_that_was_written_to_last_is_read(path) -> None:
    connection = made.open_database(path, has_branches=True)
    later = [{"content": "Grease it.", "role": "user"}, made.answer("msg_4", "Greased.")]
    made.add(connection, "mill-1", [*made.ITEMS, *later])
    made.branch(connection, "mill-1", "main", list(range(1, 11)))
    made.branch(connection, "mill-1", "branch_from_turn_2", [*range(1, 9), 11, 12])
    connection.close()
    [transcript] = check(path).transcripts
    assert said(transcript)[4:] == [("assistant", "Mended."), ("user", "Grease it."), ("assistant", "Greased.")]
    assert transcript.set_aside == {"rewound branch": 2}
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens) == (20, 10)


def test_an_encrypted_compaction_is_one(path) -> None:
    connection = made.open_database(path)
    sealed = {"type": "compaction", "id": "cmp_1", "encrypted_content": "b3Bh"}
    made.add(connection, "mill-1", [*made.ITEMS[:8], sealed, *made.ITEMS[8:]])
    connection.close()
    [transcript] = check(path).transcripts
    [event] = transcript.compactions
    assert (event.at_seq, event.dropped, event.has_opaque_summary) == (5, (0, 1, 2, 3, 4), True)


def test_a_row_that_cannot_be_read_is_set_aside_with_its_number(path) -> None:
    connection = made.open_database(path)
    encrypted = {"__enc__": 1, "v": 1, "kid": "hkdf-v1", "payload": "Z0FBQQ"}
    made.add(connection, "mill-1", [made.ITEMS[0], encrypted])
    connection.close()
    read = check(path)
    assert [aside.reason for aside in read.set_aside] == ["conversations.db#2: an item without a type"]
    assert said(read.transcripts[0]) == [("user", "Mend the mill.")]


def test_the_newest_session_is_meant_where_none_is_named(path) -> None:
    connection = made.open_database(path)
    made.add(connection, "a", made.ITEMS, "2026-03-02 10:00:00")
    made.add(connection, "b", made.ITEMS)
    connection.close()
    [found] = discover([str(path.parent)])
    assert found.path == path
    for only, own in (("", "a"), ("openai_agents-b", "b")):
        [transcript] = read_input(Input(path, "file", 0, 0, only=only)).transcripts
        assert transcript.session_id == f"openai_agents-{own}"

"""Threads of LangGraph in the database of its checkpointer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.flows.sources.logs import langgraph as made
from tests.flows.sources.logs.langgraph import TURNS, add, message
from tests.flows.sources.properties import check

SAID = [
    ("user", "Mend the mill."),
    ("assistant", "I look."),
    ("tool", "a.c"),
    ("assistant", "Mended."),
    ("user", "Oil it."),
    ("assistant", "Oiled."),
    ("user", "Thanks."),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints.sqlite"


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def read_one(path: Path, *steps, **more):
    connection = made.open_database(path)
    add(connection, list(steps), **more)
    connection.close()
    read = check(path)
    assert (read.format, read.set_aside) == ("langgraph", ())
    [transcript] = read.transcripts
    return transcript


def test_threads_are_what_their_steps_wrote(path) -> None:
    made.DATABASE(path)
    read = check(path)
    assert (read.format, read.set_aside) == ("langgraph", ())
    mill, other = read.transcripts
    assert (mill.session_id, said(mill)) == ("langgraph-s-1", SAID)
    assert (mill.messages[1].tool_calls[0].arguments, mill.messages[2].tool_call_id) == ('{"path":"."}', "c1")
    assert (mill.usage.input_tokens, mill.usage.output_tokens) == (10, 5)
    assert (mill.started_at, mill.ended_at) == ("2026-03-01T10:00:01Z", "2026-03-01T10:00:07Z")
    assert (other.session_id, said(other)) == ("langgraph-s-2", [("user", "Hi."), ("assistant", "Ho.")])


def test_removed_messages_are_a_compaction_also_one_that_was_written_without_an_id(path) -> None:
    [event] = read_one(path, *made.STEPS).compactions
    assert (event.at_seq, event.dropped, event.summary, event.summary_at) == (
        6,
        (0, 1, 2, 3),
        "The mill was mended.",
        2,
    )


def test_all_may_be_removed_and_some_be_written_again(path) -> None:
    summary = message("human", "s1", "Here is a summary: mended.")
    whole = [message("remove", "__remove_all__"), summary, *TURNS[3:]]
    transcript = read_one(path, *made.STEPS[:6], whole, made.STEPS[7])
    assert said(transcript) == SAID
    [event] = transcript.compactions
    assert (event.dropped, event.summary, event.summary_at) == ((0, 1, 2, 3), "Here is a summary: mended.", 0)
    assert transcript.set_aside == {"bookkeeping": 1, "duplicate": 2, "recorded compaction summary": 1}


def test_a_summary_may_have_a_channel_of_its_own(path) -> None:
    transcript = read_one(path, *made.STEPS[:6], made.GONE, channels={6: ("summary", "All was mended.")})
    [event] = transcript.compactions
    assert (event.summary, event.dropped) == ("All was mended.", (0, 1, 2, 3))


def test_a_way_that_was_left_is_counted(path) -> None:
    connection = made.open_database(path)
    add(connection, made.STEPS[:6])
    add(connection, [[message("human", "h9", "Grease it.")], [message("ai", "a9", "Greased.")]], first=6, parent=3)
    connection.close()
    [transcript] = check(path).transcripts
    assert said(transcript) == [*SAID[:4], ("user", "Grease it."), ("assistant", "Greased.")]
    assert transcript.set_aside == {"rewound branch": 2}


def test_what_waited_on_a_checkpoint_when_new_input_came_is_no_part_of_it(path) -> None:
    connection = made.open_database(path)
    add(connection, [*made.STEPS[:6], [message("human", "h4", "Thanks.")]])
    add(connection, [[message("human", "h9", "Grease it.")]], first=7, parent=6, source="input")
    connection.close()
    [transcript] = check(path).transcripts
    assert said(transcript) == [*SAID[:6], ("user", "Grease it.")]
    assert transcript.set_aside == {"rewound branch": 1}


def test_values_as_json_are_read_and_pickled_ones_never_opened(path) -> None:
    connection = made.open_database(path)
    add(connection, made.STEPS[:3])
    named = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"]}
    text = json.dumps([named | {"kwargs": {"content": "Mend the mill.", "type": "human"}}])
    connection.execute("update writes set type = 'json', value = ? where rowid = 1", (text,))
    connection.execute("update writes set type = 'pickle', value = x'80049505' where rowid = 3")
    connection.close()
    read = check(path)
    assert said(read.transcripts[0]) == SAID[:2]
    assert [aside.reason for aside in read.set_aside] == [
        "checkpoints.sqlite#3: a value of type 'pickle', expected msgpack or json"
    ]


def test_what_sub_graphs_wrote_is_counted(path) -> None:
    connection = made.open_database(path)
    add(connection, made.STEPS[:2])
    connection.execute("insert into writes values ('s-1', 'oiler:1', 'x', 't', '', 0, 'messages', 'msgpack', x'90')")
    connection.close()
    [transcript] = check(path).transcripts
    assert transcript.set_aside == {"write of a sub-graph": 1}


def test_damaged_values_are_set_aside_with_their_place(path) -> None:
    connection = made.open_database(path)
    add(connection, made.STEPS[:3])
    connection.execute("update writes set value = x'dc0002' where rowid = 2")
    connection.execute("update writes set value = value || x'00' where rowid = 3")
    connection.close()
    read = check(path)
    assert said(read.transcripts[0]) == SAID[:1]
    assert [aside.reason.partition(":")[0] for aside in read.set_aside] == [
        "checkpoints.sqlite#2",
        "checkpoints.sqlite#3",
    ]

"""opencode's database: every session of both versions, while opencode writes, and whatever has happened to the file."""

from __future__ import annotations

import copy
import gzip
import json
import sqlite3
import subprocess
import sys
import tracemalloc
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.config.study import Study
from flows.pipeline.plan import unread_inputs
from flows.sessions.session_parts import read_parts
from flows.sources import Input, InputReading, SourceError, discover, read_input
from flows.sources.formats.opencode.opencode_db import OTHER_TABLES
from flows.sources.reading.database import DamagedError, Database
from tests.flows.sources.folders import ingest
from tests.flows.sources.logs import opencode_db as made
from tests.flows.sources.logs import opencode_export as export
from tests.flows.sources.properties import check
from tests.flows.sources.test_never_raises import SWAPS, change, encoded, odd_values, paths

pytestmark = pytest.mark.timeout(120)
PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "opencode"
    folder.mkdir()
    return folder / "opencode.db"


def document(own: str, *texts: str, parent: str | None = None, updated: int = 1) -> dict[str, Any]:
    """A session of questions and answers."""
    messages = []
    for number, text in enumerate(texts):
        part = {"type": "text", "text": text}
        messages.append(export.user(number, part) if number % 2 == 0 else export.assistant(number, part))
    info = {"id": own, "parentID": parent, "time": {"created": 1, "updated": updated}}
    return {"info": info, "messages": messages}


def write_1(path: Path, *documents: dict[str, Any]) -> Path:
    connection = made.open_database(path, 1)
    for one in documents:
        made.add_1(connection, one)
    connection.close()
    return path


def write_2(path: Path, *messages: tuple[str, dict[str, Any]]) -> Path:
    connection = made.open_database(path, 2)
    made.add_2(connection, made.INFO_2, list(messages))
    connection.close()
    return path


def texts_of(transcript) -> list[str]:
    return [message.text for message in transcript.messages]


def read_2(path: Path, *messages: tuple[str, dict[str, Any]]):
    """The one session of these messages of version 2."""
    result = check(write_2(path, *messages))
    assert result.set_aside == ()
    (transcript,) = result.transcripts
    return transcript


def said(text: str = "Go on.") -> tuple[str, dict[str, Any]]:
    return "user", {"time": {"created": 1}, "text": text}


# What it says


def test_a_session_of_the_database_is_what_its_export_is(path: Path, read) -> None:
    """But for the names: of the session, and of the places that messages were read from."""
    (ours,) = check(write_1(path, export.DOCUMENT)).transcripts
    (exported,) = read("session.json", export.DOCUMENT).transcripts

    def plain(transcript):
        return [replace(message, source_ref="") for message in transcript.messages]

    assert plain(ours) == plain(exported)
    assert ours.compactions == exported.compactions != ()
    assert (ours.title, ours.cwd, ours.model, ours.usage) == (
        exported.title,
        exported.cwd,
        exported.model,
        exported.usage,
    )
    assert (ours.session_id, exported.session_id) == ("opencode_db-ses_1", "opencode_export-ses_1")
    assert ours.messages[0].source_ref == "opencode.db#ses_1-msg_0000"


def test_a_session_of_a_sub_agent_names_the_one_that_started_it(path: Path) -> None:
    write_1(path, document("ses_1", "Ask a helper.", "It says yes."), document("ses_2", "Ask.", "Yes.", parent="ses_1"))
    root, helper = check(path).transcripts
    assert (root.session_id, root.parent_session_id) == ("opencode_db-ses_1", None)
    assert (helper.session_id, helper.parent_session_id) == ("opencode_db-ses_2", "opencode_db-ses_1")


@pytest.mark.parametrize(
    ("has_column", "tie"),
    [(True, ("opencode_db-ses_1", 0)), (False, (None, None))],
)
def test_a_fork_names_its_origin_and_keeps_what_it_was_given_as_its_context(
    path: Path, store, has_column: bool, tie: tuple[str | None, int | None]
) -> None:
    connection = made.open_database(path, 2)
    given_it = [said(f"Step {number}.") for number in range(6)]
    made.add_2(connection, {"id": "ses_1", "time": {"created": 1}}, [*given_it, said("Weave.")])
    made.add_2(connection, {"id": "ses_2", "time": {"created": 2}}, [*given_it, said("Spin."), said("Spin on.")])
    connection.execute("update session_v2 set fork_session_id = 'ses_1', fork_boundary = 'm' where id = 'ses_2'")
    if not has_column:
        connection.execute("alter table session_v2 drop column fork_session_id")
    connection.close()
    origin, fork = check(path).transcripts
    assert (origin.parent_session_id, origin.forked_at) == (None, None)
    assert (fork.parent_session_id, fork.forked_at) == tie
    assert len(fork) == 8
    ingest(store, Study(sources=(str(path),)))
    sessions = {info.session_id: info for part in read_parts(store) for info in part.sessions}
    assert (sessions["opencode_db-ses_2"].n_given, sessions["opencode_db-ses_2"].given_by) == (6, "opencode_db-ses_1")


def test_a_fork_that_another_session_started_hangs_below_that_one(path: Path) -> None:
    connection = made.open_database(path, 2)
    made.add_2(connection, {"id": "ses_2", "parentID": "ses_0"}, [said()])
    connection.execute("update session_v2 set fork_session_id = 'ses_1'")
    connection.close()
    (transcript,) = check(path).transcripts
    assert (transcript.parent_session_id, transcript.forked_at) == ("opencode_db-ses_0", None)


def test_messages_of_version_2_say_the_same(path: Path) -> None:
    transcript = read_2(path, *made.MESSAGES_2)
    assert [(message.role, message.text) for message in transcript.messages] == [
        ("user", "Mend the mill."),
        ("assistant", "I look."),
        ("tool", "x" * 10),
        ("tool", "no such file"),
        ("user", "ls\nmill"),
        ("user", "Continue."),
        ("assistant", "It turns."),
    ]
    answer, first, second = transcript.messages[1:4]
    assert answer.reasoning == "hm"
    assert [(call.id, call.name, call.arguments) for call in answer.tool_calls] == [
        ("a", "shell", '{"command":"make a"}'),
        ("b", "shell", '{"command":"make b"}'),
    ]
    assert [(one.tool_call_id, one.is_error) for one in (first, second)] == [("a", False), ("b", True)]
    assert (transcript.model, transcript.title, transcript.ended_at) == (
        "gpt-test-1",
        "The loom",
        "1970-01-01T00:01:30Z",
    )
    assert transcript.usage.output_tokens == 10
    assert transcript.set_aside == {"bookkeeping": 2, "recorded compaction summary": 1}


def test_what_version_2_attaches_is_said(path: Path) -> None:
    image = {"mime": "image/png", "name": "mill.png", "data": b64encode(b"png").decode(), "source": {"type": "inline"}}
    notes = {"mime": "text/plain", "name": "notes.md", "data": b64encode(b"Oil it.").decode()}
    skills = [{"name": "milling", "text": "Mills turn."}]
    transcript = read_2(
        path,
        ("user", {"time": {"created": 1}, "text": "Look.", "files": [image, notes], "skills": skills}),
        made.assistant_2(
            made.tool_2("a", structured={"content": "of a file", "encoding": "utf8"}),
            made.tool_2("b", structured={"matches": 3}),
            made.tool_2("c", "completed", "one", "two", metadata={"exit": 2}),
            made.tool_2("d", "streaming", input='{"command": "ma'),
        ),
        ("skill", {"time": {"created": 2}, "skill": "milling", "name": "milling", "text": "Mills turn."}),
        ("system", {"time": {"created": 3}, "text": "The date has changed."}),
    )
    assert texts_of(transcript) == [
        "Mills turn.\nLook.\n[image image/png, 3 bytes]\nnotes.md\nOil it.",
        "",
        "of a file",
        '{"matches":3}',
        "one\ntwo",
        "Mills turn.",
        "The date has changed.",
    ]
    assert [message.role for message in transcript.messages[-2:]] == ["user", "system"]
    assert [message.is_error for message in transcript.messages if message.role == "tool"] == [False, False, True]


def compaction(status: str = "completed", **more: Any) -> tuple[str, dict[str, Any]]:
    held = {"status": status, "reason": "manual", "summary": "Mended.", "recent": "[User]: Go on.", **more}
    return "compaction", {"time": {"created": 50}, **held}


def test_a_summary_of_version_2_is_a_recorded_compaction_with_what_it_keeps_word_for_word(path: Path) -> None:
    transcript = read_2(path, said(), made.assistant_2({"type": "text", "text": "I do."}), compaction(), said())
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.trigger, event.tokens_before) == (2, (0, 1), "manual", 45)
    assert event.summary == "Mended.\n[User]: Go on."


def test_an_encrypted_summary_has_no_text_and_one_that_failed_is_none(path: Path) -> None:
    hidden = compaction(summary="", recent="", providerContext={"provider": "openai"})
    transcript = read_2(path, said(), hidden, compaction("failed"), compaction("running"))
    (event,) = transcript.compactions
    assert (event.summary, event.has_opaque_summary) == (None, True)
    assert transcript.set_aside["compaction that failed"] == 2


def test_marks_of_the_pruner_are_a_recorded_compaction_in_version_2_too(path: Path) -> None:
    pruned = made.tool_2("a", "completed", "x")
    pruned["time"]["pruned"] = 5000
    (event,) = read_2(
        path, said(), made.assistant_2(pruned), ("user", {"time": {"created": 9000}, "text": "Go."})
    ).compactions
    assert (event.trigger, event.cleared, event.dropped) == ("prune", (2,), ())


def test_a_message_of_an_unknown_kind_is_set_aside_and_named(path: Path) -> None:
    result = check(write_2(path, said(), ("telepathy", {"time": {"created": 1}})))
    assert [len(transcript) for transcript in result.transcripts] == [1]
    (aside,) = result.set_aside
    assert "role is 'telepathy'" in aside.reason


# Two versions in one file


def test_after_the_upgrade_a_session_is_read_once_and_from_the_new_tables(path: Path) -> None:
    connection = made.open_database(path, 1, 2)
    made.add_1(connection, document("ses_1", "Old only.", "Yes."))
    made.add_1(connection, document("ses_2", "In both.", "Yes."))
    made.add_2(
        connection, made.INFO_2, [said("In both."), made.assistant_2({"type": "text", "text": "Yes."}), said("New.")]
    )
    connection.close()
    result = check(path)
    assert [texts_of(one) for one in result.transcripts] == [["Old only.", "Yes."], ["In both.", "Yes.", "New."]]
    assert [one.set_aside.get(OTHER_TABLES) for one in result.transcripts] == [None, 2]
    assert result.set_aside == ()


def test_previews_of_version_2_have_their_messages_under_old_sessions(path: Path) -> None:
    connection = made.open_database(path, 1)
    connection.executescript(
        "create table session_message (id text primary key, session_id text not null, type text not null, "
        "seq integer not null, time_created integer not null, time_updated integer not null, data text not null)"
    )
    made.add_1(connection, document("ses_1", "With rows of both.", "Yes."))
    for own in ("ses_1", "ses_9"):
        row = (f"{own}-p", own, "user", 0, 1, 1, json.dumps({"text": "A preview.", "time": {"created": 1}}))
        connection.execute("insert into session_message values (?, ?, ?, ?, ?, ?, ?)", row)
    made.add_session(connection, "session", {"id": "ses_9"})
    connection.close()
    result = check(path)
    assert [texts_of(one) for one in result.transcripts] == [["With rows of both.", "Yes."], ["A preview."]]
    assert [one.set_aside.get(OTHER_TABLES) for one in result.transcripts] == [1, None]


# While it is written


WRITER = """
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("pragma wal_autocheckpoint = 0")
text = json.dumps({"type": "text", "text": "Said a moment ago."})
connection.execute("insert into part values ('ses_1-msg_0001-prt_9999', 'ses_1-msg_0001', 'ses_1', 1, 1, ?)", (text,))
print("written", flush=True)
sys.stdin.readline()
connection.execute("update part set time_updated = 2")
print("written", flush=True)
sys.stdin.readline()
"""


def test_rows_that_another_process_has_only_in_its_log_are_read_and_it_goes_on_writing(path: Path) -> None:
    write_1(path, document("ses_1", "Go.", "I do."))
    before = path.read_bytes()
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        assert writer.stdout.readline() == "written\n"
        assert path.read_bytes() == before
        (transcript,) = check(path).transcripts
        assert texts_of(transcript) == ["Go.", "I do.\nSaid a moment ago."]
        with Database(path).snapshot() as select:
            assert next(select("select count(*) from part where time_updated = 2")) == (0,)
            writer.stdin.write("\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "written\n", "a reader keeps nobody from writing"
            assert next(select("select count(*) from part where time_updated = 2")) == (0,), "one state of the file"
        writer.stdin.write("\n")


def test_a_database_that_nobody_has_open_is_read_without_a_file_beside_it(path: Path) -> None:
    write_1(path, document("ses_1", "Go.", "I do."))
    before = path.stat()
    assert len(check(path).transcripts) == 1
    assert [one.name for one in path.parent.iterdir()] == ["opencode.db"]
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_what_the_log_holds_makes_the_input_another_one(path: Path, store) -> None:
    connection = made.open_database(path, 1)
    made.add_1(connection, document("ses_1", "Go.", "I do."))
    connection.execute("pragma wal_checkpoint(truncate)")
    study = Study(sources=(str(path.parent),))
    assert [record.format for record in ingest(store, study)] == ["opencode_db"]
    assert unread_inputs(read_parts(store), discover(study.sources), study) == []
    made.add_1(connection, document("ses_2", "More.", "Yes."))
    (again,) = unread_inputs(read_parts(store), discover(study.sources), study)
    assert len(read_input(again).transcripts) == 2
    connection.close()


def test_only_the_tables_of_sessions_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file has the tokens of accounts."""
    made.write(path)
    seen = set()
    connect = sqlite3.connect

    def watched(*args: Any, **more: Any) -> sqlite3.Connection:
        connection = connect(*args, **more)
        connection.set_authorizer(
            lambda action, table, *_: seen.add(table) or 0 if action == sqlite3.SQLITE_READ else 0
        )
        return connection

    monkeypatch.setattr(sqlite3, "connect", watched)
    result = read_input(Input(path, "file", 0, 0))
    assert seen == {"sqlite_master", "session", "message", "part", "session_v2", "session_message"}
    assert made.SECRET not in repr(result)


# Which session


def test_one_session_is_read_of_many(path: Path) -> None:
    write_1(
        path,
        document("ses_1", "Old.", "Yes.", updated=10),
        document("ses_2", "New.", "Yes.", updated=20),
        document("ses_3", "A helper's.", "Yes.", parent="ses_2", updated=30),
        document("ses_4", updated=40),
    )
    source = Input(path, "file", 0, 0)
    for only, expected in {"": "ses_2", "ses_1": "ses_1", "opencode_db-ses_3": "ses_3"}.items():
        found = read_input(replace(source, only=only)).transcripts
        assert [one.session_id for one in found] == [f"opencode_db-{expected}"]
    (aside,) = read_input(replace(source, only="ses_9")).set_aside
    assert aside.reason == "opencode_db: no session 'ses_9' among 4"


# Damage


def big(path: Path, sessions: int = 30) -> Path:
    return write_1(path, *(document(f"ses_{n:02}", f"{n} " + "mill " * 2000, "loom " * 2000) for n in range(sessions)))


def test_of_a_database_that_is_cut_off_what_is_left_is_read(path: Path) -> None:
    content = big(path).read_bytes()
    path.write_bytes(content[: len(content) // 2])
    result = check(path)
    (aside,) = result.set_aside
    assert aside.reason == (
        "the database cannot be read whole (database disk image is malformed): "
        f"{30 - len(result.transcripts)} of the 30 sessions found in it are left out"
    )
    assert 5 < len(result.transcripts) < 25
    assert all(len(one) == 2 for one in result.transcripts)


def test_a_spoiled_page_costs_the_sessions_that_stand_on_it(path: Path) -> None:
    content = bytearray(big(path).read_bytes())
    leaf = next(at for at in range(len(content) // 2, len(content), PAGE) if at % PAGE == 0 and content[at] == 13)
    content[leaf : leaf + 100] = b"\xff" * 100
    path.write_bytes(content)
    result = check(path)
    assert 0 < len(result.transcripts) < 30
    (aside,) = result.set_aside
    assert aside.reason.startswith("the database cannot be read whole (database disk image is malformed): ")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_bytes_of_a_database_may_be_flipped_anywhere(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "flipped.db"
    made.write(path)
    content = bytearray(path.read_bytes())
    at = st.one_of(st.integers(0, 200), st.integers(0, len(content) - 1))
    for place, value in data.draw(st.lists(st.tuples(at, st.integers(0, 255)), min_size=1, max_size=8)):
        content[place] = value
    path.write_bytes(
        content[: data.draw(st.sampled_from([len(content), len(content) - PAGE, len(content) // 2 + 7, 100]))]
    )
    check(path)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_value_may_stand_in_a_column_of_json(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.db"
    steps = st.tuples(paths, st.one_of(odd_values, st.sampled_from(sorted(SWAPS)).map(SWAPS.get)))

    def changed(value: Any) -> bytes:
        value = copy.deepcopy(value)
        for way, new in data.draw(st.lists(steps, max_size=2)):
            value = change(value, way, new)
        return encoded(value)

    path.unlink(missing_ok=True)
    connection = made.open_database(path, 1, 2)
    made.add_1(connection, export.DOCUMENT, changed)
    made.add_2(connection, made.INFO_2, made.MESSAGES_2, changed)
    connection.close()
    check(path)


def test_no_json_in_a_row_costs_that_row(path: Path) -> None:
    connection = made.open_database(path, 1)
    made.add_1(connection, document("ses_1", "Go.", "I do.", "More."))
    connection.execute("update part set data = '{\"type\": \"te' where message_id = 'ses_1-msg_0001'")
    connection.execute("update message set data = x'ff00' where id = 'ses_1-msg_0002'")
    connection.close()
    result = check(path)
    assert [texts_of(one) for one in result.transcripts] == [["Go."]]
    assert [aside.reason.split(":")[0] for aside in result.set_aside] == [
        "opencode.db#ses_1-msg_0002",
        "opencode.db#ses_1-msg_0001-prt_0000",
    ]


def test_a_database_of_something_else_is_not_recognised(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table session (id text)")
    connection.execute("create view message as select 1 as id")
    connection.close()
    result = check(path)
    (aside,) = result.set_aside
    assert result.format is None
    assert aside.reason.startswith("no known format: ")
    assert aside.excerpt == "tables: session"
    with pytest.raises(SourceError, match="nothing to read"):
        discover([str(path.parent)])


def test_a_packed_database_and_one_of_zero_pages_are_named(path: Path, write) -> None:
    made.write(path)
    packed = read_input(Input(write("opencode.db.gz", gzip.compress(path.read_bytes())), "file", 0, 0))
    assert [aside.reason for aside in packed.set_aside] == ["a packed database: unpack it first"]
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 4000)
    (aside,) = check(path).set_aside
    assert aside.reason.startswith("a damaged database: ")
    with pytest.raises(DamagedError), Database(path).snapshot() as select:
        next(select("select 1 from message"))


def test_a_database_needs_the_memory_of_one_session(path: Path) -> None:
    connection = made.open_database(path, 1)
    for number in range(24):
        made.add_1(
            connection, document(f"ses_{number:02}", *(f"{number} {turn} " + "mill " * 20_000 for turn in range(10)))
        )
    connection.close()
    assert path.stat().st_size > 23 << 20
    tracemalloc.start()
    try:
        assert sum(1 for _ in InputReading(Input(path, "file", 0, 0))) == 24
        assert tracemalloc.get_traced_memory()[1] < 12 << 20
    finally:
        tracemalloc.stop()

"""Sessions that stand in the sources more than once are stored once, and what was folded into what is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compaction import Message, ToolCall, Transcript, counted
from flows.pipeline.engine import LazyCounter
from flows.pipeline.load.intake_tables import each_quarantined
from flows.sessions.deduplicate import deduplicate
from flows.sessions.part_writer import PartWriter
from flows.sessions.session_parts import Fingerprint, InputRecord, SessionInfo, load_session, read_parts
from flows.store.store import Store

COUNTER = LazyCounter("o200k_base")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(str(tmp_path / "store"), "o200k_base")


def work(
    session_id: str, turns: range, word: str = "mill", *, ids: bool = False, parent: str | None = None
) -> Transcript:
    """A request, then for each turn an answer with a call, and its result."""
    messages = [Message("user", f"Repair the {word}.")]
    for turn in turns:
        call = f"call_{word}_0123456789_{turn}" if ids else f"c{turn}"
        say = f"For the {word} I look at wheel number {turn}, since it turns too slowly and squeaks."
        messages.append(Message("assistant", say, tool_calls=(ToolCall(call, "Bash", '{"command": "ls"}'),)))
        messages.append(Message("tool", f"wheel {turn}", tool_call_id=call))
    done = tuple(counted(replace(m, seq=i), COUNTER) for i, m in enumerate(messages))
    return Transcript(session_id, done, "test", "f", parent_session_id=parent)


def put(
    store: Store,
    path: str,
    *transcripts: Transcript,
    generation: int = 1,
    size: int | None = None,
    n_set_aside: int = 0,
    reader: str = "reader",
) -> None:
    print_of = Fingerprint(path, generation if size is None else size, 1, reader)
    writer = PartWriter(store, [print_of], generation, "o200k_base")
    for transcript in transcripts:
        writer.add_session(transcript, path)
    n_messages = sum(map(len, transcripts))
    writer.add_input(InputRecord(print_of, "test", len(transcripts), n_messages, n_set_aside))
    writer.finish()


def stored(store: Store) -> dict[str, int]:
    deduplicate(store)
    return {info.session_id: info.n_messages for part in read_parts(store) for info in part.sessions}


def folded(store: Store) -> list[SessionInfo]:
    return [info for part in read_parts(store) for info in part.folded]


def test_a_resumed_session_under_another_id_is_the_session_that_it_copies(store: Store) -> None:
    put(store, "/old", work("first", range(5)))
    put(store, "/new", work("second", range(9)))
    assert stored(store) == {"second": 19}
    assert [(info.recorded_id, info.folded_into, info.n_apart) for info in folded(store)] == [("first", "second", 0)]


def test_of_a_fork_it_is_said_how_many_answers_the_stored_session_lacks(store: Store) -> None:
    put(store, "/trunk", work("trunk", range(12)))
    put(store, "/fork", work("fork", range(-2, 6)))
    assert stored(store) == {"trunk": 25}
    assert [info.n_apart for info in folded(store)] == [2]


def test_two_encodings_of_a_session_are_one_when_they_share_the_ids_of_calls(store: Store) -> None:
    one = work("one", range(6), ids=True)
    other = replace(
        work("other", range(6), ids=True),
        messages=tuple(
            counted(replace(m, text=m.text.upper(), reasoning="", tokens=None), COUNTER) for m in one.messages
        ),
    )
    put(store, "/a", one)
    put(store, "/b", other)
    assert len(stored(store)) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(work("one", range(6)), work("two", range(6), "loom"), id="other work"),
        pytest.param(work("one", range(2)), work("two", range(2)), id="too short to tell"),
        pytest.param(work("one", range(9)), work("two", range(6, 20)), id="less than half is shared"),
        pytest.param(work("one", range(6)), work("two", range(6), parent="one"), id="a sub-agent and its parent"),
        pytest.param(
            work("one", range(6), parent="all"), work("two", range(7), parent="all"), id="children of one parent"
        ),
    ],
)
def test_sessions_under_different_ids_stay_two(store: Store, first: Transcript, second: Transcript) -> None:
    put(store, "/a", first)
    put(store, "/b", second)
    assert set(stored(store)) == {"one", "two"}


def test_sessions_of_one_file_with_ids_of_their_own_stay_two(store: Store) -> None:
    put(store, "/a", work("one", range(6)), work("two", range(6)))
    assert set(stored(store)) == {"one", "two"}


def test_sessions_that_only_begin_alike_are_two_when_the_log_gave_them_no_id(store: Store) -> None:
    made_up = "test-0123456789abcdef"
    put(store, "/a", work(made_up, range(6)))
    put(store, "/b", work(made_up, range(3)), work(made_up, range(0, 12, 2)))
    ids = stored(store)
    assert sorted(ids.values()) == [13, 13]
    assert made_up in ids
    assert [info.n_messages for info in folded(store)] == [7]


def test_a_folded_copy_comes_back_when_the_session_that_held_it_changes(store: Store) -> None:
    put(store, "/old", work("s", range(5)))
    put(store, "/new", work("s", range(9)))
    assert stored(store) == {"s": 19}
    put(store, "/new", work("another", range(4), "loom"), generation=2)
    assert stored(store) == {"another": 9}
    readers = {r.fingerprint.path: r.fingerprint.reader for part in read_parts(store) for r in part.inputs}
    assert readers == {"/old": "", "/new": "reader"}, "the file of the copy counts as not read"
    put(store, "/old", work("s", range(5)), generation=3)
    assert stored(store) == {"another": 9, "s": 11}
    assert folded(store) == []


def test_a_copy_without_rows_takes_no_other_session_in(store: Store) -> None:
    """Both copies are read again, and a session that has rows keeps them until then."""
    put(store, "/short", work("s", range(3)))
    put(store, "/middle", work("s", range(5)))
    put(store, "/long", work("s", range(9)))
    assert stored(store) == {"s": 19}
    put(store, "/long", work("another", range(4), "loom"), generation=2)
    put(store, "/new", work("s", range(4)), generation=2)
    assert stored(store) == {"another": 9, "s": 9}
    readers = {r.fingerprint.path: r.fingerprint.reader for part in read_parts(store) for r in part.inputs}
    assert readers["/middle"] == "", "longer than what is stored: to be read again"
    put(store, "/middle", work("s", range(5)), generation=3)
    assert stored(store) == {"another": 9, "s": 11}


def test_the_rows_that_stay_are_those_of_their_sessions(store: Store) -> None:
    put(store, "/a", work("gone", range(4)), work("kept", range(5), "loom"), work("big", range(1100), "gate"))
    put(store, "/b", work("gone", range(8)))
    assert set(stored(store)) == {"gone", "kept", "big"}
    infos = {info.session_id: info for part in read_parts(store) for info in part.sessions}
    assert load_session(store, infos["kept"]).messages == work("kept", range(5), "loom").messages
    assert load_session(store, infos["big"]).messages == work("big", range(1100), "gate").messages
    assert load_session(store, infos["gone"]).messages == work("gone", range(8)).messages


def test_boilerplate_that_very_many_sessions_share_does_not_make_them_one(store: Store) -> None:
    def session(number: int) -> Transcript:
        own = work(f"s{number}", range(4), f"mill-{number}")
        said = [
            Message("assistant", f"I always say this at first, whatever it is about: {n}.", tokens=9) for n in range(3)
        ]
        return replace(own, messages=tuple(replace(m, seq=i) for i, m in enumerate([*said, *own.messages])))

    for number in range(150):
        put(store, f"/{number:03d}", session(number))
    assert len(stored(store)) == 150
    assert folded(store) == []


def export(session_id: str, turns: range) -> Transcript:
    """Another program's copy of the same session: without reasoning, and with a branch that the agent's log dropped."""
    own = work(session_id, turns, ids=True)
    left = [replace(own.messages[0], seq=len(own) + at, text=f"No, wheel {at} first.") for at in range(3)]
    return replace(own, messages=(*own.messages, *left), source_format="entire_compact")


def with_reasoning(transcript: Transcript) -> Transcript:
    thought = "The wheel squeaks, so its axle is dry; a drop of oil is what it needs. " * 20
    messages = tuple(
        counted(replace(m, reasoning=thought, tokens=None), COUNTER) if m.role == "assistant" else m
        for m in transcript.messages
    )
    return replace(transcript, messages=messages)


@pytest.mark.parametrize("paths", [("/a", "/b"), ("/b", "/a")])
def test_the_agents_own_log_stays_before_a_longer_export(store: Store, paths: tuple[str, str]) -> None:
    put(store, paths[0], with_reasoning(work("own", range(6), ids=True)))
    put(store, paths[1], export("export-of-it", range(6)))
    assert stored(store) == {"own": 13}
    assert [(info.recorded_id, info.folded_into) for info in folded(store)] == [("export-of-it", "own")]


def test_a_shorter_copy_follows_the_longer_one_into_another_format(store: Store) -> None:
    put(store, "/a", with_reasoning(work("own", range(6), ids=True)))
    put(store, "/b", export("late", range(6)))
    put(store, "/c", export("early", range(4)))
    assert stored(store) == {"own": 13}
    assert {info.recorded_id: info.folded_into for info in folded(store)} == {"late": "own", "early": "own"}


def test_a_copy_that_went_on_for_long_stays_although_it_has_no_reasoning(store: Store) -> None:
    put(store, "/a", with_reasoning(work("own", range(12), ids=True)))
    put(store, "/b", export("later", range(20)))
    assert stored(store) == {"later": 44}
    assert [(info.recorded_id, info.folded_into) for info in folded(store)] == [("own", "later")]


def test_an_own_log_that_is_read_again_takes_the_place_of_the_export_that_it_was_folded_into(store: Store) -> None:
    put(store, "/a", with_reasoning(work("own", range(12), ids=True)))
    put(store, "/b", export("later", range(20)))
    assert stored(store) == {"later": 44}
    put(store, "/a", with_reasoning(work("own", range(20), ids=True)), generation=2)
    assert stored(store) == {"own": 41}


OTHER = work("other", range(4), "barn")


@pytest.mark.parametrize(
    ("later", "n_set_aside", "is_kept"),
    [
        pytest.param((), 1, True, id="unreadable or empty"),
        pytest.param((work("s", range(5)), OTHER), 0, True, id="cut between two lines"),
        pytest.param((work("s", range(9)),), 0, True, id="a whole session is missing"),
        pytest.param((work("s", range(8)), OTHER), 1, True, id="cut within a line"),
        pytest.param((work("s", range(3, 12)), OTHER), 1, True, id="damaged at its beginning, and grown"),
        pytest.param((work("s", range(11)), OTHER), 1, False, id="grown, and its last line is half-written"),
        pytest.param((work("s", range(3, 12)), OTHER), 0, False, id="edited"),
        pytest.param((work("s", range(5)), work("t", range(2), "dam")), 0, False, id="other content"),
        pytest.param((work("s", range(9)), OTHER), 1, False, id="a damaged place that costs no message"),
    ],
)
def test_a_log_that_reads_worse_than_before_keeps_its_last_good_form_and_says_so(
    later: tuple[Transcript, ...], n_set_aside: int, is_kept: bool, store: Store
) -> None:
    put(store, "/log", work("s", range(9)), OTHER)
    good = stored(store)
    assert good == {"s": 19, "other": 9}
    put(store, "/log", *later, generation=2, n_set_aside=n_set_aside)
    read = {transcript.session_id: len(transcript) for transcript in later}
    assert stored(store) == (good if is_kept else read)
    (record,) = [record for part in read_parts(store) for record in part.inputs]
    assert record.fingerprint.size == 2  # the file as it is now: it is not read again until it changes
    assert bool(record.kept_because) == is_kept
    said = [row["reason"] for row in each_quarantined(store)]
    assert said == ([record.kept_because] if is_kept else [])
    assert all(
        len(load_session(store, info)) == info.n_messages for part in read_parts(store) for info in part.sessions
    )

    put(store, "/log", work("s", range(12)), OTHER, generation=3)  # mended, and grown
    assert stored(store) == {"s": 25, "other": 9}
    assert [record.kept_because for part in read_parts(store) for record in part.inputs] == [""]


def test_of_the_same_file_newer_readers_may_make_less(store: Store) -> None:
    put(store, "/log", work("s", range(9)))
    assert stored(store) == {"s": 19}
    put(store, "/log", work("s", range(5)), generation=2, size=1, reader="newer", n_set_aside=1)
    assert stored(store) == {"s": 11}


def given(store: Store) -> dict[str, int]:
    deduplicate(store)
    return {info.session_id: info.n_given for part in read_parts(store) for info in part.sessions}


def ended(transcript: Transcript, at: str) -> Transcript:
    return replace(transcript, ended_at=at)


@pytest.mark.parametrize("order", [("trunk", "fork", "later"), ("later", "fork", "trunk")])
def test_of_a_fork_that_shares_less_than_half_the_beginning_is_the_one_s_that_ended_first(
    store: Store, order: tuple[str, ...]
) -> None:
    """20 messages of the trunk, and 40 of its own; a later fork of the fork shares 24."""
    trunk = work("trunk", range(26))
    fork = replace(
        trunk, session_id="fork", messages=(*trunk.messages[:20], *work("x", range(20), "loom").messages[1:])
    )
    later = replace(
        fork, session_id="later", messages=(*fork.messages[:24], *work("y", range(20), "kiln").messages[1:])
    )
    made = {
        "trunk": ended(trunk, "2026-03-01T10:00:00Z"),
        "fork": ended(fork, "2026-03-01T11:00:00Z"),
        "later": ended(later, "2026-03-01T12:00:00Z"),
    }
    for name in order:
        put(store, f"/{name}", made[name])
    assert given(store) == {"trunk": 0, "fork": 20, "later": 24}
    put(store, "/trunk", ended(work("trunk", range(9), "dam"), "2026-03-01T10:00:00Z"), generation=2)
    assert given(store) == {"trunk": 0, "fork": 0, "later": 24}


def test_a_fork_in_the_file_of_its_origin_is_known_by_the_time_of_its_first_message(store: Store) -> None:
    """Runs of a dataset may begin alike by themselves: another time, or none, tells nothing."""
    trunk = at("2026-03-01T09:00:00Z", work("trunk", range(20)))
    own = work("x", range(20), "loom").messages[1:]
    fork, run, untimed = (
        replace(made, session_id=name, messages=(*made.messages[:12], *own), ended_at="2026-03-01T11:00:00Z")
        for name, made in (
            ("fork", trunk),
            ("run", at("2026-03-01T10:00:00Z", trunk)),
            ("untimed", work("untimed", range(20))),
        )
    )
    put(store, "/one.db", ended(trunk, "2026-03-01T10:00:00Z"), fork, run, untimed)
    assert given(store) == {"trunk": 0, "fork": 12, "run": 0, "untimed": 0}
    givers = {info.session_id: info.given_by for part in read_parts(store) for info in part.sessions}
    assert givers == {"trunk": None, "fork": "trunk", "run": None, "untimed": None}


def at(time: str, transcript: Transcript) -> Transcript:
    return replace(transcript, messages=tuple(replace(m, timestamp=time) for m in transcript.messages))


def test_sessions_that_share_a_request_and_little_more_are_given_nothing(store: Store) -> None:
    put(store, "/a", work("one", range(20)))
    two = work("two", range(20))
    put(store, "/b", replace(two, messages=(*two.messages[:5], *work("x", range(30, 60), "loom").messages)))
    assert given(store) == {"one": 0, "two": 0}

"""Sessions of Google's Agent Development Kit."""

from __future__ import annotations

import pytest

from tests.flows.sources.logs import adk as made
from tests.flows.sources.logs.adk import compaction, event
from tests.flows.sources.properties import check

SAID = [
    ("user", "Mend the mill.\n[image image/png, 4 bytes]"),
    ("assistant", "I look."),
    ("tool", '{"files":["a.c"]}'),
    ("tool", "no such path"),
    ("assistant", "Mended."),
    ("user", "Oil it."),
    ("assistant", "Oiled."),
    ("user", "Thanks."),
    ("assistant", "Bye."),
]


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def read_events(read, *events):
    result = read("session.json", made.DOCUMENT | {"events": list(events)})
    assert (result.format, result.set_aside) == ("adk", ())
    [transcript] = result.transcripts
    return transcript


@pytest.mark.parametrize("names", [lambda value: value, made.snake], ids=["camel", "snake"])
def test_a_session_is_its_events_under_the_names_of_either_interface(read, names) -> None:
    result = read("session.json", names(made.DOCUMENT))
    assert (result.format, result.set_aside) == ("adk", ())
    [transcript] = result.transcripts
    assert (transcript.session_id, transcript.model) == ("adk-s-1", "mill-1")
    assert (transcript.started_at, transcript.ended_at) == (
        "2026-03-01T10:00:00.250000Z",
        "2026-03-01T10:00:08.250000Z",
    )
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens) == (40, 20)
    assert said(transcript) == SAID
    look, found, missed = transcript.messages[1:4]
    assert (look.reasoning, len(look.tool_calls), found.tool_call_id) == ("hm", 2, "adk-c1")
    assert (found.is_error, missed.is_error) == (False, True)


def test_a_compaction_takes_the_events_of_its_span(read) -> None:
    [one] = read_events(read, *made.EVENTS).compactions
    assert (one.at_seq, one.dropped, one.summary_at, one.summary) == (7, (0, 1, 2, 3, 4), 0, "The mill was mended.")


def test_summaries_of_other_spans_stay_and_those_within_a_span_go(read) -> None:
    events = [event(at, f"message {at}", author="user", turn=f"e-{at}") for at in range(4)]
    begun = [events[0], compaction(0.5, 0, 0, "First."), *events[1:3]]
    apart = [*begun, compaction(2.5, 2, 2, "Second."), events[3]]
    first, second = read_events(read, *apart).compactions
    assert (first.summary, first.dropped, first.summary_at) == ("First.", (0,), 0)
    assert (second.summary, second.dropped, second.summary_at) == ("First.\nSecond.", (2,), 1)
    wide = [*begun, compaction(2.5, 0, 2, "All."), events[3]]
    second = read_events(read, *wide).compactions[1]
    assert (second.summary, second.dropped, second.summary_at) == ("All.", (1, 2), 0)


def test_a_rewind_takes_back_what_came_from_an_invocation_on_with_its_compactions(read) -> None:
    back = event(9, author="user", turn="e-4", rewindBeforeInvocationId="e-2")
    again = event(10, "Grease it.", author="user", turn="e-5")
    transcript = read_events(read, *made.EVENTS, back, again)
    assert said(transcript) == [*SAID[:5], ("user", "Grease it.")]
    assert transcript.compactions == ()
    assert transcript.set_aside["rewound branch"] == 4


def test_pieces_of_a_streamed_answer_and_events_without_content_are_no_messages(read) -> None:
    piece = event(1, "I lo") | {"partial": True}
    state = event(2, author="user", stateDelta={"a": 1})
    transcript = read_events(read, made.EVENTS[0], piece, event(1, "I look."), state)
    assert said(transcript) == [SAID[0], ("assistant", "I look.")]
    assert transcript.set_aside == {"bookkeeping": 2}


def test_sessions_of_several_users_under_one_id_are_sessions_of_their_own(tmp_path) -> None:
    made.DATABASE(tmp_path / "sessions.db")
    read = check(tmp_path / "sessions.db")
    assert (read.format, read.set_aside) == ("adk", ())
    assert [(one.session_id, len(one)) for one in read.transcripts] == [("adk-s-1", 9), ("adk-s-1-2", 5)]
    assert said(read.transcripts[0]) == SAID
    assert len(read.transcripts[0].compactions) == 1


def test_a_database_of_older_versions_is_read_without_its_pickled_actions(tmp_path) -> None:
    made.write_old_database(tmp_path / "old.db")
    read = check(tmp_path / "old.db")
    [transcript] = read.transcripts
    assert (read.format, read.set_aside, said(transcript)) == ("adk", (), SAID[:5])
    assert transcript.started_at == "2026-03-01T10:00:00.250000Z"
    assert transcript.usage.input_tokens == 20


def test_events_on_lines_of_their_own_are_one_session(read) -> None:
    [transcript] = read("events.jsonl", lines=made.EVENTS).transcripts
    assert said(transcript) == SAID

"""Sessions of goose: the database of every version, JSON lines, exports, and its compactions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.sources import Input, read_input
from tests.flows.sources.logs import goose as made
from tests.flows.sources.logs.goose import call, result, say
from tests.flows.sources.properties import check


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    return folder / "sessions.db"


def read_one(path: Path, *messages: dict[str, Any], **columns: Any):
    """The one session of these messages."""
    connection = made.open_database(path)
    made.add(connection, "20251009_1", list(messages), **columns)
    connection.close()
    read = check(path)
    assert (read.format, read.set_aside) == ("goose", ())
    (transcript,) = read.transcripts
    return transcript


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def test_a_session_and_that_of_its_sub_agent_are_read(path: Path) -> None:
    made.DATABASE(path)
    root, helper = check(path).transcripts
    assert (root.session_id, root.parent_session_id) == ("goose-20251009_1", None)
    assert (helper.session_id, helper.parent_session_id) == ("goose-20251009_2", "goose-20251009_1")
    assert (root.title, root.cwd, root.model) == ("The mill", "/home/ada/mill", "claude-test-1")
    assert (root.started_at, root.ended_at) == ("2025-10-09T08:00:00Z", "2025-10-09T09:00:00Z")
    usage = root.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost_usd) == (100, 20, 60, 0.5)
    assert said(helper) == [
        ("user", "Mend the mill."),
        ("assistant", "I look."),
        ("tool", "mill"),
        ("assistant", "It turns."),
    ]
    answer, outcome = helper.messages[1:3]
    assert (answer.reasoning, answer.tool_calls[0].name, outcome.tool_call_id) == ("hm", "developer__shell", "a")
    assert helper.messages[0].timestamp == "2025-10-09T08:53:21Z"
    assert helper.set_aside == {"shown to the person only": 1}


def test_a_compaction_takes_everything_but_the_prompt_that_it_repeats(path: Path) -> None:
    transcript = read_one(path, *made.COMPACTED)
    assert [text for _, text in said(transcript)] == [
        "Mend the mill.",
        "I look.",
        "mill",
        "It turns.",
        "Oil it.",
        "Oiled.",
    ]
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.summary_at) == (5, (0, 1, 2, 3), 0)
    assert (event.summary, event.trigger) == ("The mill was mended.", "auto")
    assert transcript.set_aside == {
        "duplicate": 1,
        "recorded compaction summary": 2,
        "shown to the person only": 1,
    }


def test_a_second_compaction_is_one_too_and_a_manual_one_repeats_no_prompt(path: Path) -> None:
    note = made.NOTE.replace("compacted.", "compacted at the user's request.")
    gone = (False, False)
    again = [message | {"metadata": {"userVisible": False, "agentVisible": False}} for message in made.COMPACTED]
    second = [say("user", "Oiled, too.", shows=(False, True)), say("assistant", note, shows=(False, True))]
    transcript = read_one(path, *again, say("user", "Thanks.", shows=gone), *second, say("user", "Go on."))
    first, last = transcript.compactions
    assert (first.dropped, last.dropped, last.at_seq, last.trigger) == ((0, 1, 2, 3), (4, 5, 6), 7, "manual")
    assert last.summary == "Oiled, too."


def test_older_versions_put_summary_and_note_into_one_message(path: Path) -> None:
    note = say("assistant", "It was mended.", made.NOTE, shows=(False, True))
    transcript = read_one(path, *made.HIDDEN, note, say("user", "Go on."))
    (event,) = transcript.compactions
    assert (event.summary, event.dropped) == ("It was mended.", (0, 1, 2, 3))


def test_a_summary_of_one_call_takes_the_call_and_its_result(path: Path) -> None:
    hidden = (True, False)
    transcript = read_one(
        path,
        say("user", "Mend."),
        say("assistant", "I look."),
        say("assistant", call("a", command="ls"), shows=hidden, at=2),
        say("user", result("a", "mill"), shows=hidden, at=3),
        say("assistant", call("b", command="cat"), at=4),
        say("user", result("b", "wheel"), at=5),
        say("user", "The folder was listed.", shows=(False, True), at=3),
        say("user", "Mind the oil.", shows=(False, True), at=6),
    )
    (event,) = transcript.compactions
    assert (event.summary, event.dropped, event.at_seq, event.summary_at) == ("The folder was listed.", (2, 3), 6, 4)
    assert [message.author for message in transcript.messages if message.role == "user"] == [None, "harness"]


def test_what_is_hidden_from_the_model_without_a_compaction_is_for_the_person(path: Path) -> None:
    notice = {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "Compaction complete"}
    transcript = read_one(
        path,
        say("user", "Mend."),
        say("assistant", "Only for you.", shows=(True, False)),
        say("assistant", notice),
        say(
            "assistant",
            "Yes.",
            {"type": "toolConfirmationRequest", "id": "a"},
            {"type": "redactedThinking", "data": "x"},
        ),
        say("user"),
    )
    assert said(transcript) == [("user", "Mend."), ("assistant", "Yes.")]
    assert transcript.set_aside == {"bookkeeping": 2, "empty message": 1, "shown to the person only": 2}


def test_pieces_of_a_streamed_response_are_one(path: Path) -> None:
    pieces = [say("assistant", text, id="m") for text in ("The ", "mill ", "turns the ", "mill ")]
    transcript = read_one(path, say("user", "And?"), *pieces, say("assistant", call("a"), id="n"), pieces[0])
    assert said(transcript) == [("user", "And?"), ("assistant", "The mill turns the mill ")]
    assert len(transcript.messages[1].tool_calls) == 1
    assert transcript.set_aside == {"duplicate": 1}


def test_errors_images_and_resources_are_said(path: Path) -> None:
    image = {"type": "image", "data": "cG5n", "mimeType": "image/png"}
    resource = {"type": "resource", "resource": {"uri": "file:///a.md", "text": "Oil it."}}
    wrong = {"type": "toolRequest", "id": "b", "toolCall": {"status": "error", "error": "no JSON"}}
    transcript = read_one(
        path,
        say("user", "Look.", image),
        say("assistant", call("a"), wrong),
        say("user", result("a", resource, image, isError=True)),
        say("user", {"type": "toolResponse", "id": "b", "toolResult": {"status": "error", "error": "bad call"}}),
    )
    assert said(transcript) == [
        ("user", "Look.\n[image image/png, 3 bytes]"),
        ("assistant", ""),
        ("tool", "Oil it.\n[image image/png, 3 bytes]"),
        ("tool", "bad call"),
    ]
    assert [message.is_error for message in transcript.messages] == [False, False, True, True]
    assert transcript.messages[1].tool_calls[1].arguments == '{"error":"no JSON"}'


def test_a_database_of_the_first_version_is_read(path: Path) -> None:
    connection = made.open_old_database(path)
    made.add(connection, "20250901_1", made.MESSAGES, description="Old")
    connection.close()
    (transcript,) = check(path).transcripts
    assert (len(transcript), transcript.title) == (4, "Old")


def test_a_row_that_cannot_be_read_is_set_aside(path: Path) -> None:
    connection = made.open_database(path)
    made.add(connection, "s", made.MESSAGES)
    connection.execute("update messages set content_json = '[{' where id = 5")
    connection.execute("update messages set content_json = 7 where id = 4")
    connection.execute("update messages set role = 'system' where id = 1")
    connection.close()
    read = check(path)
    assert [len(transcript) for transcript in read.transcripts] == [1]
    assert len(read.set_aside) == 3


def test_of_several_the_newest_that_goose_did_not_start_itself_is_meant(path: Path) -> None:
    connection = made.open_database(path)
    for own, kind, time in (("a", "user", "08"), ("b", "user", "09"), ("c", "sub_agent", "10")):
        made.add(connection, own, made.MESSAGES, session_type=kind, updated_at=f"2025-10-09T{time}:00:00+00:00")
    connection.close()
    (found,) = read_input(Input(path, "file", 0, 0, only="")).transcripts
    assert found.session_id == "goose-b"
    (found,) = read_input(Input(path, "file", 0, 0, only="goose-c")).transcripts
    assert found.session_id == "goose-c"


def test_json_lines_are_named_by_their_file(read, line_samples) -> None:
    transcript = read("20250613_101112.jsonl", lines=line_samples["goose"]).transcripts[0]
    assert (transcript.session_id, transcript.title, transcript.cwd) == (
        "goose-20250613_101112",
        "token-0",
        "/home/ada",
    )
    assert [message.role for message in transcript.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert transcript.messages[-1].is_error


def test_exports_and_printed_events_are_read(read) -> None:
    export = {"id": "20251009_1", "working_dir": "/home/ada", "name": "Mill", "conversation": made.COMPACTED}
    export |= {"accumulated_input_tokens": 7, "model_config": {"model_name": "m"}}
    exported = read("session.json", export)
    assert exported.format == "goose"
    (transcript,) = exported.transcripts
    assert (transcript.session_id, len(transcript), len(transcript.compactions)) == ("goose-20251009_1", 6, 1)
    assert (transcript.model, transcript.usage.input_tokens) == ("m", 7)
    events = [{"type": "message", "message": message} for message in made.MESSAGES]
    printed = read("run.jsonl", lines=[*events, {"type": "complete", "total_tokens": 9}])
    assert (printed.format, len(printed.transcripts[0])) == ("goose", 4)
    whole = read("run.json", {"messages": made.MESSAGES, "metadata": {"total_tokens": 9, "status": "completed"}})
    assert (whole.format, len(whole.transcripts[0])) == ("goose", 4)


def test_a_plain_chat_with_times_in_whole_seconds_is_nobodys_in_particular(read):
    lines = [
        {"role": role, "created": 1, "content": [{"type": "text", "text": "Hi"}]} for role in ("user", "assistant")
    ]
    assert read("log.jsonl", lines=lines).format == "openai_chat"

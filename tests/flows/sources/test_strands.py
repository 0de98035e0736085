"""Sessions of Strands Agents."""

from __future__ import annotations

from pathlib import Path

from flows.sources import discover
from tests.flows.sources.logs import strands as made
from tests.flows.sources.logs.strands import stored, write_session
from tests.flows.sources.properties import check


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def read_one(folder: Path, messages, **state):
    read = check(write_session(folder, messages, **state), "folder")
    assert (read.format, read.set_aside) == ("strands", ())
    [transcript] = read.transcripts
    return transcript


def test_the_messages_of_an_agent_are_a_session(tmp_path) -> None:
    transcript = read_one(tmp_path, made.MESSAGES)
    assert transcript.session_id == "strands-mill-1-miller"
    assert (transcript.title, transcript.started_at) == ("Mend the mill.", "2026-03-01T10:00:00.5+00:00")
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens) == (30, 15)
    assert said(transcript) == [
        ("user", "Mend the mill.\n[image image/png, 4 bytes]"),
        ("assistant", "I look."),
        ("tool", 'a.c\n{"n":1}'),
        ("tool", "Error: no such path"),
        ("assistant", "Mended."),
        ("user", "Oil it."),
        ("assistant", "Oiled."),
    ]
    look, found, missed = transcript.messages[1:4]
    assert (look.reasoning, [one.arguments for one in look.tool_calls]) == ("hm", ['{"path":"."}', '{"path":"x"}'])
    assert (found.tool_name, found.is_error, missed.tool_call_id, missed.is_error) == ("ls", False, "c2", True)


def test_what_the_manager_took_out_last_is_a_compaction_where_it_was_noted(tmp_path) -> None:
    summed = {"removed_message_count": 3, "summary_message": made.SUMMARY}
    [event] = read_one(tmp_path / "a", made.MESSAGES, **summed).compactions
    assert (event.at_seq, event.summary, event.dropped) == (6, "The mill was mended.", (0, 1, 2, 3))
    [event] = read_one(tmp_path / "b", made.MESSAGES, removed_message_count=2).compactions
    assert (event.summary, event.dropped) == (None, (0, 1))
    for removed in (0, 7, None):
        assert read_one(tmp_path / f"c{removed}", made.MESSAGES, removed_message_count=removed).compactions == ()


def test_messages_are_read_in_the_order_of_their_numbers_and_a_redacted_one_as_it_was_left(tmp_path) -> None:
    redacted = {"role": "user", "content": [{"text": "[User input redacted.]"}]}
    messages = [stored(number, "user", f"message {number}") for number in range(12)]
    messages[2] = stored(2, "user", "secret", redact_message=redacted)
    texts = [message.text for message in read_one(tmp_path, messages).messages]
    assert texts[1:4] == ["message 1", "[User input redacted.]", "message 3"]
    assert texts[-1] == "message 11"


def test_of_the_folders_of_a_session_each_agents_is_an_input_and_nothing_beside_them(tmp_path) -> None:
    folders = [write_session(tmp_path / agent, made.MESSAGES, agent) for agent in ("a", "b")]
    assert [one.path for one in discover([str(tmp_path)])] == folders

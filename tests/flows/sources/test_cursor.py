"""Chats of Cursor: the database of every version, its summaries, and the transcripts of its agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.sources import Input, read_input
from tests.flows.sources.logs import cursor as made
from tests.flows.sources.logs.cursor import bubble, tool
from tests.flows.sources.properties import check


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "globalStorage"
    folder.mkdir()
    return folder / "state.vscdb"


def read_one(path: Path, bubbles: dict[str, Any], order: list[str] | None = None, **chat: Any):
    """The one chat of these bubbles."""
    connection = made.open_database(path)
    made.add(connection, "c1", bubbles, order, **chat)
    connection.close()
    read = check(path)
    assert (read.format, read.set_aside) == ("cursor", ())
    (transcript,) = read.transcripts
    return transcript


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def test_a_chat_and_that_of_its_sub_agent_are_read_in_the_order_of_the_chat(path: Path) -> None:
    made.DATABASE(path)
    read = check(path)
    assert read.set_aside == ()
    chat, helper = read.transcripts
    assert (chat.session_id, chat.parent_session_id) == ("cursor-c1", None)
    assert (helper.session_id, helper.parent_session_id) == ("cursor-c2", "cursor-c1")
    assert said(helper) == [
        ("user", "Mend the mill."),
        ("assistant", "I look."),
        ("tool", '{"output": "mill"}'),
        ("assistant", "It turns."),
    ]
    answer = chat.messages[1]
    assert (answer.reasoning, answer.tool_calls[0].id, answer.tool_calls[0].name) == (
        "hm",
        "toolu_1\nfc_1",
        "run_terminal_cmd",
    )
    assert (chat.title, chat.cwd, chat.model) == ("The mill", "c:\\Users\\ada\\mill", "gpt-test-1")
    assert (chat.started_at, chat.messages[0].timestamp) == ("2026-05-02T08:20:00Z", "2026-05-02T08:32:32.293Z")
    assert (chat.usage.input_tokens, chat.usage.output_tokens, chat.usage.cost_usd) == (100, 20, 0.5)
    assert made.SECRET not in repr(read)


def test_a_summary_takes_what_stands_up_to_the_bubble_that_it_names(path: Path) -> None:
    made.DATABASE(path)
    (event,) = check(path).transcripts[0].compactions
    assert (event.summary, event.dropped, event.at_seq, event.summary_at) == ("The mill was mended.", (0, 1, 2), 4, 0)


def test_the_latest_summary_of_the_chat_stands_where_it_came_and_is_one_with_that_of_a_bubble(path: Path) -> None:
    latest = {"summary": made.SUMMARY, "lastBubbleId": "b1"}
    place = {"b7": bubble(2, capabilityType=22), "b8": bubble(1, "Oil it.")}
    for number, bubbles in enumerate((made.BUBBLES, {**made.BUBBLES, **place})):
        chat = read_one(path.with_name(f"{number}.vscdb"), bubbles, latestConversationSummary=latest)
        (event,) = chat.compactions
        assert (event.summary, event.dropped, event.at_seq) == ("The mill was mended.", (0, 1, 2), 4)


def test_a_summary_that_the_log_has_not_is_opaque(path: Path) -> None:
    chat = read_one(path, {**made.BUBBLES, "b7": bubble(2, capabilityType=22)})
    (event,) = chat.compactions
    assert (event.summary, event.dropped, event.has_opaque_summary) == (None, None, True)


def test_bubbles_that_the_chat_no_longer_has_were_taken_back(path: Path) -> None:
    chat = read_one(path, {**made.BUBBLES, "b9": bubble(1, "No, stop."), "b10": tool("x")}, list(made.BUBBLES))
    assert len(chat) == 4
    assert chat.set_aside == {"rewound branch": 3}


def test_older_versions_have_the_bubbles_in_the_chat(path: Path) -> None:
    chat = read_one(path, {}, conversation=[{**one, "bubbleId": own} for own, one in made.BUBBLES.items()])
    assert len(chat) == 4


def test_a_prompt_may_stand_in_the_form_of_the_editor(path: Path) -> None:
    def paragraph(*texts: str) -> dict[str, Any]:
        return {"type": "paragraph", "children": [{"type": "text", "text": text} for text in texts]}

    rich = json.dumps({"root": {"type": "root", "children": [paragraph("Mend ", "@mill"), paragraph("Soon.")]}})
    chat = read_one(path, {"a": bubble(1, richText=rich), "b": bubble(1, richText="{"), "c": bubble(2, "Yes.")})
    assert said(chat) == [("user", "Mend @mill\nSoon."), ("assistant", "Yes.")]
    assert chat.set_aside == {"empty message": 1}


def test_errors_and_calls_without_a_result_are_told_apart(path: Path) -> None:
    error = json.dumps({"clientVisibleErrorMessage": "Failed", "modelVisibleErrorMessage": "no such file"})
    chat = read_one(
        path,
        {
            "a": bubble(1, "Go.", images=[{"path": "a.png"}]),
            "b": tool("a", status="error", error=error),
            "c": tool("b", result="plain"),
            "d": tool("c", status="cancelled", rawArgs="", params='{"path": "b"}'),
            "e": bubble(2),
            "f": bubble(1),
        },
    )
    assert said(chat) == [
        ("user", "Go.\n[image]"),
        ("assistant", ""),
        ("tool", "no such file"),
        ("assistant", ""),
        ("tool", "plain"),
        ("assistant", ""),
    ]
    assert [message.is_error for message in chat.messages if message.role == "tool"] == [True, False]
    assert chat.messages[-1].tool_calls[0].arguments == '{"path": "b"}'
    assert chat.set_aside == {"bookkeeping": 1, "empty message": 1}


def test_rows_that_cannot_be_read_are_set_aside(path: Path) -> None:
    made.DATABASE(path)
    connection = made.sqlite3.connect(path, isolation_level=None)
    connection.execute("update cursorDiskKV set value = '{' where key = 'bubbleId:c1:b3'")
    connection.execute("update cursorDiskKV set value = '[1]' where key = 'composerData:c2'")
    connection.execute("update cursorDiskKV set value = null where key = 'bubbleId:c1:b4'")
    connection.close()
    read = check(path)
    assert [transcript.session_id for transcript in read.transcripts] == ["cursor-c1"]
    assert len(read.set_aside) == 3


def test_the_newest_chat_that_is_no_sub_agents_is_meant(path: Path) -> None:
    made.DATABASE(path)
    (found,) = read_input(Input(path, "file", 0, 0, only="")).transcripts
    assert found.session_id == "cursor-c1"


def test_a_transcript_of_an_agent_is_named_by_its_file(write, read, line_samples) -> None:
    own = "e13fc9ba-0fe8-455e-b069-a0eb0b374502"
    transcript = read(f"{own}.jsonl", lines=line_samples["cursor"]).transcripts[0]
    assert transcript.session_id == f"cursor-{own}"
    assert [message.role for message in transcript.messages] == ["user", "assistant", "assistant", "tool", "assistant"]
    assert transcript.messages[3].is_error
    assert transcript.title == "token-0"


def test_a_transcript_in_the_folder_of_sub_agents_names_its_parent(tmp_path: Path, line_samples) -> None:
    folder = tmp_path / "p-1" / "subagents"
    folder.mkdir(parents=True)
    path = folder / "s.jsonl"
    path.write_text("\n".join(map(json.dumps, line_samples["cursor"])), encoding="utf-8")
    assert check(path).transcripts[0].parent_session_id == "cursor-p-1"

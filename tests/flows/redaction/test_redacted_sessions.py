"""Credentials in whole sessions: what is masked in one place is masked in all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compaction import Message, RecordedCompaction, ToolCall, Transcript
from flows.redaction import Redactor
from flows.redaction.marks import MARK
from flows.sources import InputReading, discover
from tests.flows.redaction.made_up import REDACTOR, drawn, masked


def test_a_value_that_reads_like_a_name_is_masked_only_where_it_is_assigned() -> None:
    """A session uses such words for other things, and code that holds them must stay."""
    texts = ("DB_PASSWORD=Uint" + "8Array", "function sign(key: Uint8Array): Uint8Array")
    new, tally = REDACTOR.redact_transcript(
        Transcript("s", tuple(Message("user", text, seq=at) for at, text in enumerate(texts)))
    )
    assert tally == {"credential": 1}
    assert new.messages[1].text == texts[1]


def session() -> Transcript:
    """A key is read from a file, echoed alone, put into arguments, a summary and the title."""
    secret, mail = drawn(24), "someone@example.org"
    session.secret = secret  # type: ignore[attr-defined]
    call = ToolCall("call_1", "bash", json.dumps({"command": f"echo {secret} é\n", "n": 1}))
    quiet = ToolCall("call_2", "bash", '{"command":  "ls"}')
    messages = (
        Message("user", f"use {secret[:12]} {mail}", seq=0, tokens=5),
        Message("assistant", "reading", reasoning=f"so {secret} it is", tool_calls=(quiet, call), seq=1),
        Message("tool", f"SERVICE_API_KEY={secret}\nPORT=80", tool_call_id="call_2", tool_name=secret, seq=2, tokens=9),
        Message("tool", f"{secret}{secret} x{secret}", tool_call_id="call_1", seq=3),
    )
    recorded = RecordedCompaction(3, summary=f"The key is {secret}.", cleared_text=f"[{secret}]")
    plain = RecordedCompaction(2, summary="nothing here")
    return Transcript(
        "s",
        messages,
        title=f"Use {secret[:9]}",
        exit_status=f"refused {secret}",
        cwd=f"/{secret}",
        compactions=(plain, recorded),
    )


def test_a_secret_found_once_is_masked_everywhere_in_its_session() -> None:
    old = session()
    secret: str = session.secret  # type: ignore[attr-defined]
    new, tally = REDACTOR.redact_transcript(old)
    mark = REDACTOR.redact(f"API_KEY={secret}").removeprefix("API_KEY=")
    assert new.messages[2].text == f"SERVICE_API_KEY={mark}\nPORT=80"
    assert new.messages[3].text == f"{mark}{mark} x{mark}"
    assert new.messages[1].reasoning == f"so {mark} it is"
    assert json.loads(new.messages[1].tool_calls[1].arguments) == {"command": f"echo {mark} é\n", "n": 1}
    assert new.compactions[1].summary == f"The key is {mark}."
    assert new.compactions[1].cleared_text == f"[{mark}]"
    assert (new.title, new.exit_status) == (f"Use {mark}", f"refused {mark}")
    assert tally == {"credential": 9}
    assert new.messages[2].tokens is None


def test_what_holds_no_secret_is_the_same_object() -> None:
    old = session()
    new, _ = REDACTOR.redact_transcript(old)
    assert new.messages[0] is old.messages[0]
    assert new.messages[1].tool_calls[0] is old.messages[1].tool_calls[0]
    assert new.compactions[0] is old.compactions[0]
    assert (new.cwd, new.messages[2].tool_name, new.messages[2].tool_call_id) == (
        old.cwd,
        old.messages[2].tool_name,
        "call_2",
    )
    again, tally = REDACTOR.redact_transcript(new)
    assert again is new
    assert tally == {}
    clean = replace(old, messages=old.messages[:1], compactions=(), title="x")
    assert REDACTOR.redact_transcript(clean)[0] is clean


def test_a_short_or_wordy_password_is_masked_only_where_it_is_assigned() -> None:
    word = "sword" + "fish"
    texts = (f"postgres://app:{word}@db/app", f"{word} is a fish", "PASSWORD=ab1!" + "cd\nab1!" + "cd again")
    old = Transcript("s", tuple(Message("user", text, seq=at) for at, text in enumerate(texts)))
    new, _ = REDACTOR.redact_transcript(old)
    assert new.messages[0].text.startswith("postgres://app:[SECRET:credential:")
    assert new.messages[1] is old.messages[1]
    assert new.messages[2].text.endswith("\nab1!" + "cd again")


@pytest.mark.parametrize("value", ["q7-Zx1" + "-Lk2", "aB3" * 3, "}),o.jsx(7" + "},{"])
def test_a_value_of_little_entropy_is_masked_only_where_it_is_assigned(value: str) -> None:
    texts = (f"DB_PASSWORD={value}", f"then {value} stands for itself")
    old = Transcript("s", tuple(Message("user", text, seq=at) for at, text in enumerate(texts)))
    assert REDACTOR.redact_transcript(old)[0].messages[1] is old.messages[1]


def test_secrets_of_one_session_do_not_leak_into_the_next() -> None:
    redactor = Redactor(key="")
    redactor.redact_transcript(session())
    secret: str = session.secret  # type: ignore[attr-defined]
    other = Transcript("t", (Message("user", f"plain {secret}", seq=0),))
    assert redactor.redact_transcript(other)[0] is other


def test_a_secret_that_a_stream_cut_into_chunks_is_masked_after_they_are_joined(tmp_path: Path) -> None:
    spoken, thought, given = ("ghp_" + drawn(36) for _ in range(3))

    def block(at: int, start: Mapping[str, object], name: str, key: str, said: str) -> list[dict[str, Any]]:
        pieces = [said[i : i + 7] for i in range(0, len(said), 7)]
        deltas: list[dict[str, Any]] = [{"type": name, key: piece} for piece in pieces]
        return [
            {"type": "content_block_start", "index": at, "content_block": start},
            *({"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas),
        ]

    call: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}},
        *block(0, {"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", f"so {thought} it is"),
        *block(1, {"type": "text", "text": ""}, "text_delta", "text", f"use {spoken} then"),
        *block(2, call, "input_json_delta", "partial_json", json.dumps({"command": f"echo {given}"})),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    said = [
        {"role": "user", "content": [{"type": "text", "text": "Go"}]},
        {"role": "assistant", "content": [{**call, "id": "t0"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t0", "content": "ok"}]},
    ]
    asked = {"model": "claude-test-1", "messages": said}
    record = {"request": {"url": "https://api.test/v1/messages", "body": asked}, "response": {"body_raw": body}}
    (tmp_path / "log.jsonl").write_text(json.dumps(record) + "\n")
    [read] = [transcript for input in discover([str(tmp_path)]) for transcript in InputReading(input)]
    assert spoken in read.messages[-1].text
    new, tally = REDACTOR.redact_transcript(read)
    assert tally == {"github_token": 3}
    answer = new.messages[-1]
    assert answer.text == f"use {masked(spoken)} then"
    assert answer.reasoning == f"so {masked(thought)} it is"
    assert json.loads(answer.tool_calls[0].arguments) == {"command": f"echo {masked(given)}"}


def test_what_the_name_of_a_tool_gives_away_is_masked_in_it() -> None:
    secret = "ghp_" + drawn(36)
    call = ToolCall("c", f"run.{secret}", "{}")
    messages = (Message("assistant", "", tool_calls=(call,), seq=0), Message("tool", "x", tool_name=secret, seq=1))
    new, tally = REDACTOR.redact_transcript(Transcript("s", messages))
    assert secret not in new.messages[0].tool_calls[0].name
    assert MARK.fullmatch(new.messages[1].tool_name or "")
    assert tally == {"github_token": 2}


@pytest.mark.parametrize(
    ("command", "is_masked"),
    [
        ("kubectl get secret db -o jsonpath='{.data.password}' | base64 -d", True),
        ("pass show work/db", True),
        ("echo $DB_PASSWORD", True),
        ("git rev-parse --short HEAD", False),
        ("cat docs/secret-santa.md", False),
    ],
)
def test_what_a_command_printed_that_was_asked_for_a_secret_is_masked(command: str, is_masked: bool) -> None:
    """The output names nothing; the command does."""
    call = ToolCall("call_1", "bash", json.dumps({"command": command}))
    messages = (
        Message("assistant", tool_calls=(call,), seq=0),
        Message("tool", "Maple-Tor!91x\n", tool_call_id="call_1", seq=1),
        Message("assistant", "It is Maple-Tor!91x.", seq=2),
    )
    new, _ = REDACTOR.redact_transcript(Transcript("s", messages))
    assert [("Maple-Tor!91x" in message.text) for message in new.messages[1:]] == [not is_masked] * 2

"""What a machine wrote in the person's name reaches the model, and is nobody's request."""

from __future__ import annotations

import pyarrow as pa
import pytest

from compaction import Message
from flows.config.study import Study
from flows.sessions.session_parts import load_session, read_parts
from flows.store.row_codec import message_columns, messages_of
from judge.embedded.facts import SessionFacts
from tests.flows.sources.folders import ingest
from tests.flows.sources.logs.codex_rollout import codex

RULES = "# AGENTS.md instructions for /w\n\nNever touch main.c."


def authors(transcript):
    return [(m.text, m.author) for m in transcript.messages if m.role == "user"]


def claude_lines(claude):
    return [
        claude.user("u1", None, "Never touch main.c. Make the tests pass.", origin={"kind": "human"}),
        claude.line("assistant", "a1", "u1", {"role": "assistant", "id": "m1", "content": "ok"}),
        claude.user("u2", "a1", "Always run the formatter before you stop.", origin={"kind": "hook"}),
        claude.user("u3", "u2", "You must answer in French.", origin={"kind": "task-notification"}),
        claude.user("u4", "u3", "Stop hook feedback:\nDo not use sudo, and mind CLAUDE.md.", isMeta=True),
        claude.user("u5", "u4", "Contents of /w/CLAUDE.md (project instructions):\n\nUse no tabs.", isMeta=True),
    ]


def test_lines_of_hooks_and_reminders_are_kept_and_have_no_person_as_author(read, claude):
    [transcript] = read("s.jsonl", lines=claude_lines(claude)).transcripts
    assert [author for _, author in authors(transcript)] == [None, "harness", "harness", "harness", "rules"]
    assert transcript.title == "Never touch main.c. Make the tests pass."
    assert [m.seq for m in SessionFacts(transcript).person] == [0]


@pytest.mark.parametrize(
    ("text", "author"),
    [
        (RULES, "rules"),
        ("<user_instructions>\nUse no tabs.\n</user_instructions>", "rules"),
        ("<environment_context>\n<cwd>/w</cwd>\n</environment_context>", "harness"),
        ("<skill>\n<name>x</name>\nAlways use x.\n</skill>", "harness"),
        ("<task>\nMend the mill\n</task>", None),
        ("Read AGENTS.md first", None),
    ],
)
def test_prompts_that_codex_injects_are_of_rules_or_of_the_harness(read, text, author):
    prompt = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    lines = [codex("session_meta", id="c-1"), codex("response_item", **prompt)]
    [transcript] = read("rollout.jsonl", lines=lines).transcripts
    assert authors(transcript) == [(text, author)]


def test_the_author_is_stored(write, store, claude, tmp_path):
    write("logs/s.jsonl", lines=claude_lines(claude))
    ingest(store, Study(sources=(str(tmp_path / "logs"),)))
    [info] = [info for part in read_parts(store) for info in part.sessions]
    assert [author for _, author in authors(load_session(store, info))] == [None, *["harness"] * 3, "rules"]


def test_parts_of_earlier_versions_have_no_authors():
    table = pa.table(message_columns("s", [Message("user", "Go", author="harness", tokens=1)]))
    [message] = messages_of(table.drop_columns(["author"]))
    assert (message.text, message.author) == ("Go", None)

"""Roo's condense where the recordings do not reach: workflows, and what takes the place of a summary that failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compaction import Message, SummaryError, ToolCall, compact, parse_method
from compaction.strategies.roo import write_turns
from compaction.testing import ScriptedSummarizer, failing, history, talk

TALK = talk("s u a1 a1 u a1 a")


def test_commands_of_the_first_message_follow_every_summary() -> None:
    task = replace(TALK[1], text="do <command name='x'>this\nway</command> and <command>that</command>", tokens=None)
    said = (TALK[0], task, *TALK[2:])
    left = compact(history(said, summarizer=ScriptedSummarizer()), parse_method("roo_condense")).messages
    assert [m.role for m in left] == ["system", "user"]
    assert left[1].text == (
        "## Conversation Summary\nSUMMARY 1\n<system-reminder>\n## Active Workflows\n"
        "The following directives must be maintained across all future condensings:\n"
        "<command name='x'>this\nway</command>\n<command>that</command>\n</system-reminder>"
    )


def test_half_of_the_messages_go_where_the_summary_fails() -> None:
    found = compact(history(TALK, summarizer=ScriptedSummarizer(failing)), parse_method("roo_condense"))
    assert [m.text for m in found.messages[:3]] == [
        "system 0",
        "user 1",
        "[Sliding window truncation: 4 messages hidden to reduce context]",
    ]
    assert found.flags == ("summary_failed",)
    assert sorted(found.dropped) == [2, 3, 4, 5]
    with pytest.raises(SummaryError):
        compact(history(TALK, summarizer=ScriptedSummarizer(failing)), parse_method("roo_condense(mode=valid)"))


def test_calls_are_shown_as_javascript_writes_them() -> None:
    arguments = '{"a": true, "b": null, "c": 2.0, "d": {"e": [1]}, "f": "g"}'
    said = (
        Message("assistant", "now", tool_calls=(ToolCall("1", "run", arguments), ToolCall("2", "wait", "{}"))),
        Message("tool", "no", tool_call_id="1", is_error=True),
    )
    assert write_turns(said) == (
        '# assistant\nnow\n[Tool Use: run]\na: true\nb: null\nc: 2\nd: {\n  "e": [\n    1\n  ]\n}\nf: g\n'
        "[Tool Use: wait]\n\n\n# user\n[Tool Result (Error)]\nno\n\n"
        "# user\n[Tool Result]\nContext condensation triggered. Tool execution deferred."
    )

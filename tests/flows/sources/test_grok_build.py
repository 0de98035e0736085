"""Grok Build: the items that the model is sent, and what stands beside them."""

import pytest

from tests.flows.sources.logs.grok_build import SUMMARY, prompt

ABOUT = {
    "info": {"id": "g-1", "cwd": "/home/ada/mill"},
    "session_summary": "Mill",
    "created_at": "2026-03-01T10:00:00Z",
    "last_active_at": "2026-03-01T10:30:00Z",
    "current_model_id": "grok-test-1",
}


def one(result):
    assert (result.format, result.set_aside) == ("grok_build", ())
    (transcript,) = result.transcripts
    return transcript


def test_reasoning_and_calls_at_the_provider_belong_to_the_answer_behind_them(read, line_samples):
    transcript = one(read("chat_history.jsonl", lines=line_samples["grok_build"]))
    assert [m.role for m in transcript.messages] == [
        *("system", "user", "user", "user", "assistant"),
        *("assistant", "tool", "user", "assistant"),
    ]
    answer = transcript.messages[5]
    assert (answer.reasoning, answer.text) == ("hm token-6", "Reading. token-8")
    assert [call.name for call in answer.tool_calls] == ["web_search", "read_file"]
    assert transcript.messages[6].tool_call_id == "call_1"
    assert [m.author for m in transcript.messages if m.role == "user"] == ["harness", "rules", None, None]


def test_the_summary_is_a_compaction_behind_what_it_kept(read, line_samples):
    transcript = one(read("chat_history.jsonl", lines=line_samples["grok_build"]))
    (event,) = transcript.compactions
    assert (event.at_seq, event.summary, event.dropped, event.summary_at) == (5, SUMMARY, (), 5)


def test_the_file_beside_it_names_the_session_and_its_parent(read, write):
    write("summary.json", ABOUT | {"parent_session_id": "g-0"})
    transcript = one(read("chat_history.jsonl", lines=[prompt("Go", prompt_index=0)]))
    assert (transcript.session_id, transcript.parent_session_id) == ("grok_build-g-1", "grok_build-g-0")
    assert (transcript.title, transcript.cwd, transcript.model) == ("Mill", "/home/ada/mill", "grok-test-1")
    assert (transcript.started_at, transcript.ended_at) == ("2026-03-01T10:00:00Z", "2026-03-01T10:30:00Z")


@pytest.mark.parametrize(("kind", "forked_at"), [(None, 1), ("worktree", 1), ("subagent_fork", None)])
def test_a_fork_is_told_from_a_sub_agent_that_was_given_the_same(read, write, kind, forked_at):
    write("summary.json", ABOUT | {"parent_session_id": "g-0", "inherited_prefix_len": 1, "session_kind": kind})
    lines = [prompt("Before", prompt_index=0), prompt("Mine", prompt_index=1)]
    transcript = one(read("chat_history.jsonl", lines=lines))
    assert (transcript.forked_at, transcript.n_inherited) == (forked_at, 1)


@pytest.mark.parametrize("is_compacted", [False, True])
def test_what_a_session_was_given_is_left_out_as_long_as_no_compaction_has_taken_it(read, write, is_compacted):
    write("summary.json", ABOUT | {"parent_session_id": "g-0", "inherited_prefix_len": 2})
    second = prompt(SUMMARY, synthetic_reason="compaction_meta") if is_compacted else prompt("Before", prompt_index=0)
    lines = [{"type": "system", "content": "S"}, second, prompt("Mine", prompt_index=1)]
    transcript = one(read("chat_history.jsonl", lines=lines))
    assert [m.text for m in transcript.messages] == (["S", "Mine"] if is_compacted else ["Mine"])
    assert len(transcript.compactions) == is_compacted


def test_older_files_have_chat_messages(read):
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    lines = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": "", "tool_calls": [call], "model_id": "grok-0", "reasoning_content": "hm"},
        {"role": "tool", "content": "a.c", "tool_call_id": "c1"},
    ]
    transcript = one(read("chat_history.jsonl", lines=lines))
    assert [m.role for m in transcript.messages] == ["system", "user", "assistant", "tool"]
    assert (transcript.messages[2].reasoning, transcript.messages[3].tool_name) == ("hm", "ls")
    assert read("chat.jsonl", lines=lines).format == "openai_chat"

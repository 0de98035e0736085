"""Kimi: the contexts of its command line, and the logs of Kimi Code."""

import json

import pytest

from tests.flows.sources.logs.kimi_cli import CONTEXT, event, say

SUMMARY = {
    "role": "user",
    "content": [
        {
            "type": "text",
            "text": "<system>Previous context has been compacted. Here is the compaction output:</system>",
        },
        {"type": "text", "text": "There is no rule."},
    ],
}


def one(result):
    assert result.format == "kimi_cli"
    (transcript,) = result.transcripts
    return transcript


def texts(transcript):
    return [m.text for m in transcript.messages]


def user(text):
    return {"role": "user", "content": text}


def test_a_log_of_kimi_code_has_steps_results_and_the_prompts_that_a_compaction_kept(read, line_samples):
    transcript = one(read("s/agents/main/wire.jsonl", lines=line_samples["kimi_cli"]))
    assert [m.role for m in transcript.messages] == ["system", "user", "assistant", "tool", "user", "user"]
    assert (transcript.session_id, transcript.cwd) == ("kimi_cli-s", "/home/ada")
    assert (transcript.messages[2].reasoning, transcript.messages[3].tool_name) == ("hm token-4", "Bash")
    assert transcript.messages[3].is_error
    assert transcript.messages[4].author == "harness"
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens) == (13, 5)
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.summary_at, event.trigger) == (5, (2, 3, 4), 2, "manual")


def test_an_older_compaction_keeps_a_tail_of_the_context_that_earlier_summaries_count_in(read):
    def compaction(count):
        return {"type": "context.apply_compaction", "summary": f"Of {count}.", "compactedCount": count}

    lines = [say("user", "One"), say("assistant", "Two"), say("user", "Three"), compaction(2)]
    lines += [say("assistant", "Four"), compaction(2), say("user", "Five")]
    transcript = one(read("wire.jsonl", lines=lines))
    assert texts(transcript) == ["One", "Two", "Three", "Four", "Five"]
    assert [c.dropped for c in transcript.compactions] == [(0, 1), (2,)]


def test_turns_that_were_undone_are_left_out_with_what_still_came_of_them(read):
    lines = [
        say("user", "One"),
        say("assistant", "Two"),
        say("user", "Three"),
        event("step.begin", uuid="s1"),
        event("tool.call", stepUuid="s1", toolCallId="t1", name="Bash", args={}),
        {"type": "context.undo", "count": 1},
        event("tool.result", toolCallId="t1", result={"output": "late"}),
        say("user", "Four"),
    ]
    result = read("wire.jsonl", lines=lines)
    assert texts(one(result)) == ["One", "Two", "Four"]
    assert {kind for kind, reason in result.account.aside if reason == "rewound branch"} == {
        "user",
        "assistant",
        "tool_call",
        "tool",
    }


def test_long_results_that_the_model_is_no_longer_shown_are_cleared(read):
    call = {"type": "function", "id": "t1", "function": {"name": "Bash", "arguments": "{}"}}
    result = say("tool", "long " * 100, toolCallId="t1")
    lines = [say("user", "Go"), say("assistant", "", toolCalls=[call]), result, say("tool", "short", toolCallId="t2")]
    transcript = one(read("wire.jsonl", lines=[*lines, {"type": "micro_compaction.apply", "cutoff": 4}]))
    assert transcript.messages[1].tool_calls[0].name == "Bash"
    assert transcript.compactions[0].cleared == (2,)
    assert transcript.compactions[0].dropped == ()


def test_a_sub_agent_of_kimi_code_names_the_session_that_it_works_for(read, write):
    write("s/state.json", {"agents": {"agent-0": {"parentAgentId": "main"}, "agent-1": {"parentAgentId": "agent-0"}}})
    first = one(read("s/agents/agent-0/wire.jsonl", lines=[say("user", "Go")]))
    second = one(read("s/agents/agent-1/wire.jsonl", lines=[say("user", "Go")]))
    assert (first.session_id, first.parent_session_id) == ("kimi_cli-s-agent-0", "kimi_cli-s")
    assert second.parent_session_id == "kimi_cli-s-agent-0"


def test_a_context_has_its_times_and_tokens_from_the_log_of_the_screen(read, write):
    def line(at, kind, **payload):
        return {"timestamp": 1772359200 + at, "message": {"type": kind, "payload": payload}}

    usage = {"input_other": 10, "input_cache_read": 5, "input_cache_creation": 0, "output": 2}
    screen = [
        {"type": "metadata", "protocol_version": "1.8"},
        line(0, "TurnBegin", user_input="Run it."),
        line(1, "ToolCall", id="t1"),
        line(2, "StatusUpdate", message_id="m1", token_usage=usage),
        line(3, "ToolResult", tool_call_id="t1"),
    ]
    write("s/wire.jsonl", lines=screen)
    transcript = one(read("s/context.jsonl", lines=CONTEXT))
    assert (transcript.session_id, transcript.cwd) == ("kimi_cli-s", "C:\\work")
    assert [m.timestamp and m.timestamp[-3:-1] for m in transcript.messages] == [None, "00", "01", "03"]
    assert transcript.messages[3].is_error
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens, transcript.usage.cached_tokens) == (15, 2, 5)


@pytest.mark.parametrize("is_older_there", [True, False])
def test_a_context_that_begins_with_a_summary_goes_on_from_the_one_before_it(read, write, is_older_there):
    kept = CONTEXT[2:][2:]
    if is_older_there:
        write("context_1.jsonl", lines=CONTEXT)
    result = read("context.jsonl", lines=[CONTEXT[0], CONTEXT[1], SUMMARY, *kept, user("Go on.")])
    transcript = one(result)
    (event,) = transcript.compactions
    assert event.summary == "There is no rule."
    assert event.summary_at == 1
    if is_older_there:
        assert texts(transcript)[1:] == ["Run it.", "I will.", "<system>ERROR: no rule</system>", "Go on."]
        assert (event.at_seq, event.dropped) == (4, (1,))
        assert result.account.aside["tool", "duplicate"] == 1
    else:
        assert (event.at_seq, event.dropped) == (1, ())


def test_a_context_that_went_back_to_a_checkpoint_has_left_what_followed_it(read, write):
    write("context_1.jsonl", lines=[*CONTEXT, user("Wrong.")])
    mail = user("<system>You just got a D-Mail from your future self.</system>")
    transcript = one(read("context.jsonl", lines=[*CONTEXT, mail]))
    assert texts(transcript)[-2:] == ["<system>ERROR: no rule</system>", mail["content"]]
    assert transcript.messages[-1].author == "harness"
    assert transcript.set_aside["rewound branch"] == 1


def test_a_context_that_was_cleared_holds_nothing_of_the_one_before_it(read, write):
    write("context_1.jsonl", lines=CONTEXT)
    transcript = one(read("context.jsonl", lines=[CONTEXT[0], user("Something else.")]))
    (event,) = transcript.compactions
    assert (event.summary, event.dropped) == (None, (1, 2, 3))


def test_a_damaged_context_beside_it_is_told_and_the_rest_is_read(read, write):
    write("context_1.jsonl", "\n".join([json.dumps(CONTEXT[0]), json.dumps(CONTEXT[2]), "{"]).encode())
    result = read("context.jsonl", lines=[CONTEXT[0], SUMMARY, user("Go on.")])
    assert texts(one(result))[1:] == ["Run it.", "Go on."]
    assert "context_1.jsonl" in result.set_aside[0].reason

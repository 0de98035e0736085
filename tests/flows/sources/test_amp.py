"""Amp: one JSON object a thread."""

import pytest

from tests.flows.sources.logs.amp import DOCUMENT, result, say, text


def thread(*messages, **more):
    return {"id": "T-1", "created": 1772359200000, "messages": list(messages)} | more


def test_messages_results_and_the_summary_that_everything_before_gave_way_to(read):
    found = read("T-1.json", DOCUMENT)
    assert found.format == "amp"
    (transcript,) = found.transcripts
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert (transcript.session_id, transcript.title, transcript.cwd) == ("amp-T-1", "Mill", "/home/ada/mill")
    assert (transcript.messages[1].reasoning, transcript.model) == ("hm", "amp-test-1")
    assert (transcript.messages[2].text, transcript.messages[2].is_error) == ("no rule", True)
    assert transcript.messages[3].text == "Ran `ls`\na.c"
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens, transcript.usage.cached_tokens) == (16, 7, 5)
    (event,) = transcript.compactions
    assert (event.at_seq, event.summary, event.dropped) == (3, "It failed.", (0, 1, 2))


@pytest.mark.parametrize(
    ("run", "said", "failed"),
    [
        ({"status": "done", "result": "a.c"}, "a.c", False),
        ({"status": "done", "result": {"files": 1}}, '{"files":1}', False),
        ({"status": "error", "error": "broken"}, "broken", True),
        ({"status": "cancelled"}, "cancelled", True),
        ({"status": "rejected-by-user", "reason": "No."}, "No.", True),
    ],
)
def test_a_result_says_what_became_of_its_call(read, run, said, failed):
    call = {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
    document = thread(say(0, "assistant", call), say(1, "user", result("t1", **run)))
    message = read("T-1.json", document).transcripts[0].messages[1]
    assert (message.text, message.is_error, message.tool_call_id) == (said, failed, "t1")


def test_what_a_sub_agent_said_in_the_thread_is_a_session_of_its_own(read):
    document = thread(say(0, "user", text("Go")), say(1, "assistant", text("Seen."), parentToolUseId="t9"))
    main, agent = read("T-1.json", document).transcripts
    assert ([m.text for m in main.messages], [m.text for m in agent.messages]) == (["Go"], ["Seen."])
    assert (agent.session_id, agent.parent_session_id) == ("amp-T-1-t9", "amp-T-1")


def test_a_hidden_command_is_left_out_and_a_message_that_is_none_is_set_aside(read):
    hidden = {"type": "manual_bash_invocation", "args": {"cmd": "ls"}, "hidden": True}
    found = read("T-1.json", thread(say(0, "user", text("Go")), say(1, "info", hidden), say(2, "owl", text("Hoo"))))
    assert found.transcripts[0].set_aside == {"command of the person, kept from the model": 1}
    assert "role is 'owl'" in found.set_aside[0].reason


def test_older_threads_say_in_a_ledger_what_was_used_and_a_folder_of_windows_is_a_path(read):
    events = [{"model": "amp-test-1", "tokens": {"input": 10, "output": 5}}, {"tokens": {"input": 1, "output": 1}}]
    tree = {"uri": "file:///c%3A/Users/ada"}
    about = {"usageLedger": {"events": events}, "env": {"initial": {"trees": [tree]}}}
    (transcript,) = read("T-1.json", thread(say(0, "user", text("Go")), **about)).transcripts
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens, transcript.model) == (11, 6, "amp-test-1")
    assert transcript.cwd == "c:/Users/ada"

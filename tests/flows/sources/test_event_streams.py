"""What `codex exec --json` and Gemini CLI's `-o stream-json` print."""

import json

from tests.flows.sources.logs.codex_exec import command, item
from tests.flows.sources.logs.gemini_stream import event

THREAD = {"type": "thread.started", "thread_id": "th"}


def one(result, format):
    assert (result.format, result.set_aside) == (format, ())
    (transcript,) = result.transcripts
    return transcript


def test_items_in_a_row_are_one_response_of_codex_until_something_has_ended(read, line_samples):
    transcript = one(read("out.jsonl", lines=line_samples["codex_exec"]), "codex_exec")
    assert [m.role for m in transcript.messages] == [
        *("assistant", "tool"),
        *("assistant", "tool"),
        *("assistant", "tool"),
        "assistant",
    ]
    first, second, third, last = (m for m in transcript.messages if m.role == "assistant")
    assert (first.reasoning, [call.name for call in first.tool_calls]) == ("hm token-2", ["exec_command"])
    assert [call.name for call in second.tool_calls] == ["update_plan", "apply_patch"]
    patch = json.loads(second.tool_calls[1].arguments)["input"]
    assert patch.split("\n")[1:3] == ["*** Add File: Makefile", "+all:"]
    assert ([call.name for call in third.tool_calls], last.text) == (["mcp__docs__find"], "Done. token-8")
    results = [m for m in transcript.messages if m.role == "tool"]
    assert [(m.text, m.is_error) for m in results] == [
        ("no rule token-4", True),
        ("A Makefile", False),
        ("a mill", False),
    ]
    assert (transcript.usage.input_tokens, transcript.usage.cached_tokens, transcript.usage.output_tokens) == (
        100,
        60,
        7,
    )


def test_a_resumed_run_of_codex_goes_on_with_its_thread_and_another_thread_is_another_session(read):
    done = {"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}
    more = {"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 2}}
    run = [command("started", "item_0", "ls"), command("completed", "item_0", "ls", "a.c", 0)]
    lines = [THREAD, *run, done, THREAD, *run[:1], command("completed", "item_0", "ls", "b.c", 0), more]
    other = [{**THREAD, "thread_id": "other"}, item("completed", "item_0", "agent_message", text="Hi")]
    first, second = read("out.jsonl", lines=[*lines, *other]).transcripts
    assert [m.text for m in first.messages if m.role == "tool"] == ["a.c", "b.c"]
    assert (first.usage.input_tokens, first.session_id, second.session_id) == (9, "codex_exec-th", "codex_exec-other")


def test_older_versions_of_codex_name_the_type_of_an_item_otherwise(read):
    said = {"type": "item.completed", "item": {"id": "item_0", "item_type": "assistant_message", "text": "Hi"}}
    assert one(read("out.jsonl", lines=[said]), "codex_exec").messages[0].text == "Hi"


def test_a_plan_that_comes_again_at_the_end_is_one_call_and_an_item_of_an_unknown_kind_is_counted(read):
    plan = [{"text": "Mend it", "completed": False}]
    lines = [
        THREAD,
        item("started", "item_0", "todo_list", items=plan),
        item("completed", "item_0", "todo_list", items=plan),
        item("completed", "item_1", "glow", output="bright"),
    ]
    result = read("out.jsonl", lines=lines)
    (answer,) = one(result, "codex_exec").messages
    assert [call.name for call in answer.tool_calls] == ["update_plan"]
    assert result.account.aside["tool", "line of an unknown kind"] == 1


def test_pieces_of_an_answer_of_gemini_are_one_text_and_its_calls_belong_to_it(read, line_samples):
    transcript = one(read("out.jsonl", lines=line_samples["gemini_stream"]), "gemini_stream")
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    answer = transcript.messages[1]
    assert (answer.text, [call.id for call in answer.tool_calls]) == ("Look token-2 ing token-3", ["r1", "r2"])
    assert [(m.text, m.is_error) for m in transcript.messages[2:4]] == [
        ("port=80 token-6", False),
        ("no rule token-7", True),
    ]
    assert (transcript.model, transcript.session_id) == ("gemini-test-1", "gemini_stream-g-token-0")
    assert (transcript.usage.input_tokens, transcript.usage.cached_tokens) == (9, 4)


def test_the_same_piece_twice_is_said_twice(read):
    ha = event("message", role="assistant", content="ha", delta=True)
    lines = [event("init", session_id="g", model="m"), ha, ha, event("message", role="user", content="?"), ha]
    transcript = one(read("out.jsonl", lines=lines), "gemini_stream")
    assert [m.text for m in transcript.messages] == ["haha", "?", "ha"]

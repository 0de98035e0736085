"""Gemini CLI sessions, whose log rewrites itself, and contents of the Gemini API."""

from tests.flows.sources.logs.gemini_cli_chat import call, message
from tests.flows.sources.logs.gemini_contents import call as asks
from tests.flows.sources.logs.gemini_contents import response

HEADER = {"sessionId": "g-1", "projectHash": "ab", "startTime": "2026-02-01T10:00:00Z"}
SNAPSHOT = "<state_snapshot>Go was said.</state_snapshot>"
GOT_IT = "Got it. Thanks for the additional context!"


def chat(result):
    assert (result.format, result.set_aside) == ("gemini_cli_chat", ())
    return result.transcripts[0]


def contents(result):
    assert (result.format, result.set_aside) == ("gemini_contents", ())
    return result.transcripts[0]


def turn(role, *parts):
    return {"role": role, "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def test_a_call_and_its_result_are_one_object_and_thoughts_are_reasoning(read, document_samples):
    transcript = chat(read("s.json", document_samples["gemini_cli_chat"]))
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert (transcript.messages[1].reasoning, transcript.messages[2].text) == ("hm", "wheel.py")
    assert (transcript.session_id, transcript.ended_at) == ("gemini_cli_chat-g-1", "2026-02-01T10:01:00Z")
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens, transcript.usage.cached_tokens) == (20, 6, 4)


def test_what_is_for_the_screen_is_no_message(read):
    warning = {**HEADER, "messages": [message("w", "warning", "A hook failed.")]}
    result = read("s.json", warning)
    assert (result.format, result.transcripts) == ("gemini_cli_chat", ())
    assert "no message in it: 1 bookkeeping" in result.set_aside[0].reason


def test_errors_are_told_by_the_response_the_status_and_the_exit_code(read):
    wrong = {"functionResponse": {"id": "c2", "name": "edit", "response": {"error": "0 occurrences"}}}
    shell = {
        "functionResponse": {"name": "run_shell_command", "response": {"output": "Output: x\nExit Code: 2\nSignal: 0"}}
    }
    calls = [
        call("c1", "fine"),
        {"id": "c2", "name": "edit", "args": {}, "result": [wrong], "status": "error"},
        {"id": "c3", "name": "run_shell_command", "args": {}, "result": [shell], "status": "success"},
        {"id": "c4", "name": "edit", "args": {}, "status": "cancelled"},
    ]
    transcript = chat(read("s.json", {**HEADER, "messages": [message("b", "gemini", "", toolCalls=calls)]}))
    assert len(transcript.messages[0].tool_calls) == 4
    assert [(m.tool_call_id, m.is_error) for m in transcript.messages[1:]] == [
        ("c1", False),
        ("c2", True),
        ("c3", True),
    ]


def test_a_message_that_is_written_again_is_one_message(read):
    first = message("b", "gemini", "I look.")
    again = message("b", "gemini", "I look.", toolCalls=[call("c1", "wheel.py")], tokens={"input": 9, "output": 2})
    transcript = chat(read("s.jsonl", lines=[HEADER, message("a", "user", "Go"), first, again]))
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool"]
    assert transcript.usage.input_tokens == 9


def test_a_rewind_takes_back_the_message_it_names_and_all_after_it(read):
    lines = [HEADER, message("a", "user", "Go"), message("b", "user", "Left")]
    lines += [
        message("c", "gemini", "No", toolCalls=[call("c1", "x")]),
        {"$rewindTo": "b"},
        message("d", "user", "Right"),
    ]
    result = read("s.jsonl", lines=lines)
    assert [m.text for m in chat(result).messages] == ["Go", "Right"]
    aside = {kind: n for (kind, reason), n in result.account.aside.items() if reason == "rewound branch"}
    assert aside == {"user": 1, "assistant": 1, "tool": 1, "tool_call": 1}


def test_a_compression_is_a_compaction_that_keeps_what_the_new_history_has(read):
    kept = message("c", "user", "On")
    history = [message("s", "user", [{"text": SNAPSHOT}]), message("t", "gemini", [{"text": GOT_IT}]), kept]
    lines = [HEADER, message("a", "user", "Go"), message("b", "gemini", "Went", tokens={"input": 900}), kept]
    lines += [{"$set": {"messages": history}}, {"$set": {"messages": history}}, message("d", "gemini", "Done")]
    transcript = chat(read("s.jsonl", lines=lines))
    assert [m.text for m in transcript.messages] == ["Go", "Went", "On", "Done"]
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.summary) == (3, (0, 1), SNAPSHOT)
    assert (event.tokens_before, event.summary_at) == (900, 0)
    assert transcript.set_aside["recorded compaction summary"] == 2


def test_results_that_were_masked_later_keep_their_text_and_are_recorded_as_cleared(read):
    asked = message("b", "gemini", "", toolCalls=[call("c1", "long output")])
    masked = message("b", "gemini", "", toolCalls=[call("c1", "<tool_output_masked>")])
    lines = [HEADER, message("a", "user", "Go"), asked, {"$set": {"messages": [message("a", "user", "Go"), masked]}}]
    transcript = chat(read("s.jsonl", lines=lines))
    assert transcript.messages[2].text == "long output"
    (event,) = transcript.compactions
    assert (event.cleared, event.cleared_text, event.at_seq) == ((2,), "<tool_output_masked>", 3)


def test_a_history_whose_ids_were_made_anew_doubles_nothing(read):
    lines = [HEADER, message("a", "user", "Go"), message("b", "gemini", "Went")]
    lines.append({"$set": {"messages": [message("x", "user", [{"text": "Go"}]), message("y", "gemini", "Went")]}})
    transcript = chat(read("s.jsonl", lines=lines))
    assert ([m.text for m in transcript.messages], transcript.compactions) == (["Go", "Went"], ())


def test_calls_and_results_that_the_history_has_as_parts_too_are_said_once(read):
    history = [
        message("b", "gemini", [{"text": "I look."}, asks("read_file", "c1")], toolCalls=[call("c1", "wheel.py")]),
        message("r", "user", [response("read_file", "wheel.py", "c1")]),
    ]
    lines = [
        HEADER,
        message("b", "gemini", "I look.", toolCalls=[call("c1", "wheel.py")]),
        {"$set": {"messages": history}},
    ]
    assert [m.role for m in chat(read("s.jsonl", lines=lines)).messages] == ["assistant", "tool"]


def test_a_sub_agent_lies_in_the_folder_of_the_session_that_started_it(read):
    lines = [HEADER | {"sessionId": "sub", "kind": "subagent"}, message("a", "user", "Look")]
    assert chat(read("chats/g-1/sub.jsonl", lines=lines)).parent_session_id == "gemini_cli_chat-g-1"


def test_results_pair_by_id_and_without_one_by_the_name_of_the_tool(read):
    turns = [turn("user", "Go"), turn("model", asks("ls"), asks("cat", "c2"), asks("ls", path="b"))]
    turns.append(
        turn("user", response("cat", "C", "c2"), response("ls", "first"), response("ls", "second", "rewritten"))
    )
    messages = contents(read("c.json", turns)).messages
    ids = [call.id for call in messages[1].tool_calls]
    assert [(m.tool_call_id, m.text) for m in messages[2:]] == [("c2", "C"), (ids[0], "first"), (ids[2], "second")]


def test_a_result_without_any_call_stays(read):
    messages = contents(read("c.json", [turn("user", "Go"), turn("user", response("ls", "x", "gone"))])).messages
    assert [(m.role, m.tool_call_id) for m in messages] == [("user", None), ("tool", "gone")]


def test_pieces_of_a_streamed_text_are_one_text_and_equal_pieces_stay(read):
    turns = [turn("user", "Count", "now"), turn("model", {"text": "hm", "thought": True}, "ha", "ha", "!")]
    messages = contents(read("c.json", turns)).messages
    assert (messages[0].text, messages[1].text, messages[1].reasoning) == ("Count\nnow", "haha!", "hm")


def test_the_summary_of_a_compression_is_a_recorded_compaction_behind_the_context(read):
    turns = [
        turn("user", "<session_context>\nToday"),
        turn("user", SNAPSHOT),
        turn("model", GOT_IT),
        turn("user", "On"),
    ]
    transcript = contents(read("c.json", turns))
    assert [m.text for m in transcript.messages] == ["<session_context>\nToday", GOT_IT, "On"]
    (event,) = transcript.compactions
    assert (event.at_seq, event.summary, event.dropped, event.summary_at) == (1, SNAPSHOT, (), 1)
    assert transcript.title == "On"


def test_wrappers_system_prompts_images_and_code_that_the_provider_ran(read, document_samples):
    transcript = contents(read("c.json", document_samples["gemini_contents"]))
    assert [m.role for m in transcript.messages] == ["system", "user", "assistant", "tool", "tool", "assistant"]
    assert transcript.messages[1].text == "Look.\n[image image/png, 8 bytes]"
    assert transcript.messages[5].tool_calls[0].name == "code_execution"
    for key in ("history", "messages"):
        assert len(contents(read(f"{key}.json", {key: [turn("user", "Go")], "id": "x"}))) == 1


def test_each_line_with_contents_is_a_session(read):
    lines = [{"contents": [turn("user", text), turn("model", "ok")]} for text in ("One", "Two")]
    result = read("data.jsonl", lines=lines)
    assert [t.messages[0].text for t in result.transcripts] == ["One", "Two"]


def test_messages_of_other_interfaces_with_parts_are_not_contents(read):
    other = [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}]
    assert read("ui.json", other).format != "gemini_contents"

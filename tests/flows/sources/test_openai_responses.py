"""The Responses API: items, requests with responses, and the tools that the provider runs itself."""

import pytest

from tests.flows.sources.logs.openai_responses import DOCUMENT, LINES


def one(result):
    assert (result.format, result.set_aside) == ("openai_responses", ())
    (transcript,) = result.transcripts
    return transcript


def user(text):
    return {"role": "user", "content": text}


def answer(text, **fields):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **fields}


def called(call_id, name="run", arguments="{}"):
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id, text="ok"):
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def response(own, *items, **fields):
    return {"id": own, "object": "response", "model": "gpt-test", "output": list(items), **fields}


def said(transcript):
    return [(m.role, m.text) for m in transcript.messages]


@pytest.mark.parametrize("shape", ["list", "lines", "object"])
def test_items_come_as_a_list_as_lines_or_in_an_object(read, shape):
    items = [
        user("Mend"),
        called("f1"),
        called("f2", "look"),
        output("f2", "two"),
        output("f1", "one"),
        answer("Done."),
    ]
    content = {"list": items, "object": {"input": items[:5], "output": items[5:], "model": "gpt-test"}}.get(shape)
    transcript = one(read("log.json", content, lines=items if shape == "lines" else None))
    assert said(transcript) == [
        ("user", "Mend"),
        ("assistant", ""),
        ("tool", "two"),
        ("tool", "one"),
        ("assistant", "Done."),
    ]
    assert [m.tool_name for m in transcript.messages[2:4]] == ["look", "run"]


def test_a_request_has_its_instructions_first_and_its_response_last(read):
    transcript = one(read("log.json", DOCUMENT))
    assert said(transcript)[0] == ("system", "Be brief.")
    assert said(transcript)[-1] == ("assistant", "token-8")
    assert (transcript.model, transcript.usage.input_tokens) == ("gpt-test", 9)


def test_tools_of_the_provider_hold_their_result_in_the_call(read):
    items = [
        user("Mend"),
        {"type": "web_search_call", "id": "ws", "action": {"type": "search", "query": "mills"}, "status": "completed"},
        {"type": "mcp_call", "id": "m1", "name": "look", "arguments": "{}", "output": "seen"},
        {"type": "mcp_call", "id": "m2", "name": "look", "arguments": "{}", "output": None, "error": "no"},
        {"type": "code_interpreter_call", "id": "ci", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
        {"type": "file_search_call", "id": "fs", "queries": ["q"], "results": [{"filename": "a.md", "text": "Wheel."}]},
        {"type": "image_generation_call", "id": "ig", "result": "aGVs" * 400, "revised_prompt": "a mill"},
        answer("Done."),
    ]
    transcript = one(read("log.json", items))
    assert [m.role for m in transcript.messages] == ["user", "assistant", *["tool"] * 5]
    assert transcript.messages[1].text == "Done."
    calls = [(c.name, c.parsed()) for c in transcript.messages[1].tool_calls]
    assert calls[0] == ("web_search", {"type": "search", "query": "mills"})
    assert (calls[3], calls[5]) == (
        ("code_interpreter", {"code": "1+1"}),
        ("image_generation", {"revised_prompt": "a mill"}),
    )
    assert [(m.text, m.is_error) for m in transcript.messages[2:]] == [
        ("seen", False),
        ("no", True),
        ("2", False),
        ("a.md\nWheel.", False),
        ("[data, 1200 bytes]", False),
    ]


def test_outputs_of_a_shell_and_of_a_screen_are_text_and_a_mark(read):
    screen = {"type": "computer_screenshot", "image_url": "data:image/png;base64,aGVsbG8="}
    ran = [{"stdout": "out", "stderr": "err", "outcome": {"type": "exit", "exit_code": 3}}]
    items = [
        {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "s", "output": ran},
        {"type": "computer_call", "call_id": "c", "action": {"type": "click"}},
        {"type": "computer_call_output", "call_id": "c", "output": screen},
        {"type": "apply_patch_call", "call_id": "a", "operation": {"type": "delete_file", "path": "x"}},
        {"type": "apply_patch_call_output", "call_id": "a", "status": "failed", "output": "no such file"},
    ]
    results = [m for m in one(read("log.json", items)).messages if m.role == "tool"]
    assert [(m.text, m.is_error) for m in results] == [
        ("out\nerr", True),
        ("[image image/png, 5 bytes]", False),
        ("no such file", True),
    ]


def test_a_refusal_is_text_and_encrypted_reasoning_is_nothing(read):
    refusal = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    secret = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "b3Bh"}
    transcript = one(read("log.json", [user("Mend"), secret, refusal]))
    assert [(m.text, m.reasoning) for m in transcript.messages] == [("Mend", ""), ("No.", "")]


def test_a_compaction_item_is_a_compaction_whose_summary_is_secret(read):
    secret = {"type": "compaction", "id": "c1", "encrypted_content": "b3Bh"}
    transcript = one(read("log.json", [user("Mend"), called("f1"), output("f1"), secret, answer("On.")]))
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.summary, event.has_opaque_summary) == (3, (0, 1, 2), None, True)
    window = one(read("log.json", [user("Mend"), secret, answer("On.")]))
    assert window.compactions[0].dropped == ()


def test_requests_that_name_the_response_before_them_are_one_session(read):
    first = {"instructions": "Be brief.", "input": "Mend", "model": "m"}
    lines = [
        {"request": first, "response": response("a", called("f1"))},
        {"request": {"input": "Other", "instructions": "x", "model": "m"}, "response": response("z", answer("Aside."))},
        {
            "request": {"instructions": "Be brief.", "previous_response_id": "a", "input": [output("f1")]},
            "response": response("b", answer("Done."), usage={"input_tokens": 5, "output_tokens": 2}),
        },
    ]
    result = read("log.jsonl", lines=lines)
    other, main = sorted(result.transcripts, key=len)
    assert said(main) == [
        ("system", "Be brief."),
        ("user", "Mend"),
        ("assistant", ""),
        ("tool", "ok"),
        ("assistant", "Done."),
    ]
    assert [m.text for m in other.messages] == ["x", "Other", "Aside."]


def test_requests_that_repeat_the_conversation_are_one_session(read):
    first = [user("Mend")]
    second = [*first, called("f1"), output("f1")]
    lines = [
        {"input": first, **response("a", called("f1"))},
        {"input": second, **response("b", answer("Done."))},
    ]
    assert [m.role for m in one(read("log.jsonl", lines=lines)).messages] == ["user", "assistant", "tool", "assistant"]


def test_an_item_that_is_there_again_counts_once_but_shared_ids_do_not_make_it_a_copy(read):
    twice = {**called("f1"), "id": "fc_1"}
    fake = [{**answer(word), "id": "__fake_id__"} for word in ("One.", "Two.")]
    items = [
        user("Mend"),
        twice,
        twice,
        output("f1"),
        fake[0],
        user("On"),
        fake[1],
        {"type": "item_reference", "id": "fc_1"},
    ]
    result = read("log.json", items)
    assert [m.text for m in one(result).messages] == ["Mend", "", "ok", "One.", "On", "Two."]
    assert result.account.aside["tool_call", "duplicate"] == 1


def test_an_item_of_an_unknown_type_is_counted_and_one_with_content_is_set_aside(read):
    result = read("log.json", [*LINES, {"type": "telemetry"}, {"type": "whisper", "content": "psst"}])
    assert [aside.reason.split(": ", 1)[1] for aside in result.set_aside] == [
        "an item of type whisper, which is not known"
    ]
    assert result.transcripts[0].set_aside["bookkeeping"] == 1


def test_the_events_of_a_stream_give_the_finished_response(read):
    lines = [
        {"type": "response.created", "response": response("a")},
        {"type": "response.output_text.delta", "delta": "Do"},
        {"type": "response.completed", "response": response("a", answer("Done."))},
    ]
    assert said(one(read("log.jsonl", lines=lines))) == [("assistant", "Done.")]


def test_a_response_that_the_log_has_twice_is_counted_twice_and_stored_once(read):
    said = [{"type": "output_text", "text": "Done."}]
    answer = {"id": "r-1", "object": "response", "output": [{"type": "message", "role": "assistant", "content": said}]}
    done = {"type": "response.completed", "response": answer}
    result = read("stream.jsonl", lines=[done, done])
    assert len(result.transcripts) == 1
    assert result.account.met["assistant"] == 2
    assert result.account.aside["assistant", "shorter copy of this session"] == 1

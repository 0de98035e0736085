"""Anthropic's Messages API: blocks to messages, the provider's own tools, and its compactions."""

import json

import pytest

from tests.flows.sources.logs.anthropic_messages import DOCUMENT, LINES


def one(result):
    assert (result.format, result.set_aside) == ("anthropic_messages", ())
    (transcript,) = result.transcripts
    return transcript


def use(call_id, name="bash", **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result_of(call_id, content="ok", **fields):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def user(*content):
    return {"role": "user", "content": list(content)}


def assistant(*content, **fields):
    return {"role": "assistant", "content": list(content), **fields}


def text(value):
    return {"type": "text", "text": value}


def said(transcript):
    return [(m.role, m.text) for m in transcript.messages]


@pytest.mark.parametrize("shape", ["list", "lines", "object", "objects", "object lines"])
def test_messages_come_as_a_list_as_lines_or_in_an_object(read, shape):
    messages = [user(text("Mend")), assistant(use("t1")), user(result_of("t1"))]
    record = {"session_id": "s-1", "model": "claude-test-1", "messages": messages}
    content = {"list": messages, "object": record, "objects": [record]}.get(shape)
    lines = {"lines": messages, "object lines": [record]}.get(shape)
    transcript = one(read("log.json", content, lines=lines))
    assert said(transcript) == [("user", "Mend"), ("assistant", ""), ("tool", "ok")]
    if "object" in shape:
        assert (transcript.session_id, transcript.model) == ("anthropic_messages-s-1", "claude-test-1")


def test_a_request_has_its_system_prompt_first_and_its_response_last(read):
    transcript = one(read("log.json", DOCUMENT))
    assert transcript.messages[0].text == "Be brief."
    assert said(transcript)[-1] == ("assistant", "Done.")
    assert transcript.usage.input_tokens == 101


def test_results_stand_before_the_text_of_their_turn_and_pair_by_id(read):
    turn = user(text("hurry"), result_of("t2", "two", is_error=True), result_of("t1", [text("one")]))
    transcript = one(read("log.json", [user(text("Mend")), assistant(text("Both."), use("t1"), use("t2", "ls")), turn]))
    assert said(transcript)[2:] == [("tool", "two"), ("tool", "one"), ("user", "hurry")]
    assert [(m.tool_call_id, m.tool_name, m.is_error) for m in transcript.messages[2:4]] == [
        ("t2", "ls", True),
        ("t1", "bash", False),
    ]


def test_thinking_is_reasoning_and_what_is_redacted_is_nothing(read):
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3Bh"},
    ]
    transcript = one(read("log.json", [user(text("Mend")), assistant(*blocks, text("Done."))]))
    assert (transcript.messages[1].text, transcript.messages[1].reasoning) == ("Done.", "hm")


def test_tools_of_the_provider_have_call_and_result_in_one_answer(read):
    hits = [{"type": "web_search_result", "title": "Mills", "url": "https://a.example", "encrypted_content": "b3Bh"}]
    ran = {"type": "bash_code_execution_result", "stdout": "7", "stderr": "no", "return_code": 1, "content": []}
    refused = {"type": "web_fetch_tool_result_error", "error_code": "max_uses_exceeded"}
    page = {
        "type": "document",
        "title": "Mill",
        "source": {"type": "text", "media_type": "text/plain", "data": "Wheels."},
    }
    fetched = {"type": "web_fetch_result", "url": "https://b.example", "content": page}
    blocks = [text("Searching.")]
    for number, (name, kind, content) in enumerate(
        [
            ("web_search", "web_search_tool_result", hits),
            ("bash_code_execution", "bash_code_execution_tool_result", ran),
            ("web_fetch", "web_fetch_tool_result", refused),
            ("web_fetch", "web_fetch_tool_result", fetched),
        ]
    ):
        blocks += [
            {"type": "server_tool_use", "id": f"s{number}", "name": name, "input": {}},
            {"type": kind, "tool_use_id": f"s{number}", "content": content},
        ]
    transcript = one(read("log.json", [user(text("Mend")), assistant(*blocks, text("Found."))]))
    assert [m.role for m in transcript.messages] == ["user", "assistant", *["tool"] * 4]
    assert transcript.messages[1].text == "Searching.\nFound."
    assert [(m.text, m.is_error) for m in transcript.messages[2:]] == [
        ("Mills\nhttps://a.example", False),
        ("7\nno", True),
        ('{"error_code":"max_uses_exceeded"}', True),
        ("https://b.example\nMill\nWheels.", False),
    ]


def test_images_are_marks_and_documents_of_text_are_text(read):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    note = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "All of it."}}
    scan = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGVsbG8="}}
    found = {"type": "search_result", "title": "T", "source": "https://a.example", "content": [text("Wheel.")]}
    transcript = one(read("log.json", [user(image, note, scan, found), assistant(text("ok"))]))
    assert transcript.messages[0].text == (
        "[image image/png, 5 bytes]\nAll of it.\n[document application/pdf, 5 bytes]\nT\nhttps://a.example\nWheel."
    )


def test_a_compaction_block_drops_what_was_said_before_it(read):
    usage = {"input_tokens": 5, "iterations": [{"type": "compaction", "input_tokens": 180_000, "output_tokens": 900}]}
    block = {"type": "compaction", "content": "All so far."}
    failed, opaque = (
        {"type": "compaction", "content": None},
        {"type": "compaction", "content": "", "encrypted_content": "b3"},
    )
    messages = [
        user(text("Mend")),
        assistant(use("t1")),
        user(result_of("t1")),
        assistant(block, text("On."), usage=usage),
        user(text("More")),
        assistant(failed, text("Yes.")),
        assistant(opaque),
    ]
    transcript = one(read("log.json", {"system": "Be brief.", "messages": messages}))
    assert [m.text for m in transcript.messages] == ["Be brief.", "Mend", "", "ok", "On.", "More", "Yes."]
    first, second = transcript.compactions
    assert (first.at_seq, first.summary, first.dropped, first.tokens_before) == (4, "All so far.", (1, 2, 3), 180_000)
    assert (second.at_seq, second.summary, second.dropped, second.has_opaque_summary) == (7, None, (4, 5, 6), True)


def test_applied_edits_clear_the_oldest_results_once(read):
    def edited(count):
        edits = [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": count, "cleared_input_tokens": 500}]
        return {"context_management": {"applied_edits": edits}, "usage": {"input_tokens": 100}}

    turns = [m for n in range(3) for m in (assistant(use(f"t{n}")), user(result_of(f"t{n}", f"r{n}")))]
    messages = [
        user(text("Mend")),
        *turns,
        assistant(text("a"), **edited(1)),
        assistant(text("b"), **edited(1)),
        assistant(text("c"), **edited(2)),
    ]
    transcript = one(read("log.json", messages))
    events = [(e.at_seq, e.cleared, e.dropped, e.tokens_before) for e in transcript.compactions]
    assert events == [(7, (2,), (), 600), (9, (4,), (), 600)]


def test_a_response_goes_on_where_the_request_ended_in_the_middle_of_an_answer(read):
    response = {"id": "msg_1", "type": "message", "role": "assistant", "content": [text("lo.")]}
    record = {"messages": [user(text("Greet")), assistant(text("Hel"))], "response": response}
    transcript = one(read("log.json", record))
    assert said(transcript) == [("user", "Greet"), ("assistant", "Hello.")]


def test_a_log_of_requests_that_repeat_the_conversation_is_one_session(read):
    def record(messages, answer):
        body = {"id": answer[-1].get("id", "m"), "type": "message", "role": "assistant", "content": answer}
        return {"request": {"body": {"model": "claude-test-1", "messages": messages}}, "response": {"body": body}}

    first = [user(text("Mend"))]
    second = [*first, assistant(use("t1")), user(result_of("t1"))]
    result = read("log.jsonl", lines=[record(first, [use("t1")]), record(second, [text("Done.")])])
    assert said(one(result)) == [("user", "Mend"), ("assistant", ""), ("tool", "ok"), ("assistant", "Done.")]
    bare = read("log.jsonl", lines=[{"messages": m, "anthropic_version": "2023-06-01"} for m in (first, second)])
    assert len(one(bare)) == 3


def test_messages_of_other_apis_are_left_to_their_own_formats(read):
    chat = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    assert read("a.json", chat).format == "openai_chat"
    tool = {"role": "tool", "tool_call_id": "t1", "content": "ok"}
    thinking = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}], "tool_calls": []}
    assert read("b.json", [chat[0], thinking, tool]).format != "anthropic_messages"


def test_a_message_that_cannot_be_used_is_set_aside_and_the_rest_goes_in(read):
    result = read("log.json", [*LINES, {"role": "ghost"}, 7, user(text("End"))])
    assert len(result.set_aside) == 2
    assert result.transcripts[0].messages[-1].text == "End"


def stream(*events):
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def traced(messages, *events, **response):
    request = {"url": "https://api.test/v1/messages", "body": {"model": "claude-test-1", "messages": messages}}
    return {"request": request, "response": {"status_code": 200, "body_raw": stream(*events), **response}}


def begun(own):
    return {
        "type": "message_start",
        "message": {
            "id": own,
            "type": "message",
            "role": "assistant",
            "content": [],
            "usage": {"input_tokens": 5, "output_tokens": 1},
        },
    }


def block(at, start, *deltas):
    yield {"type": "content_block_start", "index": at, "content_block": start}
    yield from ({"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas)
    yield {"type": "content_block_stop", "index": at}


USED = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}


def asks_for(own):
    parts = [{"type": "input_json_delta", "partial_json": piece} for piece in ('{"cmd":', ' "ls"}')]
    return [begun(own), *block(0, use("t1") | {"input": {}}, *parts), USED]


def test_an_answer_that_a_proxy_wrote_down_as_it_was_streamed_is_read(read):
    thinks = block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"})
    says = block(1, text(""), {"type": "text_delta", "text": "One "}, {"type": "text_delta", "text": "wheel."})
    first = [user(text("Count"))]
    then = [*first, assistant(use("t1", cmd="ls")), user(result_of("t1"))]
    lines = [traced(first, *asks_for("m-1")), traced(then, begun("m-2"), *thinks, *says, USED)]
    transcript = one(read("log.jsonl", lines=lines))
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert (transcript.messages[-1].text, transcript.messages[-1].reasoning) == ("One wheel.", "hm")
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens) == (10, 6)


def test_a_stream_that_was_cut_gives_what_had_come(read):
    cut = stream(*asks_for("m-1"))[:-60]
    record = traced([user(text("Count"), {"type": "image", "source": {"type": "url", "url": "x"}})])
    record["response"]["body_raw"] = cut
    assert one(read("log.jsonl", lines=[record])).messages[-1].tool_calls[0].name == "bash"


def test_bodies_that_a_proxy_wrote_down_as_text_are_opened(read):
    request = {"system": [text("Be brief.")], "messages": [{"role": "user", "content": "Hi"}]}
    answer = {"type": "message", "role": "assistant", "content": [text("Ho")]}
    record = {"request": {"body": json.dumps(request)}, "response": {"body": json.dumps(answer)}}
    assert [m.text for m in one(read("log.jsonl", lines=[record])).messages] == ["Be brief.", "Hi", "Ho"]


def test_a_session_is_the_same_one_when_a_client_does_not_send_the_reasoning_back(read):
    first = [user(text("Count"))]
    thinks = assistant({"type": "thinking", "thinking": "hm"}, use("t1"), type="message", id="m-1")
    then = [*first, assistant(use("t1")), user(result_of("t1"))]
    ends = assistant(text("One."), type="message", id="m-2")
    lines = [{"request": {"messages": first}, "response": thinks}, {"request": {"messages": then}, "response": ends}]
    messages = one(read("log.jsonl", lines=lines)).messages
    assert [m.role for m in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[1].reasoning == "hm"

"""Traces of OpenTelemetry with the messages of models' requests."""

from __future__ import annotations

import pytest

from tests.flows.sources.logs import otel_genai as made
from tests.flows.sources.logs.otel_genai import otlp, span, told, typed
from tests.flows.sources.logs.otel_genai import said as turn

ID = {"gen_ai.conversation.id": "mill-1"}


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def read_spans(read, *spans):
    """What is read of spans as OTLP, which is also what is read of them on lines as the SDK prints them."""
    result = read("trace.json", otlp(*spans))
    assert (result.format, result.set_aside) == ("otel_genai", ())
    again = read("trace.jsonl", lines=list(spans))
    assert [said(one) for one in again.transcripts] == [said(one) for one in result.transcripts]
    return result.transcripts


def test_requests_that_repeat_the_history_are_one_conversation_of_which_each_message_is_stored_once(read) -> None:
    first = span(
        0, made.TURNS[:1], made.LOOK, **ID, **{"gen_ai.system_instructions": '[{"type":"text","content":"Mend."}]'}
    )
    later = span(2, made.TURNS[:3], turn("assistant", "Mended."), **ID, **{"gen_ai.system_instructions": "Mend."})
    [transcript] = read_spans(read, first, span(1, operation="execute_tool"), later)
    assert (transcript.session_id, transcript.model) == ("otel_genai-mill-1", "mill-1")
    assert said(transcript) == [
        ("system", "Mend."),
        ("user", "token-0"),
        ("assistant", "I look."),
        ("tool", "token-2"),
        ("assistant", "Mended."),
    ]
    look, found = transcript.messages[2:4]
    assert (look.reasoning, look.tool_calls[0].arguments, found.tool_call_id) == ("hm", '{"path":"."}', "c1")
    assert look.timestamp == "2026-03-01T10:00:00.500000Z"
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens) == (20, 10)
    assert transcript.set_aside == {"shorter copy of this session": 1}


def test_older_events_say_the_same_and_a_request_whose_beginning_was_replaced_is_a_compaction(read) -> None:
    result = read("trace.json", made.DOCUMENT)
    assert (result.format, result.set_aside) == ("otel_genai", ())
    [transcript] = result.transcripts
    assert said(transcript) == [
        ("system", "You mend mills."),
        ("user", "Mend the mill."),
        ("assistant", "I look."),
        ("tool", 'a.c\n{"n":1}'),
        ("assistant", "Mended."),
        ("user", "Oil it."),
        ("assistant", "Oiled."),
    ]
    assert transcript.messages[3].is_error
    [event] = transcript.compactions
    assert (event.at_seq, event.dropped, event.summary_at) == (6, (1, 2, 3), 1)
    assert event.summary == "The mill was looked at."


def test_a_request_with_a_history_of_its_own_is_a_conversation_of_its_own_with_a_name_of_its_own(read) -> None:
    helper = span(1, [turn("user", "Count the cogs.")], turn("assistant", "Nine."), **ID)
    later = span(2, made.TURNS[:3], turn("assistant", "Mended."), **ID)
    found = read_spans(read, span(0, made.TURNS[:1], made.LOOK, **ID), helper, later)
    main, other = sorted(found, key=lambda one: one.session_id)
    assert (said(other), len(main)) == ([("user", "Count the cogs."), ("assistant", "Nine.")], 4)
    assert main.session_id == "otel_genai-mill-1"
    assert other.session_id.startswith("otel_genai-mill-1-")
    assert main.compactions == other.compactions == ()


def test_log_records_of_a_span_are_its_events(read) -> None:
    calls = [{"id": "c1", "function": {"name": "ls", "arguments": "{}"}}]
    records = [
        ("gen_ai.user.message", "a", {"content": "Go."}),
        ("gen_ai.choice", "a", {"index": 0, "message": {"role": "assistant", "tool_calls": calls}}),
        ("gen_ai.user.message", "b", {"content": "Go."}),
        (
            "gen_ai.assistant.message",
            "b",
            {"tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": "{}"}}]},
        ),
        ("gen_ai.tool.message", "b", {"content": "a.c", "id": "c1"}),
        ("gen_ai.choice", "b", {"index": 0, "message": {"role": "assistant", "content": "Gone."}}),
    ]
    found = [
        {
            "timeUnixNano": f"177235920{at}000000000",
            "spanId": own,
            "eventName": name,
            "body": typed(body),
            "attributes": [],
        }
        for at, (name, own, body) in enumerate(records)
    ]
    printed = [
        {"body": body, "attributes": {"event.name": name}, "span_id": own, "timestamp": f"2026-03-01T10:00:0{at}Z"}
        for at, (name, own, body) in enumerate(records)
    ]
    document = {"resourceLogs": [{"scopeLogs": [{"logRecords": found}]}]}
    for result in (read("logs.json", document), read("logs.jsonl", lines=printed)):
        [transcript] = result.transcripts
        assert (result.format, said(transcript)) == (
            "otel_genai",
            [("user", "Go."), ("assistant", ""), ("tool", "a.c"), ("assistant", "Gone.")],
        )
        assert transcript.messages[2].tool_call_id == transcript.messages[1].tool_calls[0].id == "c1"


def test_messages_in_an_event_of_the_operation_are_those_of_the_span(read) -> None:
    details = {"gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Go."}]}]'}
    one = told(0) | {"events": [("gen_ai.client.inference.operation.details", details)]}
    [transcript] = read("trace.json", otlp(one)).transcripts
    assert said(transcript) == [("user", "Go.")]


def test_files_other_choices_and_results_of_the_provider_are_told(read) -> None:
    blob = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "aWlpaQ=="}
    link = {"type": "uri", "modality": "image", "uri": "https://example.org/a.png"}
    search = {"type": "server_tool_call", "id": "s1", "name": "web_search", "server_tool_call": {"query": "mills"}}
    found = {"type": "server_tool_call_response", "id": "s1", "server_tool_call_response": {"hits": 2}}
    answer = turn("assistant", search, found, "Two.")
    [transcript] = read_spans(read, span(0, [turn("user", "Look.", blob, link)], answer, turn("assistant", "Three.")))
    assert said(transcript) == [
        ("user", "Look.\n[image image/png, 4 bytes]\n[image https://example.org/a.png]"),
        ("assistant", "Two."),
        ("tool", '{"hits":2}'),
    ]
    assert transcript.messages[1].tool_calls[0].name == transcript.messages[2].tool_name == "web_search"
    assert transcript.set_aside == {"other choice of a response": 1}


def test_a_trace_without_messages_is_none_of_it(read) -> None:
    plain = span(0)
    assert read("trace.json", otlp(plain)).format is None
    assert read("trace.jsonl", lines=[plain, span(1, operation="execute_tool")]).format is None


def flat(at: int, **attributes) -> dict:
    """A span that has nothing of the conventions but these."""
    return {**span(at), "attributes": {name.replace("__", "."): value for name, value in attributes.items()}}


OPENLLMETRY = {
    "llm.request.type": "chat",
    "gen_ai.request.model": "mill",
    "gen_ai.usage.prompt_tokens": 10,
    "gen_ai.usage.completion_tokens": 5,
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Mend.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": '[{"type": "text", "text": "Go."}]',
}
OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "mill",
    "llm.token_count.prompt": 10,
    "llm.token_count.completion": 5,
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": "Mend.",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.contents.0.message_content.type": "text",
    "llm.input_messages.1.message.contents.0.message_content.text": "Go.",
}


def spans_of_openllmetry() -> list[dict]:
    call = {"tool_calls.0.id": "c1", "tool_calls.0.name": "ls", "tool_calls.0.arguments": '{"path":"."}'}
    asked = {"role": "assistant", **call}
    given = {"role": "tool", "tool_call_id": "c1", "content": '{"n":1}'}
    first = OPENLLMETRY | {f"gen_ai.completion.0.{key}": value for key, value in asked.items()}
    later = OPENLLMETRY | {
        **{f"gen_ai.prompt.2.{key}": value for key, value in asked.items()},
        **{f"gen_ai.prompt.3.{key}": value for key, value in given.items()},
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": '{"done": true}',
    }
    return [flat(0, **first), flat(1, **{"traceloop.span.kind": "task"}), flat(2, **later)]


def spans_of_openinference() -> list[dict]:
    call = {"id": "c1", "function.name": "ls", "function.arguments": '{"path":"."}'}
    asked = {"role": "assistant", **{f"tool_calls.0.tool_call.{key}": value for key, value in call.items()}}
    block = {"message_content.type": "tool_use", **{f"tool_call.{key}": value for key, value in call.items()}}
    again = asked | {f"contents.0.{key}": value for key, value in block.items()}
    given = {"role": "tool", "tool_call_id": "c1", "content": '{"n":1}'}
    first = OPENINFERENCE | {f"llm.output_messages.0.message.{key}": value for key, value in again.items()}
    later = OPENINFERENCE | {
        **{f"llm.input_messages.2.message.{key}": value for key, value in asked.items()},
        **{f"llm.input_messages.3.message.{key}": value for key, value in given.items()},
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": '{"done": true}',
    }
    chain = later | {"openinference.span.kind": "AGENT"}
    return [flat(0, **first), flat(1, **chain), flat(2, **later)]


@pytest.mark.parametrize("spans", [spans_of_openllmetry(), spans_of_openinference()], ids=["llmetry", "inference"])
def test_an_attribute_for_each_piece_of_a_message_says_the_same(read, spans) -> None:
    [transcript] = read_spans(read, *spans)
    assert said(transcript) == [
        ("system", "Mend."),
        ("user", "Go."),
        ("assistant", ""),
        ("tool", '{"n":1}'),
        ("assistant", '{"done": true}'),
    ]
    [call] = transcript.messages[2].tool_calls
    assert (call.id, call.name, call.arguments) == ("c1", "ls", '{"path":"."}')
    assert (transcript.model, transcript.messages[3].tool_call_id) == ("mill", "c1")
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens) == (20, 10)


def test_ten_messages_are_in_the_order_of_their_numbers_and_pictures_are_marks(read) -> None:
    asked = {f"gen_ai.prompt.{number}.content": str(number) for number in (10, 9, 2, 0, 1, 3, 4, 5, 6, 7, 8)}
    [transcript] = read_spans(read, flat(0, **asked, **{"gen_ai.completion.0.content": "end"}))
    assert [text for _, text in said(transcript)] == [*map(str, range(11)), "end"]
    start = "llm.input_messages.0.message."
    content = f"{start}contents.0.message_content."
    picture = {f"{content}type": "image", f"{content}image.image.url": "data:image/png;base64,aWlpaQ=="}
    [transcript] = read_spans(read, flat(0, **{f"{start}role": "user", **picture}))
    assert said(transcript) == [("user", "[image image/png, 4 bytes]")]

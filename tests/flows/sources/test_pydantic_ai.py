"""Message histories of Pydantic AI."""

from __future__ import annotations

from tests.flows.sources.logs import pydantic_ai as made
from tests.flows.sources.logs.pydantic_ai import call, part, request, response, returned


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def read_one(read, *messages):
    result = read("history.json", list(messages))
    assert (result.format, result.set_aside) == ("pydantic_ai", ())
    [transcript] = result.transcripts
    return transcript


def test_a_history_is_a_conversation_with_calls_results_and_instructions_that_are_said_once(read) -> None:
    transcript = read_one(read, *made.DOCUMENT)
    assert transcript.session_id == "pydantic_ai-01a21e5f-c19b"
    assert (transcript.title, transcript.model, transcript.started_at) == (
        "Mend the mill.",
        "mill-1",
        "2026-03-01T10:00:00Z",
    )
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens, transcript.usage.cached_tokens) == (
        186,
        39,
        24,
    )
    assert said(transcript) == [
        ("system", "You mend mills."),
        ("system", "Be brief."),
        ("user", "Mend the mill.\n[image image/png, 4 bytes]\n[image https://example.org/a.png]"),
        ("assistant", "I look."),
        ("tool", '{"files":["a.c"],"n":1}'),
        ("tool", "no such path"),
        ("assistant", "Done."),
        ("tool", '[{"title":"Mills"}]'),
        ("user", "Say more."),
        ("assistant", "It turns."),
    ]
    look, files, retried = transcript.messages[3:6]
    assert (look.reasoning, [one.id for one in look.tool_calls]) == ("hm", ["c1", "c2"])
    assert (files.tool_call_id, files.is_error, retried.tool_call_id, retried.is_error) == ("c1", False, "c2", True)
    assert transcript.messages[8].author == "harness"


def test_a_compaction_of_the_provider_takes_all_that_was_said(read) -> None:
    [event] = read_one(read, *made.DOCUMENT).compactions
    assert (event.at_seq, event.summary, event.dropped) == (9, "The mill was mended.", (2, 3, 4, 5, 6, 7, 8))
    sealed = part("compaction", None, provider_name="openai", provider_details={"encrypted_content": "b3Bh"})
    [event] = read_one(read, request(part("user-prompt", "Go.")), response(sealed, part("text", "Gone."))).compactions
    assert (event.summary, event.has_opaque_summary, event.dropped) == (None, True, (0,))


def test_a_summary_in_a_request_stands_for_what_the_history_no_longer_has(read) -> None:
    transcript = read_one(
        read,
        request(part("system-prompt", "Mend."), part("user-prompt", "Go."), part("compaction", "It was mended.")),
        response(part("text", "Good.")),
    )
    assert said(transcript) == [("system", "Mend."), ("user", "Go."), ("assistant", "Good.")]
    [event] = transcript.compactions
    assert (event.summary, event.dropped, event.summary_at, event.at_seq) == ("It was mended.", (), 2, 2)


def test_lists_of_a_line_are_one_conversation_and_what_they_repeat_counts_once(read) -> None:
    first = [request(part("user-prompt", "Go.")), response(part("text", "Gone."), call("c1", {}))]
    second = [request(returned("c1", ["a", "b"])), response(part("text", "Back."))]
    for lines in ([first, second], [first, [*first, *second]]):
        result = read("runs.jsonl", lines=lines)
        [transcript] = result.transcripts
        assert said(transcript) == [
            ("user", "Go."),
            ("assistant", "Gone."),
            ("tool", '["a","b"]'),
            ("assistant", "Back."),
        ]
    assert transcript.set_aside == {"duplicate": 3}
    other = [message | {"conversation_id": "other"} for message in first]
    assert [len(one) for one in read("runs.jsonl", lines=[first, other]).transcripts] == [2, 2]


def test_a_retry_of_older_versions_is_a_failed_result_or_what_the_harness_says(read) -> None:
    transcript = read_one(
        read,
        request(part("user-prompt", "Go.")),
        response(call("c1", {})),
        request(part("retry-prompt", [{"type": "missing", "loc": ["path"]}], tool_name="ls", tool_call_id="c1")),
        response(part("text", "?"), usage={"request_tokens": 5, "response_tokens": 2}),
        request(part("retry-prompt", "Answer.", tool_name=None, tool_call_id="x")),
    )
    failed, _, told = transcript.messages[2:]
    assert (failed.role, failed.is_error, failed.text) == ("tool", True, '[{"type":"missing","loc":["path"]}]')
    assert (told.role, told.author, told.text) == ("user", "harness", "Answer.")
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens) == (67, 15)


def test_a_part_of_an_unknown_kind_is_set_aside_with_its_place(read) -> None:
    result = read("history.json", [request(part("user-prompt", "Go."), part("hologram", "?"))])
    [aside] = result.set_aside
    assert aside.reason == "history.json#0: a part of an unknown kind 'hologram'"
    assert said(result.transcripts[0]) == [("user", "Go.")]

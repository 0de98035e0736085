"""Factory's Droid: messages of Anthropic's API with an envelope."""

import pytest

from tests.flows.sources.logs.factory_droid import line, text

HEADER = {"type": "session_start", "id": "d-1", "cwd": "C:\\work"}


def one(result):
    assert result.format == "factory_droid"
    (transcript,) = result.transcripts
    return transcript


def test_messages_authors_and_the_compaction_with_what_it_took(read, line_samples):
    transcript = one(read("d-1.jsonl", lines=line_samples["factory_droid"]))
    assert [m.role for m in transcript.messages] == ["user", "user", "assistant", "tool", "assistant"]
    assert [m.author for m in transcript.messages] == ["harness", None, None, None, None]
    assert (transcript.messages[2].reasoning, transcript.messages[2].tool_calls[0].name) == ("hm", "Execute")
    assert (transcript.messages[3].tool_call_id, transcript.messages[3].is_error) == ("t1", True)
    assert (transcript.session_id, transcript.model, transcript.title) == ("factory_droid-d-1", "droid-test-1", "Mill")
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.summary, event.trigger) == (
        4,
        (0, 1, 2),
        "It failed. token-6",
        "llm_summary",
    )
    assert transcript.set_aside["shown to the person only"] == 1


@pytest.mark.parametrize(
    ("about", "dropped"),
    [
        ({"anchorMessage": {"id": "m1"}, "removedCount": 1}, (0,)),
        ({"anchorMessage": "m1"}, (0, 1)),
        ({"anchorMessage": {"id": "elsewhere"}, "removedCount": 2}, None),
    ],
)
def test_an_anchor_that_was_not_removed_stays_and_an_unknown_one_says_nothing(read, about, dropped):
    lines = [HEADER, line("m0", "user", text("One")), line("m1", "assistant", text("Two"))]
    transcript = one(read("d.jsonl", lines=[*lines, {"type": "compaction_state", "summaryText": "Done."} | about]))
    assert transcript.compactions[0].dropped == dropped


def test_a_file_that_goes_on_from_another_begins_with_its_compaction(read):
    first = {"type": "compaction_state", "summary": {"title": "x", "body": "Done."}, "removedCount": 5}
    transcript = one(read("d.jsonl", lines=[HEADER, first, line("m9", "user", text("More"))]))
    (event,) = transcript.compactions
    assert (event.at_seq, event.summary, event.dropped) == (0, "Done.", ())


def test_settings_beside_it_say_what_was_used_and_the_header_who_called_it(read, write):
    usage = {"inputTokens": 10, "outputTokens": 5, "cacheCreationTokens": 2, "cacheReadTokens": 3, "thinkingTokens": 1}
    write("d.settings.json", {"model": "custom:x", "tokenUsage": usage})
    lines = [HEADER | {"callingSessionId": "d-0"}, line("m0", "user", text("Look."))]
    transcript = one(read("d.jsonl", lines=lines))
    assert (transcript.parent_session_id, transcript.model, transcript.cwd) == (
        "factory_droid-d-0",
        "custom:x",
        "C:\\work",
    )
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens, transcript.usage.cached_tokens) == (15, 5, 3)


@pytest.mark.parametrize("is_beside", [True, False])
def test_what_a_fork_was_given_is_left_out_where_the_session_it_comes_from_stands_beside_it(read, write, is_beside):
    if is_beside:
        write("d-0.jsonl", lines=[HEADER | {"id": "d-0"}])
    header = HEADER | {"parent": "d-0", "forkedAtMessageId": "m0"}
    lines = [header, line("m0", "user", text("One")), line("m1", "user", text("Two"))]
    transcript = one(read("d.jsonl", lines=lines))
    assert [m.text for m in transcript.messages] == (["Two"] if is_beside else ["One", "Two"])
    assert (transcript.parent_session_id, transcript.forked_at) == ("factory_droid-d-0", int(is_beside))


def test_a_hook_without_text_is_no_message_and_a_line_that_comes_again_is_one(read):
    hook = line("h", "user", [], hookEventName="Stop", hookResults=[{"exitCode": 0}])
    said = line("m0", "user", text("One"))
    transcript = one(read("d.jsonl", lines=[HEADER, said, said, hook]))
    assert transcript.set_aside == {"bookkeeping": 2, "duplicate": 1}

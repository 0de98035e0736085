"""Qwen Code: Claude Code's envelope round turns of the Gemini API."""

from tests.flows.sources.logs.qwen_code import line


def one(result):
    assert result.format == "qwen_code"
    (transcript,) = result.transcripts
    return transcript


def texts(transcript):
    return [m.text for m in transcript.messages]


def test_turns_results_and_the_compaction_with_what_it_kept(read, line_samples):
    transcript = one(read("q-1.jsonl", lines=line_samples["qwen_code"]))
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert (transcript.session_id, transcript.cwd, transcript.model) == ("qwen_code-q-1", "/home/ada", "qwen-test-1")
    assert (transcript.messages[1].reasoning, transcript.messages[1].text) == ("hm", "I will.")
    assert (transcript.messages[2].tool_call_id, transcript.messages[2].is_error) == ("t1", True)
    assert [m.author for m in transcript.messages] == [None, None, None, "harness", None]
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens, transcript.usage.cached_tokens) == (
        100,
        20,
        50,
    )
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.summary, event.tokens_before) == (3, (0, 1), "It failed. token-4", 175)


def test_what_was_gone_back_from_is_left_out(read):
    call = {"functionCall": {"id": "t1", "name": "ls", "args": {}}}
    result = read(
        "q.jsonl",
        lines=[
            line(0, "user", [{"text": "One"}]),
            line(1, "assistant", [{"text": "Two"}]),
            line(2, "user", [{"text": "Red"}]),
            line(3, "assistant", [call]),
            line(4, "system", subtype="rewind", systemPayload={"truncatedCount": 2}, parentUuid="u1"),
            line(5, "user", [{"text": "Blue"}]),
        ],
    )
    assert texts(one(result)) == ["One", "Two", "Blue"]
    assert result.account.aside["tool_call", "rewound branch"] == 1
    assert one(result).set_aside["rewound branch"] == 3


def test_where_a_line_is_lost_what_was_before_it_stays(read):
    lines = [line(0, "user", [{"text": "One"}]), line(2, "assistant", [{"text": "Two"}], parentUuid="u1")]
    assert texts(one(read("q.jsonl", lines=lines))) == ["One", "Two"]


def test_a_fork_has_only_its_own_lines_and_names_where_it_comes_from(read):
    origin = {"sessionId": "q-0", "messageUuid": "u0"}
    lines = [line(0, "user", [{"text": "One"}], forkedFrom=origin), line(1, "user", [{"text": "Two"}])]
    transcript = one(read("q.jsonl", lines=lines))
    assert (texts(transcript), transcript.parent_session_id) == (["Two"], "qwen_code-q-0")
    assert transcript.forked_at == 1


def test_lines_of_a_sub_agent_are_a_session_of_their_own(read):
    more = {"isSidechain": True, "agentId": "explore-1"}
    lines = [line(0, "user", [{"text": "Look."}], **more), line(1, "assistant", [{"text": "Seen."}], **more)]
    transcript = one(read("q.jsonl", lines=lines))
    assert (transcript.session_id, transcript.parent_session_id) == ("qwen_code-q-1-explore-1", "qwen_code-q-1")
    assert transcript.forked_at is None


def test_what_only_the_screen_had_is_left_out(read):
    answer = {"phase": "result", "rawCommand": "/about", "outputHistoryItems": [{"type": "assistant", "text": "1.0"}]}
    lines = [
        line(0, "user", [{"text": "/about"}]),
        line(1, "system", subtype="slash_command", systemPayload=answer),
        line(2, "user", [{"text": "Hm"}], subtype="realtime_message"),
        line(3, "system", subtype="chat_compression", systemPayload={"compressedHistory": None}),
        line(4, "system", subtype="custom_title", systemPayload={"customTitle": "Mill"}),
        line(5, "user", [{"text": "One"}]),
    ]
    transcript = one(read("q.jsonl", lines=lines))
    assert (texts(transcript), transcript.title) == (["One"], "Mill")
    assert transcript.set_aside == {
        "bookkeeping": 2,
        "compaction that failed": 1,
        "local command": 1,
        "shown to the person only": 1,
    }

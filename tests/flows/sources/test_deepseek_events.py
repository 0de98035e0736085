"""DeepSeek's harness: an event log of which three kinds make the model's context."""

from tests.flows.sources.logs.deepseek_events import answer, call, event, result, step, user


def one(read_result):
    assert (read_result.format, read_result.set_aside) == ("deepseek_events", ())
    (transcript,) = read_result.transcripts
    return transcript


HEADER = {"type": "session", "version": 0, "id": "d-1", "createdAt": 1_780_000_000_000, "cwd": "/home/ada"}


def say(text):
    return {"type": "text", "text": text}


def test_chunks_and_calls_that_a_message_holds_are_not_said_again(read, line_samples):
    transcript = one(read("s.jsonl", lines=line_samples["deepseek_events"][:8]))
    assert [m.role for m in transcript.messages] == ["system", "user", "assistant", "tool"]
    assert (transcript.messages[2].text, transcript.messages[2].reasoning) == ("token-3", "hm")
    assert (transcript.messages[3].tool_call_id, transcript.messages[3].is_error) == ("c1", True)
    assert (transcript.session_id, transcript.cwd, transcript.model) == (
        "deepseek_events-d-1",
        "/home/ada",
        "deepseek-test-1",
    )
    assert (transcript.usage.input_tokens, transcript.usage.cached_tokens) == (30, 20)


def test_of_a_response_that_was_cut_what_was_streamed_counts(read):
    lines = [
        HEADER,
        user(1, "Go"),
        {"type": "reasoning-chunks", "seq0": 2, "data": step(1, index=0, texts=["h", "m"])},
        {"type": "text-chunks", "seq0": 4, "data": step(1, index=1, texts=["I ", "look"])},
        {"type": "tool-call-chunks", "seq0": 6, "data": step(1, index=2, id="c1", name="ls", args=['{"p":', "1}"])},
        event(8, "turn/end", {"turn": 1, "reason": {"kind": "aborted"}}),
    ]
    message = one(read("s.jsonl", lines=lines)).messages[1]
    assert (message.text, message.reasoning, message.tool_calls[0].parsed()) == ("I look", "hm", {"p": 1})


def test_a_summary_takes_the_place_of_the_range_that_it_names(read):
    lines = [
        HEADER,
        user(1, "One"),
        answer(2, 1, say("1")),
        user(3, "Two"),
        event(4, "compaction/summary", {"summary": [], "shadowedSeqs": [2, 3], "sourceCommandId": "x"}),
        user(5, "Summary.", by="plugin", surfaceOp={"op": "replace", "start": 2, "end": 3}),
        user(6, "Three"),
    ]
    transcript = one(read("s.jsonl", lines=lines))
    (done,) = transcript.compactions
    assert [m.text for m in transcript.messages] == ["One", "1", "Two", "Three"]
    assert (done.at_seq, done.dropped, done.summary, done.trigger) == (3, (1, 2), "Summary.", "manual")
    assert done.summary_at == 1


def test_results_that_were_pruned_together_are_one_compaction_that_clears_them(read):
    prunes = []
    for seq, (own, start) in enumerate((("c1", 3), ("c2", 4)), 5):
        prunes.append(event(seq * 2, "compaction/prune", {"shadowedRange": {"start": start, "end": start}}))
        prunes.append(
            result(seq * 2 + 1, 1, own, "[pruned]", surfaceOp={"op": "replace", "start": start, "end": start})
        )
    lines = [HEADER, user(1, "Go"), answer(2, 1, call("c1", "ls"), call("c2", "pwd"))]
    lines += [result(3, 1, "c1", "long"), result(4, 1, "c2", "longer"), *prunes]
    read_result = read("s.jsonl", lines=lines)
    transcript = one(read_result)
    assert [m.text for m in transcript.messages[2:]] == ["long", "longer"]
    (done,) = transcript.compactions
    assert (done.cleared, done.cleared_text, done.dropped, done.summary) == ((2, 3), "[pruned]", (), None)
    assert read_result.account.aside["tool", "recorded removal of old tool results"] == 2


def test_marks_in_the_place_of_what_changes_are_no_ids_and_no_prompt(read):
    header = HEADER | {"id": "{{sessionId}}", "cwd": "{{cwd}}/workspace"}
    request = event(2, "request/header", {"header": {"system": "{{system}}"}})
    names = []
    for number in (3, 4):
        transcript = one(
            read(f"{number}.jsonl", lines=[header, user(1, "Go"), request, answer(number, 1, say("Went"))])
        )
        assert ([m.role for m in transcript.messages], transcript.cwd) == (["user", "assistant"], None)
        names.append(transcript.session_id)
    assert names[0] != names[1]


def test_prompts_that_a_plugin_wrote_give_no_title_but_a_goal_does(read):
    goal = event(1, "goal/change", {"goal": {"objective": "Mend the mill."}})
    assert one(read("s.jsonl", lines=[HEADER, goal, user(2, "Round 1", by="goal")])).title == "Mend the mill."


def test_an_exit_code_in_the_last_line_is_an_error(read):
    lines = [HEADER, answer(1, 1, call("c1", "shuf")), result(2, 1, "c1", "not found\n[exit code: 127]")]
    assert one(read("s.jsonl", lines=lines)).messages[1].is_error


def test_an_unknown_event_of_the_context_is_set_aside_and_one_of_the_log_is_counted(read):
    lines = [HEADER, user(1, "Go"), event(2, "robot/message", {}, surfaceOp="append"), event(3, "robot/moved", {})]
    read_result = read("s.jsonl", lines=lines)
    assert "unknown type 'robot/message'" in read_result.set_aside[0].reason
    assert read_result.transcripts[0].set_aside["bookkeeping"] == 2

"""opencode: a call and its result are one part; what left the context is marked on it."""

from tests.flows.sources.logs.opencode_export import DOCUMENT, assistant, part, tool, user


def one(result):
    assert (result.format, result.set_aside) == ("opencode_export", ())
    (transcript,) = result.transcripts
    return transcript


def session(*messages, **info):
    return {"info": {"id": "ses_1", **info}, "messages": list(messages)}


def test_a_part_of_a_tool_becomes_a_call_and_its_result(read):
    messages = one(read("s.json", DOCUMENT)).messages
    assert [m.role for m in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert [call.id for call in messages[1].tool_calls] == ["call-3", "call-4"]
    assert [(m.tool_call_id, m.is_error) for m in messages[2:4]] == [("call-3", False), ("call-4", True)]
    assert (messages[1].reasoning, messages[3].text) == ("hm", "no such file")


def test_the_session_has_title_folder_model_usage_and_the_session_that_started_it(read):
    transcript = one(read("s.json", DOCUMENT))
    assert (transcript.session_id, transcript.parent_session_id) == ("opencode_export-ses_1", "opencode_export-ses_0")
    assert (transcript.title, transcript.cwd, transcript.model) == ("The mill", "/home/ada", "gpt-test-1")
    assert (transcript.usage.input_tokens, transcript.usage.cached_tokens) == (80, 60)
    assert (transcript.usage.output_tokens, transcript.usage.cost_usd) == (10, 0.5)


def test_a_pruning_is_a_compaction_that_clears_results_at_the_time_of_its_marks(read):
    pruned = {"start": 1, "end": 2}
    transcript = one(
        read(
            "s.json",
            session(
                user(0, part(0, "text", text="Go"), created=10),
                assistant(1, tool(1, output="A", time=pruned | {"compacted": 31_000}), created=20),
                assistant(2, tool(2, output="B", time=pruned | {"compacted": 31_004}), created=30),
                assistant(3, tool(3, output="C", time=pruned | {"compacted": 90_000}), created=30_000),
                user(4, part(4, "text", text="On"), created=40_000),
            ),
        )
    )
    first, second = transcript.compactions
    assert (first.at_seq, first.cleared, first.dropped, first.summary) == (7, (2, 4), (), None)
    assert (first.cleared_text, first.trigger) == ("[Old tool result content cleared]", "prune")
    assert (second.at_seq, second.cleared) == (8, (6,))
    assert [m.text for m in transcript.messages if m.role == "tool"] == ["A", "B", "C"]


def test_a_summary_is_a_compaction_and_no_message(read):
    transcript = one(read("s.json", DOCUMENT))
    pruning, event = transcript.compactions
    assert (pruning.cleared, pruning.at_seq) == ((2,), 4)
    assert (event.at_seq, event.summary, event.dropped) == (4, "The mill is mended.", (0, 1, 2, 3))
    assert (event.trigger, event.tokens_before) == ("auto", 45)
    assert transcript.messages[4].text == "Continue."


def test_the_tail_that_a_compaction_keeps_does_not_leave(read):
    request = part(4, "compaction", auto=False, tail_start_id="msg_2")
    transcript = one(
        read(
            "s.json",
            session(
                user(0, part(0, "text", text="One")),
                assistant(1, part(1, "text", text="1")),
                user(2, part(2, "text", text="Two")),
                assistant(3, part(3, "text", text="2")),
                user(4, request),
                assistant(5, part(5, "text", text="One was said."), summary=True),
            ),
        )
    )
    assert transcript.compactions[0].dropped == (0, 1)
    assert transcript.compactions[0].trigger == "manual"


def test_a_compaction_that_failed_leaves_everything_in_the_context(read):
    failed = assistant(2, summary=True, error={"name": "APIError"})
    result = read("s.json", session(user(0, part(0, "text", text="Go")), user(1, part(1, "compaction")), failed))
    transcript = one(result)
    assert transcript.compactions == ()
    assert transcript.set_aside["compaction that failed"] == 2


def test_a_title_on_a_prompt_is_no_compaction(read):
    prompt = user(0, part(0, "text", text="Go"))
    prompt["info"]["summary"] = {"title": "Going", "diffs": []}
    assert one(read("s.json", session(prompt))).compactions == ()


def test_ids_that_redaction_made_one_word_of_do_not_lose_a_call_or_a_message(read):
    calls = [tool(n, output=f"out {n}") | {"callID": "REDACTED"} for n in (1, 2)]
    messages = [user(0, part(0, "text", text="Go")), assistant(1, *calls), assistant(1, part(3, "text", text="Done"))]
    for message in messages:
        message["info"]["id"] = "REDACTED"
    found = one(read("s.json", session(*messages))).messages
    assert [call.id for call in found[1].tool_calls] == ["prt_1", "prt_2"]
    assert [(m.tool_call_id, m.text) for m in found[2:4]] == [("prt_1", "out 1"), ("prt_2", "out 2")]
    assert found[4].text == "Done"


def test_a_call_that_was_still_running_has_no_result(read):
    transcript = one(read("s.json", session(assistant(0, tool(1, "running"), tool(2, "pending")))))
    assert [m.role for m in transcript.messages] == ["assistant"]
    assert len(transcript.messages[0].tool_calls) == 2


def test_an_exit_code_is_an_error_and_an_interrupted_command_keeps_its_output(read):
    failed = tool(1, output="boom", metadata={"exit": 2})
    cut = tool(2, "error", error="aborted", metadata={"interrupted": True, "output": "half"})
    messages = one(read("s.json", session(assistant(0, failed, cut)))).messages
    assert [(m.text, m.is_error) for m in messages[1:]] == [("boom", True), ("half", True)]


def test_the_task_of_a_sub_agent_is_said_once(read):
    asked = part(0, "subtask", prompt="Review it.", description="review", agent="build")
    run = tool(1, output="fine")
    run["state"]["input"] = {"prompt": "Review it."}
    messages = one(read("s.json", session(user(0, asked), assistant(1, run)))).messages
    assert messages[0].text == "The following tool was executed by the user"
    assert messages[1].tool_calls[0].parsed() == {"prompt": "Review it."}
    alone = one(read("t.json", session(user(0, asked)))).messages
    assert alone[0].text.endswith("\nReview it.")


def test_images_become_marks_and_files_that_are_told_in_a_text_do_not(read):
    picture = part(1, "file", mime="image/png", url="data:image/png;base64," + "A" * 40)
    text_file = part(2, "file", mime="text/plain", url="file:///a.txt")
    attached = tool(3, output="read", attachments=[picture])
    asked = user(0, part(0, "text", text="See"), picture, text_file)
    messages = one(read("s.json", session(asked, assistant(1, attached)))).messages
    assert messages[0].text == "See\n[image image/png, 30 bytes]"
    assert messages[2].text == "read\n[image image/png, 30 bytes]"


def test_text_for_the_person_only_and_empty_responses_are_no_messages(read):
    shown = user(0, part(0, "text", text="a notice", ignored=True))
    transcript = one(
        read("s.json", session(shown, assistant(1, part(1, "step-start")), user(2, part(2, "text", text="Go"))))
    )
    assert [m.text for m in transcript.messages] == ["Go"]
    assert transcript.set_aside == {"bookkeeping": 1, "empty response": 1, "shown to the person only": 1}


def test_a_part_of_an_unknown_kind_is_set_aside_and_the_rest_goes_in(read):
    result = read("s.json", session(user(0, part(0, "text", text="Go"), part(1, "hologram", text="?"))))
    assert result.transcripts[0].messages[0].text == "Go"
    assert "unknown type 'hologram'" in result.set_aside[0].reason


def test_a_list_of_messages_is_a_session_too(read):
    transcript = one(read("messages.json", DOCUMENT["messages"]))
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "tool", "user"]


def test_the_events_of_a_run_make_a_response_of_each_step(read, line_samples):
    transcript = one(read("run.jsonl", lines=line_samples["opencode_export"]))
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert (transcript.messages[1].text, transcript.messages[1].reasoning) == ("token-3", "token-2")
    assert transcript.session_id == "opencode_export-ses_1"
    assert transcript.usage.output_tokens == 2


def test_a_context_of_more_tokens_than_a_store_can_hold_is_unknown(read):
    tokens = {"input": 10**400, "output": 1, "cache": {"read": 0, "write": 0}}
    document = {
        "info": {"id": "ses_1"},
        "messages": [
            user(0, part(0, "text", text="Go.")),
            assistant(1, part(1, "text", text="I do."), tokens=tokens),
            user(2, part(2, "compaction", auto=True)),
            assistant(3, part(3, "text", text="Done."), summary=True),
        ],
    }
    (event,) = one(read("s.json", document)).compactions
    assert event.tokens_before is None

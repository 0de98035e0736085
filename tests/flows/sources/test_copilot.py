"""GitHub Copilot CLI: named events, and the flat lines for Anthropic models."""

from tests.flows.sources.logs.copilot_cli import event, request


def one(result):
    assert (result.format, result.set_aside) == ("copilot_cli", ())
    (transcript,) = result.transcripts
    return transcript


START = event(0, "session.start", sessionId="c-1", context={"cwd": "/home/ada"})


def asks(number, text):
    return event(number, "user.message", content=text)


def answers(number, text="", *requests, **more):
    return event(
        number, "assistant.message", messageId=f"m-{number}", content=text, toolRequests=list(requests), **more
    )


def ends(number, own, content="", **more):
    return event(number, "tool.execution_complete", toolCallId=own, success=True, result={"content": content}, **more)


def test_events_become_messages_and_results_pair_by_id(read, line_samples):
    result = read("events.jsonl", lines=line_samples["copilot_cli"][:10])
    messages = one(result).messages
    assert [m.role for m in messages] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [(m.tool_call_id, m.is_error) for m in messages[3:5]] == [("t2", True), ("t1", False)]
    assert (messages[2].reasoning, messages[2].text, messages[3].tool_name) == ("hm", "token-3", "bash")
    assert messages[5].text == "token-9"


def test_a_prompt_is_what_the_model_got_and_what_was_typed_gives_the_title(read):
    prompt = event(1, "user.message", content="Mend the mill.", transformedContent="<now>5</now>\n\nMend the mill.")
    transcript = one(read("e.jsonl", lines=[START, prompt]))
    assert (transcript.messages[0].text, transcript.title) == ("<now>5</now>\n\nMend the mill.", "Mend the mill.")


def test_a_system_prompt_that_is_written_again_is_said_once(read):
    prompts = [event(n, "system.message", role="system", content=text) for n, text in enumerate("aab", 1)]
    transcript = one(read("e.jsonl", lines=[START, prompts[0], asks(8, "Go"), prompts[1], asks(9, "On"), prompts[2]]))
    assert [m.text for m in transcript.messages] == ["a", "Go", "On", "b"]
    assert transcript.set_aside["duplicate"] == 1


def test_the_summary_takes_the_place_of_what_was_said_when_the_compaction_began(read):
    lines = [
        START,
        event(1, "system.message", content="You mend."),
        asks(2, "One"),
        event(3, "session.compaction_start"),
        answers(4, "Two"),
        event(
            5,
            "session.compaction_complete",
            success=True,
            summaryContent="One.",
            preCompactionTokens=9,
            trigger="manual",
        ),
        asks(6, "Three"),
    ]
    (done,) = one(read("e.jsonl", lines=lines)).compactions
    assert (done.at_seq, done.dropped, done.summary, done.tokens_before, done.trigger) == (3, (1,), "One.", 9, "manual")


def test_a_compaction_that_failed_is_none_and_one_without_its_summary_says_so(read):
    failed = event(2, "session.compaction_complete", success=False, error="no")
    silent = event(3, "session.compaction_complete", success=True, checkpointNumber=1)
    (done,) = one(read("e.jsonl", lines=[START, asks(1, "Go"), failed, silent])).compactions
    assert (done.summary, done.has_opaque_summary, done.dropped) == (None, True, (0,))


def test_a_truncation_does_not_say_what_it_dropped_and_a_cleared_context_dropped_all(read):
    cut = event(2, "session.truncation", messagesRemovedDuringTruncation=3, performedBy="BasicTruncator")
    clear = event(3, "session.context_cleared", messagesCleared=1)
    first, second = one(read("e.jsonl", lines=[START, asks(1, "Go"), cut, clear, asks(4, "On")])).compactions
    assert (first.dropped, first.summary, first.trigger) == (None, None, "BasicTruncator")
    assert (second.dropped, second.trigger) == ((0,), "clear")


def test_a_sub_agent_is_a_session_of_its_own(read):
    inner = answers(4, "Looking", request("t9")) | {"agentId": "agent-7"}
    lines = [
        START,
        asks(1, "Go"),
        answers(2, "", request("t1", "task", prompt="Look")),
        event(3, "subagent.started", toolCallId="t1", agentName="explore", agentDisplayName="Explore")
        | {"agentId": "agent-7"},
        inner,
        ends(5, "t9", "seen") | {"agentId": "agent-7"},
        ends(6, "t1", "Report"),
    ]
    result = read("e.jsonl", lines=lines)
    main, child = result.transcripts
    assert [m.role for m in main.messages] == ["user", "assistant", "tool"]
    assert [m.text for m in child.messages] == ["Looking", "seen"]
    assert (child.session_id, child.parent_session_id) == ("copilot_cli-c-1-agent-7", "copilot_cli-c-1")
    assert child.title == "Explore"


def test_older_events_name_the_call_that_started_the_sub_agent(read):
    inner = event(3, "assistant.message", messageId="x", content="Looking", parentToolCallId="t1")
    result = read("e.jsonl", lines=[START, asks(1, "Go"), answers(2, "", request("t1", "task")), inner])
    assert [t.session_id for t in result.transcripts] == ["copilot_cli-c-1", "copilot_cli-c-1-t1"]


def test_totals_at_shutdown_count_and_reports_of_responses_only_without_them(read):
    spent = {"usage": {"inputTokens": 100, "outputTokens": 9, "cacheReadTokens": 40}}
    lines = [START, answers(1, "One", outputTokens=5), answers(2, "Two", outputTokens=6)]
    assert one(read("a.jsonl", lines=lines)).usage.output_tokens == 11
    usage = one(read("b.jsonl", lines=[*lines, event(3, "session.shutdown", modelMetrics={"m": spent})])).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (100, 9, 40)


def test_a_tool_that_the_person_ran_is_a_message_of_the_user(read):
    ran = event(1, "tool.user_requested", toolCallId="u1", toolName="bash", arguments={"command": "ls"})
    messages = one(read("e.jsonl", lines=[START, ran, ends(2, "u1", "wheel.py", isUserRequested=True)])).messages
    assert [(m.role, m.text) for m in messages] == [("user", 'Ran bash {"command":"ls"}\nwheel.py')]


def test_the_call_of_a_response_that_is_not_in_the_log_is_known_from_its_start(read):
    started = event(1, "tool.execution_start", toolCallId="t1", toolName="bash", arguments={"command": "ls"})
    messages = one(read("e.jsonl", lines=[START, started, ends(2, "t1", "wheel.py")])).messages
    assert [(m.role, len(m.tool_calls), m.tool_call_id) for m in messages] == [
        ("assistant", 1, None),
        ("tool", 0, "t1"),
    ]


def test_what_was_taken_back_is_a_rewound_branch(read):
    back = event(4, "session.snapshot_rewind", upToEventId="e-2", eventsRemoved=2)
    lines = [START, asks(1, "Go"), asks(2, "Left"), answers(3, "No", request("t1")), back, asks(5, "Right")]
    result = read("e.jsonl", lines=lines)
    assert [m.text for m in one(result).messages] == ["Go", "Right"]
    assert result.account.aside["user", "rewound branch"] == 1
    assert result.account.aside["tool_call", "rewound branch"] == 1


def test_a_skill_that_is_told_again_as_a_prompt_is_said_once(read):
    skill = event(1, "skill.invoked", name="mill", content="How to mend.")
    told = event(2, "user.message", content="<skill>How to mend.</skill>", source="skill-mill")
    assert [m.text for m in one(read("a.jsonl", lines=[START, skill, told])).messages] == [
        "<skill>How to mend.</skill>"
    ]
    assert [m.text for m in one(read("b.jsonl", lines=[START, skill])).messages] == ["How to mend."]


def test_a_shell_that_ended_with_an_exit_code_failed_though_the_tool_did_not(read):
    lines = [START, answers(1, "", request("t1"), request("t2"))]
    lines += [
        ends(2, "t1", "x\n<shellId: 3 completed with exit code 128>"),
        ends(3, "t2", "<shellId: 4 completed with exit code 0>"),
    ]
    assert [m.is_error for m in one(read("e.jsonl", lines=lines)).messages[1:]] == [True, False]


def test_reasoning_that_is_reported_apart_belongs_to_the_response_after_it(read):
    thought = event(1, "assistant.reasoning", reasoningId="r", content="hm")
    messages = one(read("e.jsonl", lines=[START, thought, answers(2, "Done", reasoningText="hm, yes")])).messages
    assert [(m.text, m.reasoning) for m in messages] == [("Done", "hm, yes")]


def test_flat_lines_make_a_response_of_its_text_and_all_its_calls(read):
    lines = [
        {"type": "message", "role": "user", "content": "Go"},
        {"type": "message", "role": "assistant", "content": "I look.", "model": "claude-test-1"},
        {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "b", "name": "bash", "input": {"command": "pwd"}},
        {"type": "tool_result", "tool_use_id": "b", "content": "/home", "is_error": True},
        {"type": "tool_result", "tool_use_id": "a", "content": "wheel.py"},
        {"type": "usage", "input_tokens": 7, "output_tokens": 3},
    ]
    transcript = one(read("flat.jsonl", lines=lines))
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "tool"]
    assert [call.id for call in transcript.messages[1].tool_calls] == ["a", "b"]
    assert [(m.tool_call_id, m.is_error) for m in transcript.messages[2:]] == [("b", True), ("a", False)]
    assert (transcript.model, transcript.usage.output_tokens) == ("claude-test-1", 3)


def test_the_first_prompt_of_a_sub_agent_is_its_own_although_it_names_no_agent(read):
    task = {"toolCallId": "t1", "name": "task", "arguments": {"prompt": "Count wheels."}}
    lines = [
        START,
        asks(1, "Delegate."),
        answers(2, "", task),
        event(3, "subagent.started", toolCallId="t1", agentName="task"),
        asks(4, "Count wheels."),
        event(5, "assistant.message", messageId="m-5", content="One.", parentToolCallId="t1"),
        ends(6, "t1", "One."),
        asks(7, "Count wheels."),
    ]
    main, agent = read("e.jsonl", lines=lines).transcripts
    assert [m.text for m in main.messages] == ["Delegate.", "", "One.", "Count wheels."]
    assert [(m.role, m.text) for m in agent.messages] == [("user", "Count wheels."), ("assistant", "One.")]
    assert agent.cwd == "/home/ada"


def test_calls_that_a_response_does_not_name_go_to_the_response_before_them(read):
    begins = [event(n, "tool.execution_start", toolCallId=f"t{n}", toolName="bash", arguments={}) for n in (3, 4)]
    lines = [START, asks(1, "Go"), answers(2, "Going."), *begins, ends(5, "t3", "a"), ends(6, "t4", "b")]
    messages = one(read("e.jsonl", lines=lines)).messages
    assert [m.role for m in messages] == ["user", "assistant", "tool", "tool"]
    assert [call.id for call in messages[1].tool_calls] == ["t3", "t4"]


def test_size_and_trigger_of_a_compaction_are_those_told_when_it_began(read):
    begins = event(3, "session.compaction_start", currentTokens=9000, trigger="threshold")
    ended = event(4, "session.compaction_complete", success=True, summaryContent="Short.")
    (done,) = one(read("e.jsonl", lines=[START, asks(1, "Go"), answers(2, "Gone."), begins, ended])).compactions
    assert (done.tokens_before, done.trigger, done.dropped) == (9000, "threshold", (0, 1))


def hooked(n, prompt):
    return event(n, "hook.start", hookType="userPromptSubmitted", input={"prompt": prompt})


def test_a_prompt_that_only_a_hook_tells_of_is_a_prompt_and_another_is_said_once(read):
    lines = [
        START,
        hooked(1, "Mend the mill"),
        answers(2, "Mended."),
        hooked(3, "And the dam"),
        asks(4, "And the dam"),
        answers(5, "Done."),
        hooked(6, "Thanks"),
        event(7, "hook.start", hookType="agentStop", input={"prompt": "no"}),
    ]
    transcript = one(read("e.jsonl", lines=lines))
    assert [(m.role, m.text) for m in transcript.messages] == [
        ("user", "Mend the mill"), ("assistant", "Mended."),
        ("user", "And the dam"), ("assistant", "Done."), ("user", "Thanks"),
    ]  # fmt: skip
    assert transcript.title == "Mend the mill"


def test_a_queued_prompt_that_a_hook_told_of_early_is_one_prompt(read):
    lines = [START, asks(1, "Go"), hooked(2, "Hurry"), answers(3, "Going."), asks(4, "Hurry")]
    transcript = one(read("e.jsonl", lines=lines))
    assert [m.text for m in transcript.messages] == ["Go", "Hurry", "Going."]


def test_a_prompt_before_its_hook_is_one_prompt_and_the_same_one_again_is_another(read):
    lines = [START, asks(1, "Go"), hooked(2, "Go"), answers(3, "Gone."), hooked(4, "Go"), answers(5, "Gone again.")]
    transcript = one(read("e.jsonl", lines=lines))
    assert [m.text for m in transcript.messages] == ["Go", "Gone.", "Go", "Gone again."]

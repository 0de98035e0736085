"""What ``claude -p --output-format stream-json`` prints, and what reaches Claude Code while it works."""

SESSION = {"session_id": "s-1"}


def said(own, *blocks, parent=None, **more):
    message = {"id": own, "role": "assistant", "model": "claude-test-1", "content": list(blocks), **more}
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent, "uuid": f"u-{own}", **SESSION}


def user(uuid, content, parent=None, **more):
    line = {"type": "user", "message": {"role": "user", "content": content}, "uuid": uuid, **SESSION}
    return {**line, "parent_tool_use_id": parent, **more}


def text(value):
    return {"type": "text", "text": value}


def use(own, name="Agent", **arguments):
    return {"type": "tool_use", "id": own, "name": name, "input": arguments}


def result_of(own, content):
    return [{"type": "tool_result", "tool_use_id": own, "content": content}]


START = {"type": "system", "subtype": "init", "cwd": "/home/ada", "uuid": "u-0", **SESSION}
END = {"type": "result", "subtype": "success", "result": "Done.", "total_cost_usd": 0.25, "uuid": "u-9", **SESSION}


def test_a_stream_has_the_id_folder_and_cost_that_its_own_lines_name(read):
    usage = {"usage": {"input_tokens": 5, "output_tokens": 2}}
    result = read("out.jsonl", lines=[START, user("u-1", "Mend the mill"), said("m-1", text("Done."), **usage), END])
    assert (result.format, result.set_aside) == ("claude_code", ())
    (transcript,) = result.transcripts
    assert (transcript.session_id, transcript.cwd) == ("claude_code-s-1", "/home/ada")
    assert (transcript.usage.input_tokens, transcript.usage.cost_usd) == (5, 0.25)
    assert [m.text for m in transcript.messages] == ["Mend the mill", "Done."]


def test_in_a_stream_a_sub_agents_messages_name_the_call_that_started_it(read):
    started = {"type": "system", "subtype": "task_started", "task_id": "a7", "tool_use_id": "t1", "uuid": "u-2"}
    lines = [
        START,
        said("m-1", use("t1", prompt="Count wheels")),
        started | SESSION,
        user("u-3", [text("Count wheels")], parent="t1"),
        said("m-2", use("t2", "Bash", command="ls"), parent="t1"),
        user("u-4", result_of("t2", "one wheel"), parent="t1"),
        user("u-5", result_of("t1", "One.")),
    ]
    main, agent = read("out.jsonl", lines=lines).transcripts
    assert [(m.role, m.text) for m in main.messages] == [("assistant", ""), ("tool", "One.")]
    assert [(m.role, m.text) for m in agent.messages] == [
        ("user", "Count wheels"),
        ("assistant", ""),
        ("tool", "one wheel"),
    ]
    assert (agent.session_id, agent.parent_session_id) == ("claude_code-s-1-agent-a7", main.session_id)


def test_in_a_stream_the_summary_is_the_synthetic_prompt_after_the_boundary(read):
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "u-3", **SESSION}
    boundary["compact_metadata"] = {"trigger": "auto", "pre_tokens": 155_000}
    lines = [START, user("u-1", "Go"), said("m-1", text("Going.")), boundary]
    lines += [user("u-4", "We went.", isSynthetic=True), said("m-2", text("On."))]
    (transcript,) = read("out.jsonl", lines=lines).transcripts
    (event,) = transcript.compactions
    assert (event.summary, event.dropped, event.tokens_before, event.trigger) == ("We went.", (0, 1), 155_000, "auto")
    assert [m.text for m in transcript.messages] == ["Go", "Going.", "On."]


def test_the_notice_that_a_task_ended_reaches_the_model_and_is_nobodys_prompt(read, claude):
    queued = {"type": "queued_command", "prompt": "<task-notification>done</task-notification>"}
    other = {"type": "queued_command", "prompt": "Hello from next door", "origin": {"kind": "peer"}}
    lines = [
        claude.line("attachment", "u-1", None, attachment=queued | {"commandMode": "task-notification"}),
        claude.line("attachment", "u-2", "u-1", attachment=other | {"commandMode": "prompt"}),
        claude.user("u-3", "u-2", "Mend the mill"),
    ]
    (transcript,) = read("s.jsonl", lines=lines).transcripts
    assert [m.role for m in transcript.messages] == ["user"] * 3
    assert transcript.messages[0].text.startswith("<task-notification>")
    assert transcript.title == "Mend the mill"


def test_the_envelope_of_claude_code_round_turns_of_gemini_is_another_agents_log(read):
    turn = {"type": "user", "uuid": "u-1", "sessionId": "q", "message": {"role": "user", "parts": [{"text": "Hi"}]}}
    notice = {"type": "system", "uuid": "u-2", "sessionId": "q", "parentUuid": "u-1", "subtype": "telemetry"}
    assert read("q.jsonl", lines=[turn, notice]).format == "qwen_code"

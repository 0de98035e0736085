"""Codex rollouts: the response items once, grouped into responses."""

import json

from compaction.reading.file_effects import file_ops


def one(result):
    assert result.format == "codex_rollout"
    return result.transcripts[0]


def text(role, *parts):
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": part} for part in parts]}


def test_items_in_a_row_are_one_response_until_an_output_follows(read, codex_line):
    item = lambda **payload: codex_line("response_item", **payload)  # noqa: E731
    transcript = one(
        read(
            "rollout.jsonl",
            lines=[
                codex_line("session_meta", id="c-1", cwd="/x", base_instructions={"text": "Be brief."}),
                item(**text("developer", "Sandbox off.", "No network.")),
                item(**text("user", "# AGENTS.md instructions for /x")),
                item(**text("user", "Mend the mill")),
                codex_line("event_msg", type="user_message", message="Mend the mill"),
                codex_line("turn_context", model="gpt-test"),
                item(
                    type="reasoning",
                    summary=[{"type": "summary_text", "text": "Look first."}],
                    encrypted_content="b3Bh",
                ),
                item(**text("assistant", "Looking.")),
                item(type="function_call", call_id="f1", name="shell", arguments='{"cmd": "ls"}'),
                item(type="custom_tool_call", call_id="f2", name="apply_patch", input="*** Begin Patch"),
                codex_line("event_msg", type="agent_message", message="Looking."),
                item(type="custom_tool_call_output", call_id="f2", output="Exit code: 0\nOutput:\nExit code: 1"),
                item(
                    type="function_call_output",
                    call_id="f1",
                    output="Chunk ID: 1\nProcess exited with code 2\nOutput:\n",
                ),
                item(type="web_search_call", status="completed", action={"type": "search", "query": "mills"}),
            ],
        )
    )
    assert [m.role for m in transcript.messages] == [
        "system",
        "system",
        "user",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert transcript.messages[1].text == "Sandbox off.\nNo network."
    answer = transcript.messages[4]
    assert (answer.text, answer.reasoning) == ("Looking.", "Look first.")
    assert [(c.id, c.name, c.parsed()) for c in answer.tool_calls] == [
        ("f1", "shell", {"cmd": "ls"}),
        ("f2", "apply_patch", {"input": "*** Begin Patch"}),
    ]
    assert [(m.tool_name, m.is_error) for m in transcript.messages[5:7]] == [("apply_patch", False), ("shell", True)]
    assert transcript.messages[7].tool_calls[0].name == "web_search"
    assert (transcript.title, transcript.model, transcript.session_id) == (
        "Mend the mill",
        "gpt-test",
        "codex_rollout-c-1",
    )
    assert transcript.set_aside == {"bookkeeping": 3}


def test_a_compaction_says_what_left_the_context_although_its_summary_is_secret(read, codex_line):
    usage = {"last_token_usage": {"total_tokens": 90_000}}
    kept = text("user", "Mend the mill")
    transcript = one(
        read(
            "rollout.jsonl",
            lines=[
                codex_line("session_meta", id="c-1", base_instructions={"text": "Be brief."}),
                codex_line("response_item", **kept),
                codex_line("response_item", **text("assistant", "Half.")),
                codex_line("event_msg", type="token_count", info=usage),
                codex_line("compacted", message="", replacement_history=[kept, {"type": "compaction"}]),
                codex_line("response_item", **text("assistant", "Rest.")),
                codex_line("compacted", message="All is done."),
            ],
        )
    )
    assert [m.text for m in transcript.messages] == ["Be brief.", "Mend the mill", "Half.", "Rest."]
    first, second = transcript.compactions
    assert (first.at_seq, first.summary, first.dropped, first.tokens_before) == (3, None, (2,), 90_000)
    assert (second.at_seq, second.summary, second.dropped) == (4, "All is done.", None)
    assert (first.has_opaque_summary, second.has_opaque_summary) == (True, False)
    assert transcript.set_aside["recorded compaction summary"] == 2


def test_the_first_of_several_headers_names_a_forked_session_and_repeated_items_count_once(read, codex_line):
    call = codex_line("response_item", type="function_call", call_id="f1", name="shell", arguments="{}")
    output = codex_line("response_item", type="function_call_output", call_id="f1", output="ok")
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "c-0"}}}
    transcript = one(
        read(
            "rollout.jsonl",
            lines=[
                codex_line("session_meta", id="c-2", source=spawned),
                codex_line("session_meta", id="c-1"),
                *(call, output, call, output),
            ],
        )
    )
    assert (transcript.session_id, transcript.parent_session_id) == ("codex_rollout-c-2", "codex_rollout-c-0")
    assert [m.role for m in transcript.messages] == ["assistant", "tool"]
    assert transcript.set_aside["duplicate"] == 2


def test_items_of_old_rollouts_come_without_an_envelope_and_wrap_outputs_in_json(read):
    output = json.dumps({"output": "no such file", "metadata": {"exit_code": 1}})
    transcript = one(
        read(
            "rollout.jsonl",
            lines=[
                {"id": "c-1", "timestamp": "2025-06-01T10:00:00Z", "instructions": "Be brief."},
                {"record_type": "state"},
                text("user", "Mend the mill"),
                {"type": "local_shell_call", "call_id": "f1", "action": {"type": "exec", "command": ["ls"]}},
                {"type": "function_call_output", "call_id": "f1", "output": output},
            ],
        )
    )
    assert [m.role for m in transcript.messages] == ["system", "user", "assistant", "tool"]
    assert transcript.messages[2].tool_calls[0].parsed() == {"type": "exec", "command": ["ls"]}
    assert (transcript.messages[3].text, transcript.messages[3].is_error) == ("no such file", True)


def test_a_readable_summary_stands_behind_what_is_kept(read, codex_line):
    kept = text("user", "Mend the mill")
    lines = [
        codex_line("session_meta", id="c-1", base_instructions={"text": "Be brief."}),
        codex_line("response_item", **kept),
        codex_line("response_item", **text("assistant", "Half.")),
        codex_line("compacted", message="Half is done.", replacement_history=[kept]),
    ]
    (event,) = one(read("rollout.jsonl", lines=lines)).compactions
    assert (event.dropped, event.summary_at) == ((2,), 2)


def test_totals_are_repeated_and_count_once_and_those_of_a_client_started_anew_are_added(read, codex_line):
    def totals(sent, written):
        total = {"input_tokens": sent, "cached_input_tokens": sent // 2, "output_tokens": written}
        return codex_line("event_msg", type="token_count", info={"total_token_usage": total})

    lines = [codex_line("response_item", **text("user", "Go")), totals(100, 1), totals(300, 2), totals(300, 2)]
    usage = one(read("rollout.jsonl", lines=[*lines, totals(50, 4)])).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (350, 175, 6)


def item(codex_line, **payload):
    return codex_line("response_item", **payload)


def test_turns_that_were_rolled_back_are_left_out_with_the_compaction_in_them(read, codex_line):
    kept = [codex_line("session_meta", id="c-1", cwd="/x"), item(codex_line, **text("user", "First"))]
    kept.append(item(codex_line, **text("assistant", "One.")))
    taken_back = [
        item(codex_line, **text("user", "Second")),
        item(codex_line, type="function_call", call_id="f1", name="shell", arguments="{}"),
        item(codex_line, type="function_call_output", call_id="f1", output="gone"),
        codex_line("compacted", message="Short.", replacement_history=[]),
        item(codex_line, **text("user", "<environment_context>later</environment_context>")),
        item(codex_line, **text("user", "Third")),
    ]
    back = codex_line("event_msg", type="thread_rolled_back", num_turns=2)
    result = read("r.jsonl", lines=[*kept, *taken_back, back, item(codex_line, **text("user", "Instead"))])
    transcript = one(result)
    assert [m.text for m in transcript.messages] == ["First", "One.", "Instead"]
    assert transcript.compactions == ()
    assert transcript.set_aside["rewound branch"] == 6
    left = {kind: count for (kind, reason), count in result.account.aside.items() if reason == "rewound branch"}
    assert left == {"user": 3, "assistant": 1, "tool_call": 1, "tool": 1}


def test_a_rollback_of_more_turns_than_there_are_takes_back_all_of_them(read, codex_line):
    lines = [codex_line("session_meta", id="c-1", base_instructions={"text": "Be brief."})]
    lines += [item(codex_line, **text("user", "Go")), codex_line("event_msg", type="thread_rolled_back", num_turns=9)]
    assert [m.role for m in one(read("r.jsonl", lines=lines)).messages] == ["system"]


def test_what_another_agent_wrote_is_a_prompt_and_what_is_encrypted_a_mark(read, codex_line):
    wrote = {"type": "agent_message", "author": "/root", "recipient": "/root/review"}
    secret = [{"type": "encrypted_content", "encrypted_content": "b3Bh"}]
    delivered = {"author": "/root", "recipient": "/root/review", "content": "Hurry.", "trigger_turn": False}
    lines = [
        codex_line("session_meta", id="c-2", parent_thread_id="c-1", thread_source="subagent"),
        item(codex_line, **wrote, content=[{"type": "input_text", "text": "Review it."}, *secret]),
        codex_line("inter_agent_communication_metadata", trigger_turn=True),
        codex_line("inter_agent_communication", **delivered),
        item(codex_line, **wrote, content=secret),
    ]
    result = read("r.jsonl", lines=lines)
    transcript = one(result)
    assert result.set_aside == ()
    assert [m.text for m in transcript.messages] == ["Review it.", "Hurry.", "[encrypted message of /root]"]
    assert transcript.parent_session_id == "codex_rollout-c-1"


def test_the_oldest_rollouts_have_every_kind_of_item_bare_and_the_folder_in_a_prompt(read):
    lines = [
        {"id": "c-0", "timestamp": "2025-08-20T10:00:00Z", "instructions": None},
        {"record_type": "state"},
        text("user", "<environment_context>\n  <cwd>/home/ada</cwd>\n</environment_context>"),
        text("user", "Mend it"),
        {"type": "custom_tool_call", "call_id": "f1", "name": "apply_patch", "input": "*** Begin Patch"},
        {"type": "custom_tool_call_output", "call_id": "f1", "output": '{"output":"no","metadata":{"exit_code":1}}'},
        {"type": "web_search_call", "id": "w1", "action": {"type": "search", "query": "mills"}},
    ]
    transcript = one(read("r.jsonl", lines=lines))
    assert [m.role for m in transcript.messages] == ["user", "user", "assistant", "tool", "assistant"]
    assert (transcript.messages[3].text, transcript.messages[3].is_error) == ("no", True)
    assert transcript.cwd == "/home/ada"


def test_a_line_of_an_unknown_type_with_messages_in_it_is_set_aside(read, codex_line):
    change = codex_line("history_mutation", operation="append", items=[text("user", "Mend it")])
    result = read("r.jsonl", lines=[codex_line("session_meta", id="c-1"), change, codex_line("world_state", full=True)])
    assert "history_mutation" in result.set_aside[0].reason


def test_of_a_prompt_with_an_editors_context_the_request_is_the_title(read, codex_line):
    prompt = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nMend the mill\n"
    lines = [codex_line("session_meta", id="c-1"), item(codex_line, **text("user", prompt))]
    assert one(read("r.jsonl", lines=lines)).title == "Mend the mill"


def test_a_log_that_begins_behind_a_compaction_has_what_was_kept_as_messages(read, codex_line):
    kept = [text("user", "Keep the API stable"), text("developer", "Sandbox off."), text("user", "Nothing new")]
    compacted = codex_line("compacted", message="", replacement_history=[*kept, {"type": "compaction"}])
    lines = [
        codex_line("session_meta", id="c-1", base_instructions={"text": "Be brief."}),
        compacted,
        item(codex_line, **text("user", "Now the tests")),
        item(codex_line, **text("assistant", "Done.")),
        codex_line("compacted", message="All is done.", replacement_history=[text("user", "Now the tests")]),
        item(codex_line, **text("assistant", "More.")),
    ]
    transcript = one(read("r.jsonl", lines=lines))
    assert [m.text for m in transcript.messages] == [
        "Be brief.", "Keep the API stable", "Sandbox off.", "Nothing new", "Now the tests", "Done.", "More.",
    ]  # fmt: skip
    assert [(c.at_seq, c.dropped, c.has_opaque_summary) for c in transcript.compactions] == [
        (0, (), True),
        (6, (1, 2, 3, 5), False),
    ]
    assert transcript.set_aside["beginning of the session, before its first compaction"] == 1
    assert transcript.title == "Keep the API stable"


def test_what_a_client_says_when_it_starts_is_nothing_before_a_compaction(read, codex_line):
    started = [
        text("developer", "Sandbox off."),
        text("user", "# AGENTS.md instructions for /w\n\nNever push."),
        text("user", "<environment_context><cwd>/w</cwd></environment_context>"),
    ]
    kept = [*started, text("user", "Keep the API stable")]
    lines = [
        codex_line("session_meta", id="c-1"),
        *(item(codex_line, **one_of) for one_of in started),
        codex_line("compacted", message="", replacement_history=kept),
        item(codex_line, **text("assistant", "Done.")),
    ]
    transcript = one(read("r.jsonl", lines=lines))
    assert [m.author for m in transcript.messages] == [None, "rules", "harness", None, None]
    assert [m.text for m in transcript.messages][3:] == ["Keep the API stable", "Done."]
    assert transcript.set_aside["beginning of the session, before its first compaction"] == 1


def test_a_summary_among_what_was_kept_is_the_summary_and_no_message(read, codex_line):
    kept = [text("user", "Keep the API stable"), text("user", "Another model wrote:\nHalf is done.")]
    lines = [
        codex_line("compacted", message="Half is done.", replacement_history=kept),
        item(codex_line, **text("assistant", "Done.")),
    ]
    transcript = one(read("r.jsonl", lines=lines))
    assert [m.text for m in transcript.messages] == ["Keep the API stable", "Done."]
    assert [(c.at_seq, c.summary) for c in transcript.compactions] == [(0, "Half is done.")]


def completed(codex_line, **fields):
    return codex_line("event_msg", type="item_completed", thread_id="c-1", turn_id="1", item=fields)


def test_what_a_program_ran_are_calls_of_the_response_that_called_it(read, codex_line):
    """In code mode one call holds a program; commands and changes stand in events."""
    program = 'await tools.exec_command({"cmd": "rm -rf build > log.txt"}); await tools.apply_patch("...");'
    changes = {
        "/w/src/port.rs": {"type": "update", "unified_diff": "@@\n-80\n+8080\n", "move_path": None},
        "/w/new.rs": {"type": "add", "content": "fn main() {}"},
        "/w/old.rs": {"type": "delete", "content": ""},
    }
    lines = [
        codex_line("session_meta", id="c-1", cwd="/w"),
        item(codex_line, **text("user", "Set the port")),
        item(codex_line, type="custom_tool_call", call_id="e1", name="exec", input=program),
        completed(codex_line, type="CommandExecution", id="i1", command=["bash", "-lc", "cat a.toml"], exit_code=0),
        completed(codex_line, type="FileChange", id="i2", changes=changes, status="completed"),
        completed(
            codex_line, type="FileChange", id="i3", changes=[{"path": "b.rs", "kind": "update"}], status="failed"
        ),
        completed(codex_line, type="AgentMessage", id="i4", content=[]),
        item(codex_line, type="custom_tool_call_output", call_id="e1", output="Script completed\nOutput:\n80"),
        completed(codex_line, type="CommandExecution", id="i5", command="cargo test", exit_code=101, status="failed"),
        item(codex_line, **text("assistant", "Port is 8080 now")),
    ]
    result = read("r.jsonl", lines=lines)
    transcript = one(result)
    assert result.set_aside == ()
    [calling] = [m for m in transcript.messages if m.tool_calls]
    assert [c.name for c in calling.tool_calls] == [
        "exec",
        "exec_command",
        "apply_patch",
        "apply_patch",
        "exec_command",
    ]
    results = [m for m in transcript.messages if m.role == "tool"]
    assert [(m.tool_call_id, m.is_error) for m in results] == [
        ("i1", False), ("i2", False), ("i3", True), ("e1", False), ("i5", True),
    ]  # fmt: skip
    assert [m.text for m in results] == [
        "Exit code: 0", "M /w/src/port.rs\nA /w/new.rs\nD /w/old.rs", "M b.rs", "Script completed\nOutput:\n80",
        "Exit code: 101",
    ]  # fmt: skip
    assert {(op.path, op.verb) for op in file_ops(transcript.messages, "/w")} == {
        ("a.toml", "examined"), ("src/port.rs", "modified"), ("new.rs", "created"), ("old.rs", "deleted"),
    }  # fmt: skip


def test_an_event_that_tells_of_a_call_of_the_log_is_no_second_call(read, codex_line):
    """Where there is no program the same events repeat the model's own calls."""
    lines = [
        item(codex_line, **text("user", "Look")),
        item(codex_line, type="custom_tool_call", call_id="e1", name="exec", input="text(1)"),
        item(codex_line, type="custom_tool_call_output", call_id="e1", output="1"),
        item(codex_line, type="function_call", call_id="f1", name="exec_command", arguments='{"cmd": "ls"}'),
        completed(codex_line, type="CommandExecution", id="f1", command="ls", exit_code=0),
        item(codex_line, type="function_call_output", call_id="f1", output="a"),
    ]
    transcript = one(read("r.jsonl", lines=lines))
    assert [call.id for m in transcript.messages for call in m.tool_calls] == ["e1", "f1"]


def test_a_program_may_be_a_function_call_and_what_the_person_ran_is_not_its(read, codex_line):
    ran = {"type": "CommandExecution", "status": "completed", "exit_code": 0}
    lines = [
        item(codex_line, **text("user", "Look")),
        item(codex_line, type="function_call", call_id="e1", name="exec", arguments='{"code": "text(1)"}'),
        completed(codex_line, id="i1", command="ls", source="agent", **ran),
        completed(codex_line, id="i2", command="git status", source="user_shell", **ran),
        item(codex_line, type="function_call_output", call_id="e1", output="1"),
    ]
    transcript = one(read("r.jsonl", lines=lines))
    assert [call.id for m in transcript.messages for call in m.tool_calls] == ["e1", "i1"]

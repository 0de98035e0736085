"""Claude Code logs: what a session was, out of split, interleaved and repeated lines."""

import json

NOISE = "<local-command-stdout>Bye</local-command-stdout>"


def roles(transcript):
    return [message.role for message in transcript.messages]


def one(result):
    assert result.format == "claude_code"
    assert len(result.transcripts) == 1
    return result.transcripts[0]


def test_pieces_of_one_response_become_one_message_even_with_results_between_them(read, claude):
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                claude.user("u1", None, "Go"),
                claude.says("a1", "u1", "m1", {"type": "thinking", "thinking": "Both.", "signature": "opaque"}),
                claude.says("a2", "a1", "m1", {"type": "text", "text": "Running."}),
                claude.says("a3", "a2", "m1", claude.use("t1", command="one")),
                claude.user("r1", "a3", [claude.result("t1", "first")]),
                claude.says("a4", "a3", "m1", claude.use("t2", command="two")),
                claude.user("r2", "a4", [claude.result("t2", "second")]),
            ],
        )
    )
    assert roles(transcript) == ["user", "assistant", "tool", "tool"]
    answer = transcript.messages[1]
    assert (answer.text, answer.reasoning) == ("Running.", "Both.")
    assert [call.id for call in answer.tool_calls] == ["t1", "t2"]
    assert json.loads(answer.tool_calls[0].arguments) == {"command": "one"}
    assert [(m.tool_call_id, m.tool_name, m.text) for m in transcript.messages[2:]] == [
        ("t1", "Bash", "first"),
        ("t2", "Bash", "second"),
    ]
    assert [m.seq for m in transcript.messages] == [0, 1, 2, 3]
    assert answer.source_ref == "s.jsonl:2"
    assert (transcript.session_id, transcript.model, transcript.cwd) == (
        "claude_code-s-1",
        "claude-test-1",
        "/home/ada/mill",
    )
    assert transcript.title == "Go"


def test_a_result_whose_line_comes_before_its_call_is_placed_behind_it(read, claude):
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                claude.user("u1", None, "Go"),
                claude.user("r1", "a1", [claude.result("t1", "early")]),
                claude.says("a1", "u1", "m1", claude.use("t1")),
            ],
        )
    )
    assert roles(transcript) == ["user", "assistant", "tool"]


def test_two_objects_on_one_line_are_both_read(write, read, claude):
    lines = [json.dumps(line) for line in (claude.user("u1", None, "One"), claude.user("u2", "u1", "Two"))]
    path = write("s.jsonl", "".join(lines).encode() + b"\n")
    assert [m.text for m in one(read(path)).messages] == ["One", "Two"]


def test_a_progress_notice_and_a_prompt_on_one_line_keep_the_prompt(write, read, claude):
    progress = claude.line("progress", "p1", "u1", data={"type": "hook_progress"})
    text = "".join(json.dumps(line, separators=(",", ":")) for line in (progress, claude.user("u2", "p1", "Two")))
    path = write("s.jsonl", json.dumps(claude.user("u1", None, "One")).encode() + b"\n" + text.encode())
    transcript = one(read(path))
    assert [m.text for m in transcript.messages] == ["One", "Two"]
    assert transcript.set_aside == {"bookkeeping": 1}


def test_a_line_that_occurs_twice_is_read_once(read, claude):
    prompt, answer = claude.user("u1", None, "Go"), claude.says("a1", "u1", "m1", {"type": "text", "text": "Done."})
    transcript = one(read("s.jsonl", lines=[prompt, answer, prompt, answer]))
    assert roles(transcript) == ["user", "assistant"]
    assert transcript.set_aside["duplicate"] == 2


def test_a_prompt_that_was_written_anew_drops_the_branch_of_the_old_one(read, claude):
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                claude.user("u1", None, "Go"),
                claude.says("a1", "u1", "m1", {"type": "text", "text": "Ready."}),
                claude.user("u2", "a1", "Paint it red"),
                claude.says("a2", "u2", "m2", {"type": "text", "text": "Red."}),
                claude.user("u3", "a1", "Paint it blue"),
                claude.says("a3", "u3", "m3", {"type": "text", "text": "Blue."}),
            ],
        )
    )
    assert [m.text for m in transcript.messages] == ["Go", "Ready.", "Paint it blue", "Blue."]
    assert transcript.set_aside == {"rewound branch": 2}


def test_parallel_results_are_no_rewound_branch(read, claude):
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                claude.user("u1", None, "Go"),
                claude.says("a1", "u1", "m1", claude.use("t1"), claude.use("t2")),
                claude.user("r1", "a1", [claude.result("t1", "x")]),
                claude.user("r2", "a1", [claude.result("t2", "y")]),
                claude.user("u2", "r2", "More"),
            ],
        )
    )
    assert roles(transcript) == ["user", "assistant", "tool", "tool", "user"]


def boundary(claude, uuid, parent, **metadata):
    data = {"trigger": "auto", "preTokens": 155_000} | metadata
    return claude.line("system", uuid, None, subtype="compact_boundary", logicalParentUuid=parent, compactMetadata=data)


def test_a_recorded_compaction_is_no_message_but_says_where_what_and_how_much(read, claude):
    result = read(
        "s.jsonl",
        lines=[
            claude.user("u1", None, "Go"),
            claude.says("a1", "u1", "m1", {"type": "text", "text": "Half."}),
            boundary(claude, "b1", "a1"),
            claude.user("c1", "b1", "This session is being continued: half is done.", isCompactSummary=True),
            claude.says("a2", "c1", "m2", {"type": "text", "text": "Rest."}),
            boundary(claude, "b2", "a2", preservedMessages={"uuids": ["a2"]}),
            claude.user("c2", "b2", "All is done.", isCompactSummary=True),
        ],
    )
    transcript = one(result)
    assert [m.text for m in transcript.messages] == ["Go", "Half.", "Rest."]
    first, second = transcript.compactions
    assert (first.at_seq, first.dropped, first.tokens_before, first.trigger) == (2, (0, 1), 155_000, "auto")
    assert first.summary == "This session is being continued: half is done."
    assert (second.at_seq, second.dropped) == (3, ())  # what left before left once; the preserved message stays
    assert [c.summary_at for c in transcript.compactions] == [0, 0]  # before what was kept
    assert transcript.set_aside == {"bookkeeping": 2, "recorded compaction summary": 2}
    assert result.account.aside["user", "recorded compaction summary"] == 2


def test_a_sub_agent_is_a_session_of_its_own_with_its_parent(read, claude):
    side = {"isSidechain": True}
    result = read(
        "s.jsonl",
        lines=[
            claude.user("u1", None, "Go"),
            claude.says("a1", "u1", "m1", claude.use("t1", "Task", prompt="Look")),
            claude.user("x1", None, "Look", **side),
            claude.says("x2", "x1", "m2", {"type": "text", "text": "Seen."}, **side),
            claude.user("y1", None, "Look there", agentId="b7", **side),
            claude.user("r1", "a1", [claude.result("t1", "Seen.")]),
        ],
    )
    main, inline, named = result.transcripts
    assert roles(main) == ["user", "assistant", "tool"]
    assert [m.text for m in inline.messages] == ["Look", "Seen."]
    assert named.session_id == "claude_code-s-1-agent-b7"
    assert {t.parent_session_id for t in (inline, named)} == {main.session_id}


def test_a_file_with_only_a_sub_agent_gives_only_the_sub_agent(read, claude):
    result = read("subagents/agent-a9.jsonl", lines=[claude.user("x1", None, "Look", isSidechain=True, agentId="a9")])
    assert [t.session_id for t in result.transcripts] == ["claude_code-s-1-agent-a9"]
    assert result.set_aside == ()


def test_what_the_screen_showed_and_what_no_model_wrote_is_set_aside_and_counted(read, claude):
    synthetic = claude.says("a1", "u1", "m1", {"type": "text", "text": "API Error"})
    synthetic["message"]["model"] = "<synthetic>"
    command = "<command-name>/{}</command-name>\n<command-args>{}</command-args>"
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                claude.user("u0", None, "<local-command-caveat>Caveat: …</local-command-caveat>", isMeta=True),
                claude.user("u1", "u0", command.format("exit", "")),
                claude.user("u2", "u1", NOISE),
                synthetic,
                claude.user("u3", "u2", command.format("compact", "keep the gears")),
                claude.user("u4", "u3", "Base directory for this skill: /x", isMeta=True),
                claude.user("u5", "u4", "Mend the mill"),
                {"type": "summary", "summary": "About another session", "leafUuid": "elsewhere"},
            ],
        )
    )
    assert [m.text[:14] for m in transcript.messages] == ["<command-name>", "Base directory", "Mend the mill"]
    assert transcript.set_aside == {"bookkeeping": 1, "local command": 3, "synthetic assistant message": 1}
    assert transcript.title == "Mend the mill"


def test_a_custom_title_and_a_summary_of_this_session_name_it(read, claude):
    lines = [claude.user("u1", None, "Go"), {"type": "summary", "summary": "The mill", "leafUuid": "u1"}]
    assert one(read("s.jsonl", lines=lines)).title == "The mill"
    lines.append({"type": "custom-title", "customTitle": "My mill", "sessionId": "s-1"})
    assert one(read("s.jsonl", lines=lines)).title == "My mill"


def test_an_image_becomes_a_mark_and_reasoning_that_is_encrypted_is_no_text(read, claude):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 1000}}
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                claude.user("u1", None, [image, {"type": "text", "text": "What is it?"}]),
                claude.says("a1", "u1", "m1", {"type": "redacted_thinking", "data": "b3BhcXVl"}, claude.use("t1")),
                claude.user(
                    "r1", "a1", [claude.result("t1", [image, {"type": "tool_reference", "tool_name": "Look"}])]
                ),
            ],
        )
    )
    assert [m.text for m in transcript.messages] == [
        "[image image/png, 3000 bytes]\nWhat is it?",
        "",
        "[image image/png, 3000 bytes]\n[tool reference Look]",
    ]
    assert transcript.messages[1].reasoning == ""
    assert transcript.title == "What is it?"


def test_a_failed_call_is_known_by_flag_by_tag_and_by_exit_code(read, claude):
    results = [
        claude.result("t1", "denied", is_error=True),
        claude.result("t2", "<tool_use_error>No such file</tool_use_error>"),
        claude.result("t3", "Exit code 1\nls: no such file"),
        claude.result("t4", "the log says: Exit code 1"),
        claude.result("t5", None),
    ]
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                claude.user("u1", None, "Go"),
                claude.says("a1", "u1", "m1", *(claude.use(f"t{n}") for n in range(1, 6))),
                claude.user("r1", "a1", results),
            ],
        )
    )
    assert [m.is_error for m in transcript.messages[2:]] == [True, True, True, False, False]


def test_a_call_without_a_result_and_a_result_without_a_call_stay_as_they_are(read, claude):
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                claude.user("r0", None, [claude.result("gone", "orphan")]),
                claude.says("a1", "r0", "m1", claude.use("t1")),
                claude.user("u1", "a1", [{"type": "text", "text": "[Request interrupted by user]"}]),
            ],
        )
    )
    assert roles(transcript) == ["tool", "assistant", "user"]
    assert transcript.messages[0].tool_call_id == "gone"


def test_a_prompt_typed_while_the_agent_worked_is_a_message(read, claude):
    queued = claude.line("attachment", "q1", "u1", attachment={"type": "queued_command", "prompt": "And oil it"})
    memory = claude.line("attachment", "q2", "q1", attachment={"type": "nested_memory", "content": "CLAUDE.md"})
    transcript = one(read("s.jsonl", lines=[claude.user("u1", None, "Go"), queued, memory]))
    assert [m.text for m in transcript.messages] == ["Go", "And oil it"]
    assert transcript.set_aside == {"bookkeeping": 1}


def test_a_damaged_line_is_set_aside_with_its_number_and_the_rest_goes_in(write, read, claude):
    good = [json.dumps(claude.user(f"u{n}", None, f"Prompt {n}")).encode() for n in (1, 2)]
    path = write("s.jsonl", b"\n".join([good[0], b"42", b'{"no": "type"}', good[1], good[0][:60]]))
    result = read(path)
    assert [m.text for m in one(result).messages] == ["Prompt 1", "Prompt 2"]
    assert [(s.line, s.reason.split(":")[0]) for s in result.set_aside] == [
        (2, "expected a JSON object, found a number"),
        (3, "a line without a type"),
        (5, "the last line is cut"),
    ]
    assert all(s.path == str(path) and s.excerpt for s in result.set_aside)


def test_a_session_of_one_message_is_a_session(read, claude):
    assert len(one(read("s.jsonl", lines=[claude.user("u1", None, "Go")]))) == 1


def test_a_log_of_bookkeeping_alone_says_so(read, claude):
    result = read("s.jsonl", lines=[{"type": "queue-operation", "operation": "enqueue", "sessionId": "s-1"}])
    assert result.transcripts == ()
    assert [s.reason for s in result.set_aside] == ["no message in it: 1 bookkeeping"]


def compact(lines):
    """As Claude Code writes them: no space in the JSON, so that lines can be passed over undecoded."""
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def test_what_a_sub_agent_said_in_progress_notices_is_a_session_of_its_own(read, claude):
    lines = [
        claude.user("u1", None, "Go"),
        claude.says("a1", "u1", "m1", claude.use("t1", "Task", prompt="Look")),
        claude.line("progress", "p0", "a1", data={"type": "hook_progress"}),
        claude.progress("p1", "a1", "c4", claude.user("x1", None, "Look")),
        claude.progress("p2", "p1", "c4", claude.says("x2", None, "m2", claude.use("t9", command="ls"))),
        claude.progress("p3", "p2", "c4", claude.user("x3", None, [claude.result("t9", "mill")])),
        claude.progress("p4", "p3", "c4", claude.user("x3", None, [claude.result("t9", "mill")])),
        claude.user("r1", "p4", [claude.result("t1", "Seen.")]),
    ]
    result = read("s.jsonl", compact(lines))
    main, agent = result.transcripts
    assert roles(main) == ["user", "assistant", "tool"]
    assert roles(agent) == ["user", "assistant", "tool"]
    assert (agent.session_id, agent.parent_session_id) == ("claude_code-s-1-agent-c4", "claude_code-s-1")
    assert agent.cwd == "/home/ada/mill"
    assert dict(result.account.aside) == {("record", "bookkeeping"): 1, ("tool", "duplicate"): 1}


def test_a_sub_agent_whose_own_lines_are_in_the_file_is_not_read_from_progress_notices_too(read, claude):
    own = {"isSidechain": True, "agentId": "c4"}
    result = read(
        "s.jsonl",
        lines=[
            claude.user("u1", None, "Go"),
            claude.progress("p1", "u1", "c4", claude.user("x1", None, "Look")),
            claude.user("x1", None, "Look", **own),
            claude.says("x2", "x1", "m2", {"type": "text", "text": "Seen."}, **own),
        ],
    )
    assert [len(transcript) for transcript in result.transcripts] == [1, 2]
    assert dict(result.account.aside) == {("user", "duplicate"): 1}


def test_removed_tool_results_stay_as_messages_and_the_recorded_compaction_says_which(read, claude):
    data = {"trigger": "auto", "preTokens": 60_888, "compactedToolIds": ["t1", "gone"]}
    marker = claude.line("system", "b1", "r2", subtype="microcompact_boundary", microcompactMetadata=data)
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                claude.user("u1", None, "Go"),
                claude.says("a1", "u1", "m1", claude.use("t1"), claude.use("t2")),
                claude.user("r1", "a1", [claude.result("t1", "long")]),
                claude.user("r2", "r1", [claude.result("t2", "short")]),
                marker,
            ],
        )
    )
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.cleared) == (4, (), (2,))
    assert (event.summary, event.has_opaque_summary, event.tokens_before) == (None, False, 60_888)
    assert event.cleared_text == "[Old tool result content cleared]"
    assert [m.text for m in transcript.messages[2:]] == ["long", "short"]


def test_a_preserved_segment_stays_and_leads_the_context_when_it_hangs_on_the_boundary(read, claude):
    segment = {"headUuid": "a2", "tailUuid": "r2", "anchorUuid": "b1"}
    lines = [
        claude.user("u1", None, "Go"),
        claude.says("a1", "u1", "m1", {"type": "text", "text": "Half."}),
        claude.says("a2", "a1", "m2", claude.use("t2")),
        claude.line("attachment", "x1", "a2", attachment={"type": "task_reminder"}),
        claude.user("r2", "x1", [claude.result("t2", "done")]),
        boundary(claude, "b1", "r2", preservedSegment=segment),
        claude.user("c1", "b1", "So far.", isCompactSummary=True),
    ]
    (event,) = one(read("s.jsonl", lines=lines)).compactions
    assert (event.dropped, event.summary_at) == ((0, 1), 2)
    segment["anchorUuid"] = "c1"
    (event,) = one(read("s.jsonl", lines=lines)).compactions
    assert (event.dropped, event.summary_at) == ((0, 1), 0)


def test_a_boundary_whose_summary_is_not_in_the_log_cannot_be_replayed(read, claude):
    lines = [claude.user("u1", None, "Go"), boundary(claude, "b1", "u1"), claude.user("u2", "b1", "On")]
    (event,) = one(read("s.jsonl", lines=lines)).compactions
    assert (event.at_seq, event.summary, event.has_opaque_summary) == (1, None, True)


def test_usage_is_repeated_on_every_piece_of_a_response_and_the_last_one_counts(read, claude):
    def piece(uuid, parent, response, written, block):
        line = claude.says(uuid, parent, response, block)
        line["message"]["usage"] = {
            "input_tokens": 3,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20,
            "output_tokens": written,
        }
        return line

    text = {"type": "text", "text": "Yes."}
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                claude.user("u1", None, "Go"),
                piece("a1", "u1", "m1", 1, text),
                piece("a2", "a1", "m1", 40, claude.use("t1")),
                piece("a3", "a2", "m2", 5, text),
            ],
        )
    )
    usage = transcript.usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (246, 200, 45)


def test_what_is_left_out_is_counted_as_what_it_would_have_been(read, claude):
    synthetic = claude.says("a9", "u3", "m9", {"type": "text", "text": "API Error"})
    synthetic["message"]["model"] = "<synthetic>"
    prompt = claude.user("u1", None, "Go")
    result = read(
        "s.jsonl",
        lines=[
            prompt,
            claude.says("a1", "u1", "m1", {"type": "text", "text": "Ready."}),
            claude.user("u2", "a1", "Paint it red"),
            claude.says("a2", "u2", "m2", {"type": "text", "text": "Red."}),
            claude.says("a3", "a2", "m2", claude.use("t1"), claude.use("t2")),
            claude.user("r1", "a3", [claude.result("t1", "x"), claude.result("t2", "y")]),
            claude.user("u3", "a1", "Paint it blue"),
            synthetic,
            claude.user("u4", "u3", NOISE),
            prompt,
        ],
    )
    assert roles(one(result)) == ["user", "assistant", "user"]
    assert dict(result.account.aside) == {
        ("user", "rewound branch"): 1,
        ("assistant", "rewound branch"): 1,
        ("tool_call", "rewound branch"): 2,
        ("tool", "rewound branch"): 2,
        ("assistant", "synthetic assistant message"): 1,
        ("user", "local command"): 1,
        ("user", "duplicate"): 1,
    }


def test_a_line_of_an_unknown_type_that_holds_a_message_is_set_aside(read, claude):
    odd = claude.line("telepathy", "x1", "u1", {"role": "user", "content": "Psst"})
    result = read("s.jsonl", lines=[claude.user("u1", None, "Go"), odd, claude.line("glow", "x2", "u1")])
    assert [aside.reason for aside in result.set_aside] == ["a line of the unknown type 'telepathy' holds a message"]
    assert dict(result.account.aside) == {("record", "bookkeeping"): 1}


def test_times_are_those_of_the_first_and_the_last_line_whatever_their_order(read, claude):
    times = ["2026-03-01T10:05:00Z", "2026-03-01T10:01:00Z", "2026-03-01T10:09:00Z", "2026-03-01T10:03:00Z"]
    lines = [claude.user(f"u{n}", None, f"Prompt {n}", timestamp=time) for n, time in enumerate(times)]
    transcript = one(read("s.jsonl", lines=lines))
    assert (transcript.started_at, transcript.ended_at) == (times[1], times[2])

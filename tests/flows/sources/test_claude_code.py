"""Claude Code logs: what a session was, out of split, interleaved and repeated lines."""

import json

import pytest

from tests.flows.sources.claude_results import NOISE, one, roles


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
    assert dict(result.account.aside) == {("record", "line of an unknown kind"): 1}


def test_times_are_those_of_the_first_and_the_last_line_whatever_their_order(read, claude):
    times = ["2026-03-01T10:05:00Z", "2026-03-01T10:01:00Z", "2026-03-01T10:09:00Z", "2026-03-01T10:03:00Z"]
    lines = [claude.user(f"u{n}", None, f"Prompt {n}", timestamp=time) for n, time in enumerate(times)]
    transcript = one(read("s.jsonl", lines=lines))
    assert (transcript.started_at, transcript.ended_at) == (times[1], times[2])


def test_what_a_fork_was_given_is_left_out_and_counted(read, claude):
    def given(line):
        return {**line, "forkedFrom": {"sessionId": "s-0", "messageUuid": line["uuid"]}}

    lines = [
        given(claude.user("u1", None, "Go")),
        given(claude.line("assistant", "a1", "u1", {"role": "assistant", "id": "m1", "content": "Went"})),
        claude.user("u2", "a1", "Now the dam"),
    ]
    result = read("s.jsonl", lines=lines)
    [transcript] = result.transcripts
    assert [m.text for m in transcript.messages] == ["Now the dam"]
    assert (transcript.parent_session_id, transcript.forked_at) == ("claude_code-s-0", 2)
    assert dict(result.account.aside) == {
        ("user", "history of the session that this one comes from"): 1,
        ("assistant", "history of the session that this one comes from"): 1,
    }


def test_a_history_that_a_resumed_session_writes_again_with_new_ids_is_there_once(read, claude):
    def turns(prefix):
        said = {"role": "assistant", "id": "m1", "content": "Went"}
        more = {"role": "assistant", "id": "m2", "content": "Went on"}
        return [
            claude.user(f"{prefix}1", None, "Go"),
            claude.line("assistant", f"{prefix}2", f"{prefix}1", said),
            claude.user(f"{prefix}3", f"{prefix}2", "Go on"),
            claude.line("assistant", f"{prefix}4", f"{prefix}3", more),
        ]

    own = {"role": "assistant", "id": "m3", "content": "Went again"}
    later = [claude.user("c1", "b4", "Go"), claude.line("assistant", "c2", "c1", own)]
    [transcript] = read("s.jsonl", lines=[*turns("a"), *turns("b"), *later]).transcripts
    assert [m.text for m in transcript.messages] == ["Go", "Went", "Go on", "Went on", "Go", "Went again"]
    assert transcript.set_aside["duplicate"] == 2


def test_a_history_written_again_is_there_once_also_where_its_answers_have_new_ids(read, claude):
    def turns(ids, number):
        for n in range(number):
            yield claude.user(f"{ids}u{n}", f"{ids}a{n - 1}" if n else None, f"Ask {n}")
            yield claude.says(f"{ids}a{n}", f"{ids}u{n}", f"{ids}m{n}", {"type": "text", "text": f"Answer {n}"})

    unanswered = claude.user("xu9", "xa1", "Ask 2")
    transcript = one(read("s.jsonl", lines=[*turns("x", 2), unanswered, *turns("y", 3)]))
    assert [m.text for m in transcript.messages] == ["Ask 0", "Answer 0", "Ask 1", "Answer 1", "Ask 2", "Answer 2"]
    assert transcript.set_aside == {"duplicate": 5}


@pytest.mark.parametrize(
    ("text", "author"),
    [
        ("<system-reminder>\nNever mention this.\n</system-reminder>", "harness"),
        ("<system-reminder>One.</system-reminder>\n<system-reminder>Two.</system-reminder>", "harness"),
        ("<system-reminder>\nContents of /w/AGENTS.md:\n\nNever push.\n</system-reminder>", "rules"),
        ("<task-notification><task-id>1</task-id></task-notification>", "harness"),
        ("Base directory for this skill: /s/lint\n\n# Lint\nAlways lint.", "harness"),
        ("<system-reminder>One.</system-reminder>\nMend the mill", None),
        ("<div>Mend this</div>", None),
    ],
)
def test_reminders_notices_and_skills_are_a_machines_also_where_the_line_does_not_say_so(read, claude, text, author):
    lines = [claude.user("u1", None, "Go"), claude.user("u2", "u1", text), claude.user("u3", "u2", "On")]
    assert [m.author for m in one(read("s.jsonl", lines=lines)).messages] == [None, author, None]


def test_a_second_conversation_under_the_same_id_is_told_of(read, claude):
    lines = [
        claude.user("u1", None, "Go"),
        claude.line("assistant", "a1", "u1", {"role": "assistant", "id": "m1", "content": "Went"}),
        claude.user("u2", None, "The dam"),
        claude.line("assistant", "a2", "u2", {"role": "assistant", "id": "m2", "content": "Built"}),
        claude.user("u3", None, "A prompt that nothing answers"),
    ]
    result = read("s.jsonl", lines=lines)
    [transcript] = result.transcripts
    assert len(transcript.messages) == 5
    assert dict(result.account.aside) == {("record", "beginning of another conversation under this id"): 1}

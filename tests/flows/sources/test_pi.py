"""Pi sessions: linear in version 1, a tree since."""

import json

import pytest


def one(result):
    assert result.format == "pi"
    return result.transcripts[0]


def say(text, role="user", **more):
    return {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}} | more


HEADER = {
    "type": "session",
    "id": "p-1",
    "timestamp": "2026-03-01T10:00:00Z",
    "cwd": "/home/ada",
    "modelId": "claude-test-1",
}


def test_calls_results_and_commands_of_the_person_become_messages(read, line_samples):
    transcript = one(read("s.jsonl", lines=line_samples["pi"]))
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "user"]
    assert (transcript.messages[1].reasoning, transcript.messages[2].tool_name) == ("hm", "bash")
    assert transcript.messages[3].text == "Ran `ls`\ntoken-5\n\nCommand exited with code 2"
    assert (transcript.session_id, transcript.cwd) == ("pi-p-1", "/home/ada")


def test_a_compaction_on_the_line_of_another_entry_is_found_and_its_index_counts_from_the_header(write, read):
    lines = [HEADER, say("One"), say("Two", "assistant"), say("Three")]
    compaction = {"type": "compaction", "summary": "One was said.", "firstKeptEntryIndex": 3, "tokensBefore": 175_004}
    text = "\n".join(map(json.dumps, lines)) + json.dumps(compaction) + json.dumps(say("Four")) + "\n"
    transcript = one(read(write("s.jsonl", text.encode())))
    assert [m.text for m in transcript.messages] == ["One", "Two", "Three", "Four"]
    (event,) = transcript.compactions
    assert (event.at_seq, event.summary, event.dropped, event.tokens_before) == (3, "One was said.", (0, 1), 175_004)


def test_only_the_branch_that_was_live_at_the_end_is_the_session(read):
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                HEADER | {"version": 3},
                say("Go", id="a", parentId=None),
                say("Red", id="b", parentId="a"),
                say("Blue", id="c", parentId="a"),
                {"type": "compaction", "id": "d", "parentId": "c", "summary": "Blue.", "firstKeptEntryId": "c"},
                say("Done", "assistant", id="e", parentId="d"),
            ],
        )
    )
    assert [m.text for m in transcript.messages] == ["Go", "Blue", "Done"]
    assert transcript.compactions[0].dropped == (0,)
    assert transcript.compactions[0].summary_at == 0
    assert transcript.set_aside == {"bookkeeping": 1, "recorded compaction summary": 1, "rewound branch": 1}


def test_entries_of_a_left_branch_are_counted_as_what_they_were_and_its_summary_is_what_the_model_read(read):
    call = {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {}}
    red = {"role": "assistant", "content": [call]}
    result = read(
        "s.jsonl",
        lines=[
            HEADER | {"version": 3},
            say("Go", id="a", parentId=None),
            {"type": "message", "id": "b", "parentId": "a", "message": red},
            say("ok", "toolResult", id="c", parentId="b"),
            {"type": "branch_summary", "id": "d", "parentId": "a", "fromId": "c", "summary": "It was red."},
            say("Blue", id="e", parentId="d"),
            say("Blue", id="e", parentId="d"),
        ],
    )
    messages = one(result).messages
    assert [m.role for m in messages] == ["user", "user", "user"]
    assert messages[1].text.endswith("It was red.")
    assert dict(result.account.aside) == {
        ("record", "bookkeeping"): 1,
        ("assistant", "rewound branch"): 1,
        ("tool_call", "rewound branch"): 1,
        ("tool", "rewound branch"): 1,
        ("user", "duplicate"): 1,
    }


def test_usage_adds_up_with_what_went_through_the_cache_in_the_input(read):
    usage = {"input": 3, "output": 191, "cacheRead": 100, "cacheWrite": 20, "cost": {"total": 0.25}}
    answer = {"role": "assistant", "content": [], "usage": usage, "model": "claude-test-2"}
    transcript = one(read("s.jsonl", lines=[HEADER, say("Go"), *[{"type": "message", "message": answer}] * 2]))
    used = transcript.usage
    assert (used.input_tokens, used.cached_tokens, used.output_tokens, used.cost_usd) == (246, 200, 382, 0.5)
    assert transcript.model == "claude-test-2"


def test_a_branched_session_starts_with_the_first_message_that_it_took_along(read):
    early = say("Go", timestamp="2026-02-27T09:00:00Z")
    assert one(read("s.jsonl", lines=[HEADER, early])).started_at == "2026-02-27T09:00:00Z"


def test_a_broken_chain_loses_nothing(read):
    lines = [HEADER, say("Go", id="a", parentId=None), say("On", id="c", parentId="lost")]
    assert [m.text for m in one(read("s.jsonl", lines=lines)).messages] == ["Go", "On"]


def test_a_command_that_was_kept_from_the_model_is_set_aside(read):
    secret = {"role": "bashExecution", "command": "env", "output": "x", "excludeFromContext": True}
    transcript = one(read("s.jsonl", lines=[HEADER, say("Go"), {"type": "message", "message": secret}]))
    assert len(transcript) == 1
    assert transcript.set_aside["command of the person, kept from the model"] == 1


def test_the_name_that_a_person_gave_the_session_is_its_title(read):
    names = [{"type": "session_info", "id": f"n{n}", "parentId": None, "name": name} for n, name in enumerate("ab")]
    assert one(read("s.jsonl", lines=[HEADER, say("Go"), *names])).title == "b"


def test_what_a_summary_cost_is_part_of_what_the_session_used(read):
    usage = {"input": 40, "output": 2, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.5}}
    summary = {"type": "compaction", "summary": "Short.", "firstKeptEntryIndex": 1, "usage": usage}
    used = one(read("s.jsonl", lines=[HEADER, say("Go"), summary])).usage
    assert (used.input_tokens, used.output_tokens, used.cost_usd) == (40, 2, 0.5)


def test_a_response_without_content_is_left_out_of_messages_and_compactions(read):
    """What a request that failed leaves; it moves nothing that a compaction names."""
    failed = {"type": "message", "message": {"role": "assistant", "content": [], "stopReason": "error"}}
    lines = [
        HEADER,
        say("One"),
        failed,
        say("Two", "assistant"),
        failed,
        say("Three"),
        {"type": "compaction", "summary": "Short.", "firstKeptEntryIndex": 3},
        say("Four", "assistant"),
    ]
    result = read("s.jsonl", lines=lines)
    transcript = one(result)
    assert [m.text for m in transcript.messages] == ["One", "Two", "Three", "Four"]
    assert transcript.set_aside["empty response"] == 2
    assert result.account.met["assistant"] == 4
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.summary_at) == (3, (0,), 0)


def at(entry, minute):
    return {**entry, "timestamp": f"2026-03-01T10:{minute:02}:00Z"}


def fork(name):
    """A fork at 10:30, of which two entries are copied."""
    header = at({**HEADER, "id": "p-2", "parentSession": f"/home/ada/.pi/sessions/{name}"}, 30)
    copied = [at(say("Go", id="a", parentId=None), 1), at(say("Went", "assistant", id="b", parentId="a"), 2)]
    return [header, *copied, at(say("Now the dam", id="c", parentId="b"), 31)]


def test_a_fork_has_its_own_entries_and_the_parent_that_the_named_log_is(read, write):
    write("2026-03-01T10-00_named.jsonl", lines=[at(HEADER, 0), at(say("Go", id="a", parentId=None), 1)])
    result = read("2026-03-01T10-30_p-2.jsonl", lines=fork("2026-03-01T10-00_named.jsonl"))
    [transcript] = result.transcripts
    assert [m.text for m in transcript.messages] == ["Now the dam"]
    assert (transcript.parent_session_id, transcript.forked_at) == (f"pi-{HEADER['id']}", 2)
    assert transcript.set_aside["history of the session that this one comes from"] == 2


def test_of_a_fork_whose_parent_is_not_there_all_stays_and_the_name_of_the_log_gives_the_id(read):
    [transcript] = read("f.jsonl", lines=fork("2026-03-01T10-00_p-1.jsonl")).transcripts
    assert [m.text for m in transcript.messages] == ["Go", "Went", "Now the dam"]
    assert transcript.parent_session_id == "pi-p-1"
    [transcript] = read("g.jsonl", lines=fork("work.jsonl")).transcripts
    assert transcript.parent_session_id is None


def openclaw(own, parent, role, *content, **more):
    """An entry of OpenClaw with a message."""
    about = {key: more.pop(key) for key in ("appendMode",) if key in more}
    message = {"role": role, "content": list(content)} | more
    return {"type": "message", "id": own, "parentId": parent, "message": message} | about


def text(said):
    return {"type": "text", "text": said}


CLAW = {"type": "session", "version": 3, "id": "oc-1", "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/home/ada"}


def test_openclaw_has_copies_for_the_person_that_the_model_never_sees(read):
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    result = {"type": "toolResult", "toolCallId": "c1", "name": "bash", "text": "a.c"}
    mirror = {"api": "openai-responses", "provider": "openclaw", "model": "delivery-mirror"}
    lines = [
        CLAW,
        openclaw("e1", None, "user", text("Look")),
        openclaw("e2", "e1", "assistant", call, model="claude-test-1"),
        openclaw("e3", "e2", "toolResult", result, toolCallId="c1", toolName="bash", isError=False),
        openclaw("e4", "e3", "assistant", text("One file")),
        {"type": "message", "message": {"role": "assistant", "content": [text("One file")]} | mirror},
        openclaw("e5", "e4", "assistant", text("A notice"), excludeFromContext=True),
        openclaw("e6", "e5", "assistant", text("Beside"), appendMode="side"),
        openclaw("e7", "e5", "user", text("Thanks")),
    ]
    result = read("oc-1.jsonl", lines=lines)
    assert (result.format, result.set_aside) == ("pi", ())
    (transcript,) = result.transcripts
    assert [m.text for m in transcript.messages] == ["Look", "", "a.c", "One file", "Thanks"]
    assert transcript.model == "claude-test-1"
    assert transcript.set_aside["shown to the person only"] == 3


def test_openclaw_goes_to_another_branch_by_a_leaf(read):
    lines = [
        CLAW,
        openclaw("e1", None, "user", text("One")),
        openclaw("e2", "e1", "assistant", text("Left")),
        {"type": "leaf", "id": "l1", "parentId": "e2", "targetId": "e1"},
        openclaw("e3", "l1", "assistant", text("Two")),
    ]
    (transcript,) = read("oc-1.jsonl", lines=lines).transcripts
    assert [m.text for m in transcript.messages] == ["One", "Two"]
    assert transcript.set_aside["rewound branch"] == 1


@pytest.mark.parametrize(("kept", "dropped"), [(None, (0, 1)), ("e2", (0,))])
def test_a_reset_of_openclaw_takes_away_what_it_does_not_keep(read, kept, dropped):
    about = {"firstKeptEntryId": kept} if kept else {}
    lines = [
        CLAW,
        openclaw("e1", None, "user", text("One")),
        openclaw("e2", "e1", "assistant", text("Two")),
        {"type": "reset", "id": "r1", "parentId": "e2"} | about,
        openclaw("e3", "r1", "user", text("Three")),
    ]
    (event,) = read("oc-1.jsonl", lines=lines).transcripts[0].compactions
    assert (event.at_seq, event.dropped, event.summary, event.trigger) == (2, dropped, None, "reset")

"""Cline, Roo Code and Kilo Code: results as text in the order of the calls, calls as XML, and what left the context."""

import json

import pytest

from tests.flows.sources.folders import read_all
from tests.flows.sources.logs.cline import DETAILS, DOCUMENT

NAME = "1777073160794/api_conversation_history.json"
ROLES = ("user", "assistant", "user", "assistant", "user")


def one(result):
    assert (result.format, result.set_aside) == ("cline", ())
    (transcript,) = result.transcripts
    return transcript


def text(*values):
    return [{"type": "text", "text": value} for value in values]


def user(*values, **fields):
    return {"role": "user", "content": text(*values), **fields}


def assistant(*content, **fields):
    return {"role": "assistant", "content": list(content), **fields}


def use(name, own=None, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments, **({"id": own} if own else {})}


def said(transcript):
    return [(m.role, m.text) for m in transcript.messages]


def test_a_task_has_its_results_paired_and_its_details_as_prompts(read):
    transcript = one(read(NAME, DOCUMENT))
    assert [m.role for m in transcript.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]
    calls = [call for m in transcript.messages for call in m.tool_calls]
    results = [m for m in transcript.messages if m.role == "tool"]
    assert [m.tool_call_id for m in results] == [call.id for call in calls]
    assert [m.is_error for m in results] == [False, True, False]
    assert results[0].text == "[read_file for 'wheel.py'] Result:\n1 | wheel"
    assert (transcript.title, transcript.cwd) == ("Mend the mill", "/home/ada/mill")
    assert (transcript.session_id, transcript.model) == ("cline-1777073160794", "claude-test-1")
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens, transcript.usage.cost_usd) == (120, 7, 0.5)
    assert transcript.started_at.startswith("2026-04-24T23:26:00")


def test_a_call_in_xml_leaves_the_text_with_all_its_parameters(read):
    answer = one(read(NAME, DOCUMENT)).messages[5]
    assert (answer.text, answer.reasoning) == ("Writing.", "write it")
    (call,) = answer.tool_calls
    assert (call.name, call.parsed()) == ("write_to_file", {"path": "Makefile", "content": "all:\n\ttrue # </content>"})


def test_a_result_under_a_heading_of_its_own_goes_on_in_the_next_block(read):
    results = [m for m in one(read(NAME, DOCUMENT)).messages if m.role == "tool"]
    assert results[2].text == "[write_to_file for 'Makefile'] Result:\nThe content was successfully saved."


def test_results_without_ids_answer_calls_of_their_name_and_else_in_order(read):
    calls = assistant(use("read_file", "a"), use("use_subagents", "b"), use("read_file", "c"), use("list_files"))
    heads = (
        "[list_files for 'x']",
        "[read_file for 'one']",
        "[subagents]",
        "[read_file for 'two']",
        "[read_file for '3']",
    )
    transcript = one(read(NAME, [DOCUMENT[0], calls, user(*(f"{head} Result:\nok" for head in heads), DETAILS)]))
    ids = [m.tool_call_id for m in transcript.messages if m.role == "tool"]
    own = transcript.messages[1].tool_calls[3].id
    assert ids == [own, "a", "b", "c", None]


def test_a_heading_may_quote_a_command_of_many_lines(read):
    command = "cat <<'EOF'\n[x]\nEOF"
    calls = assistant(use("execute_command", "a", command=command))
    transcript = one(read(NAME, [DOCUMENT[0], calls, user(f"[execute_command for '{command}'] Result:\ndone")]))
    assert transcript.messages[2].tool_call_id == "a"


def test_results_with_ids_pair_by_them(read):
    denied = "[read_file for 'b'] Result:\nThe user denied this operation."
    turn = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": denied},
            {"type": "tool_result", "tool_use_id": "a", "content": text("one")},
            *text(DETAILS),
        ],
    }
    transcript = one(read(NAME, [DOCUMENT[0], assistant(use("read_file", "a"), use("read_file", "b")), turn]))
    results = [(m.tool_call_id, m.is_error) for m in transcript.messages if m.role == "tool"]
    assert results == [("b", True), ("a", False)]


@pytest.mark.parametrize(
    "notice",
    [
        "Tool [read_file for 'x'] was not executed because a tool has already been used in this message.",
        "Skipping tool [read_file for 'x'] due to user rejecting a previous tool.",
    ],
)
def test_a_call_that_was_not_run_has_the_notice_as_its_failed_result(read, notice):
    calls = assistant(use("list_files", "a"), use("read_file", "b"))
    transcript = one(read(NAME, [DOCUMENT[0], calls, user("[list_files for '.'] Result:\nok", notice)]))
    assert [(m.tool_call_id, m.is_error) for m in transcript.messages[2:]] == [("a", False), ("b", True)]


def test_an_old_message_is_one_string_with_the_details_behind_the_result(read):
    calls = {"role": "assistant", "content": "Look.\n<read_file>\n<path>a</path>\n</read_file>"}
    turn = {"role": "user", "content": f"[read_file for 'a'] Result:\nwheel\n\n{DETAILS}"}
    transcript = one(read(NAME, [DOCUMENT[0], calls, turn]))
    assert said(transcript)[1:] == [
        ("assistant", "Look."),
        ("tool", "[read_file for 'a'] Result:\nwheel"),
        ("user", DETAILS),
    ]


def test_several_calls_in_one_text_and_one_that_is_cut_are_all_calls(read):
    xml = (
        "<read_file><path>a</path></read_file>\nthen\n<apply_diff><path>b</path><diff>\n<<<\n>>>\n</diff></apply_diff>"
    )
    transcript = one(
        read(NAME, [DOCUMENT[0], {"role": "assistant", "content": f"{xml}\n<execute_command><command>ma"}])
    )
    answer = transcript.messages[1]
    assert [(c.name, c.parsed()) for c in answer.tool_calls] == [
        ("read_file", {"path": "a"}),
        ("apply_diff", {"path": "b", "diff": "<<<\n>>>"}),
        ("execute_command", {"command": "ma"}),
    ]
    assert answer.text == "then"


def long_task():
    turns = [m for n in range(3) for m in (assistant(*text(f"a{n}")), user(f"u{n}", DETAILS))]
    return [DOCUMENT[0], *turns, assistant(*text("end"))]


def screen(write, *records):
    write("1777073160794/ui_messages.json", [{"ts": 1777073160794 + n, **record} for n, record in enumerate(records)])


def test_the_file_of_the_screen_tells_times_usage_and_what_was_truncated(read, write):
    price = {"tokensIn": 10, "tokensOut": 2, "cacheWrites": 3, "cacheReads": 4, "cost": 0.5}
    screen(
        write,
        {"say": "api_req_started", "text": json.dumps(price), "conversationHistoryIndex": -1},
        {"say": "text", "text": "a0", "conversationHistoryIndex": 0},
        {"say": "text", "conversationHistoryIndex": 4, "conversationHistoryDeletedRange": [2, 3]},
        {"say": "text", "conversationHistoryIndex": 6, "conversationHistoryDeletedRange": [2, 5]},
        {"say": "text", "conversationHistoryIndex": 6, "conversationHistoryDeletedRange": [2, 5]},
    )
    transcript = one(read(NAME, long_task()))
    assert [m.timestamp for m in transcript.messages][1] == "2026-04-24T23:26:00.795000Z"
    usage = transcript.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost_usd) == (17, 2, 4, 0.5)
    events = [(e.at_seq, e.dropped, e.summary) for e in transcript.compactions]
    assert events == [(5, (2, 3), None), (7, (4, 5), None)]
    assert len(transcript) == 8


def test_a_broken_file_of_the_screen_changes_nothing(read, write):
    alone = one(read(NAME, long_task()))
    for content in (b"[{", b"{}", b"[3, {}]", b'[{"say":"api_req_started","text":3,"conversationHistoryIndex":"x"}]'):
        write("1777073160794/ui_messages.json", content)
        assert one(read(NAME, long_task())) == alone


def test_clines_own_summary_takes_the_place_of_all_but_the_first_exchange(read):
    summary = (
        "[summarize_task] Result:\nThis session is being continued from a previous conversation.\nSummary: mended."
    )
    asked = assistant(*text("<summarize_task>\n<context>\nmended\n</context>\n</summarize_task>"))
    task = [*long_task()[:-1], asked, user(summary, DETAILS), assistant(*text("On."))]
    transcript = one(read(NAME, task))
    (event,) = transcript.compactions
    assert (event.summary, event.dropped, event.at_seq) == (summary, (2, 3, 4, 5, 6, 7), 8)
    assert [m.text for m in transcript.messages[7:]] == ["", DETAILS, "On."]


def test_roo_code_hides_messages_behind_a_summary_or_a_marker(read):
    task = long_task()
    for message in task[1:3]:
        message["condenseParent"] = "c1"
    task[3]["truncationParent"] = "t1"
    task.insert(4, {"role": "user", "content": "[hidden]", "isTruncationMarker": True, "truncationId": "t1"})
    task.insert(6, {"role": "assistant", "content": text("So far."), "isSummary": True, "condenseId": "c1"})
    transcript = one(read(NAME, task))
    events = [(e.summary, e.dropped) for e in transcript.compactions]
    assert events == [(None, (3,)), ("So far.", (1, 2))]
    assert len(transcript) == 8


def test_the_command_line_keeps_the_messages_in_an_object(read):
    metrics = {"inputTokens": 10, "outputTokens": 2, "cacheReadTokens": 4, "cost": 0.5}
    messages = [
        {"role": "user", "content": text("Mend"), "ts": 1777073160794},
        assistant(use("bash", "t1"), modelInfo={"id": "gpt-test"}, metrics=metrics),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok", "is_error": True}]},
    ]
    transcript = one(read("s-1.messages.json", {"sessionId": "s-1", "systemPrompt": "Be brief.", "messages": messages}))
    assert said(transcript) == [("system", "Be brief."), ("user", "Mend"), ("assistant", ""), ("tool", "ok")]
    assert (transcript.session_id, transcript.model, transcript.usage.input_tokens) == ("cline-s-1", "gpt-test", 14)


def test_the_files_beside_a_history_are_no_inputs(write):
    from flows.sources import discover

    path = write(NAME, DOCUMENT)
    for name in ("ui_messages.json", "task_metadata.json", "context_history.json"):
        (path.parent / name).write_text("[]")
    assert [found.path for found in discover([str(path.parent)])] == [path]


def test_the_context_beside_a_history_is_a_recorded_compaction_and_no_session(write, tmp_path):
    def said(role, text, **fields):
        return {"role": role, "content": [{"type": "text", "text": text}], **fields}

    messages = [said("user", "Mend the mill"), said("assistant", "Looking", modelInfo={"id": "m"})]
    messages += [said("user", "And the dam"), said("assistant", "Both done"), said("user", "Now the roof")]
    summary = said("user", "The mill was looked at.")
    left = [messages[0], summary, messages[3]]
    write("s/c-1.messages.json", {"sessionId": "c-1", "systemPrompt": "Be brief.", "messages": messages})
    write("s/c-1.compaction.json", {"version": 1, "source_message_count": 4, "messages": left})
    [(name, result)] = read_all(tmp_path / "s").items()
    assert name == "c-1.messages.json"
    [transcript] = result.transcripts
    assert len(transcript) == 6
    [done] = transcript.compactions
    assert (done.at_seq, done.dropped, done.summary, done.summary_at) == (5, (2, 3), "The mill was looked at.", 2)


@pytest.mark.parametrize(("last", "at"), [(None, 5), (3, 4)], ids=["the summary is last", "a message was kept"])
def test_a_context_that_does_not_say_when_it_was_made_is_a_compaction_too(write, tmp_path, last, at):
    messages = [{"role": role, "content": [{"type": "text", "text": role + str(n)}]} for n, role in enumerate(ROLES)]
    left = [{"role": "user", "content": [{"type": "text", "text": "Mill and dam."}]}]
    left += [messages[last]] if last else []
    write("s/c-1.messages.json", {"version": 1, "agent": "lead", "sessionId": "c-1", "messages": messages})
    write("s/c-1.compaction.json", {"version": 1, "agent": "lead", "sessionId": "c-1", "messages": left})
    [result] = read_all(tmp_path / "s").values()
    [transcript] = result.transcripts
    assert (result.format, len(transcript)) == ("cline", 5)
    [done] = transcript.compactions
    assert (done.at_seq, done.summary) == (at, "Mill and dam.")
    assert done.dropped == tuple(seq for seq in range(at) if seq != last)


def roo_task():
    """Six messages a second apart."""
    task = [m for n in range(3) for m in (user(f"u{n}", DETAILS), assistant(*text(f"a{n}")))]
    for number, message in enumerate(task):
        message["ts"] = 1777073160794 + 1000 * number
    return task


def test_a_summary_of_the_persons_role_takes_the_place_of_all_before_it(read, write):
    task = roo_task()
    for message in task[:4]:
        message["condenseParent"] = "c1"
    summary = user("## Conversation Summary\nMended.", isSummary=True, condenseId="c1", ts=task[3]["ts"] + 1)
    told = {"condenseId": "c1", "prevContextTokens": 900, "newContextTokens": 90, "summary": "Mended.", "cost": 0}
    screen(write, {"type": "say", "say": "condense_context", "ts": task[3]["ts"] + 5, "contextCondense": told})
    transcript = one(read(NAME, [*task[:4], summary, *task[4:]]))
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.summary_at, event.tokens_before) == (4, (0, 1, 2, 3), 0, 900)
    assert event.summary == "## Conversation Summary\nMended."
    assert len(transcript) == 6


def test_a_truncation_fired_where_the_screen_says_and_not_where_its_marker_stands(read, write):
    task = roo_task()
    for message in task[1:3]:
        message["truncationParent"] = "t1"
    marker = user("[2 hidden]", isTruncationMarker=True, truncationId="t1", ts=task[3]["ts"] - 1)
    task.insert(3, marker)
    (event,) = one(read(NAME, task)).compactions
    assert (event.at_seq, event.dropped) == (3, (1, 2))
    told = {"truncationId": "t1", "messagesRemoved": 2, "prevContextTokens": 700, "newContextTokens": 70}
    when = task[5]["ts"] + 5
    screen(write, {"type": "say", "say": "sliding_window_truncation", "ts": when, "contextTruncation": told})
    (event,) = one(read(NAME, task)).compactions
    assert (event.at_seq, event.dropped, event.summary, event.tokens_before) == (5, (1, 2), None, 700)


def test_an_older_summary_stands_before_what_was_kept_behind_it(read):
    task = roo_task()
    for message in task[1:3]:
        message["condenseParent"] = "c1"
    task.insert(3, assistant(*text("So far."), isSummary=True, condenseId="c1"))
    (event,) = one(read(NAME, task)).compactions
    assert (event.dropped, event.summary, event.summary_at) == ((1, 2), "So far.", 1)


def test_reasoning_of_roo_code_is_reasoning_wherever_it_stands(read):
    answers = [
        assistant({"type": "reasoning", "text": "hm", "summary": []}, *text("a")),
        assistant(*text("b"), reasoning_content="hmm"),
        assistant(*text("c"), reasoning_details=[{"type": "reasoning.text", "text": "hmmm"}]),
        {"role": "assistant", "type": "reasoning", "summary": [], "encrypted_content": "b3Bh"},
    ]
    transcript = one(read(NAME, [DOCUMENT[0], *answers]))
    assert [(m.text, m.reasoning) for m in transcript.messages[1:]] == [("a", "hm"), ("b", "hmm"), ("c", "hmmm")]
    assert transcript.set_aside == {"bookkeeping": 1}


def test_a_file_that_the_person_added_is_read_as_the_model_reads_it(read):
    added = {"role": "user", "content": [*text("Look"), {"type": "file", "path": "a.py", "content": "x = 1"}]}
    answer = assistant(*text("Seen"), modelInfo={"id": "m"})
    transcript = one(read("s.messages.json", {"sessionId": "s", "messages": [added, answer]}))
    assert transcript.messages[0].text == 'Look\n<file_content path="a.py">\nx = 1\n</file_content>'

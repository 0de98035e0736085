"""Inspect logs: samples, attachments, pools, and conversations out of model calls."""

import copy
import json
import zipfile

import pytest

from tests.flows.sources.logs import inspect
from tests.flows.sources.logs.inspect import call, make_message, model_event


def told(transcript):
    return [(m.role, m.text) for m in transcript.messages]


@pytest.fixture
def sample(read):
    """Reads a log of one sample, whose given fields are changed."""

    def run(**fields):
        return read("log.json", {**inspect.DOCUMENT, "samples": [{**copy.deepcopy(inspect.SAMPLE), **fields}]})

    return run


def only(result):
    assert result.format == "inspect"
    assert result.set_aside == ()
    assert len(result.transcripts) == 1
    return result.transcripts[0]


CHAT = [
    make_message("user", "a", "Go"),
    make_message("assistant", "b", "Gone"),
    make_message("user", "c", "On"),
    make_message("assistant", "d", "On"),
]


def test_document_and_archive_give_the_same_sessions(read, tmp_path):
    inspect.ARCHIVE(tmp_path / "log.eval", samples=1)
    as_document = read("log.json", inspect.DOCUMENT).transcripts
    as_archive = read(tmp_path / "log.eval").transcripts
    assert [told(t) for t in as_document] == [told(t) for t in as_archive]
    assert as_archive[0].session_id == "inspect-sample-uuid-0"
    assert as_archive[0].messages[0].source_ref == "log.eval/samples/0_epoch_1.json#0"


def test_what_the_final_messages_lack_comes_from_the_model_calls(read):
    main, _ = read("log.json", inspect.DOCUMENT).transcripts
    assert told(main) == [
        ("user", "Mend the mill."),
        ("assistant", "I look."),
        ("assistant", "I let someone dig."),
        ("tool", "Too slow."),
        ("assistant", "It is mended."),
    ]
    assert [m.reasoning for m in main.messages][1] == "Hm."
    assert [m.is_error for m in main.messages] == [False, False, False, True, False]


def test_a_compaction_is_data_and_its_summary_no_message(read):
    result = read("log.json", inspect.DOCUMENT)
    (event,) = result.transcripts[0].compactions
    assert event.summary == "[CONTEXT COMPACTION SUMMARY] I looked at the wheel."
    assert (event.at_seq, event.dropped, event.summary_at) == (2, (1,), 1)
    assert (event.tokens_before, event.trigger) == (900, "threshold")
    assert result.account.aside["user", "recorded compaction summary"] == 1


def test_an_agent_beside_the_conversation_is_a_session_of_its_own(read):
    main, digger = read("log.json", inspect.DOCUMENT).transcripts
    assert told(digger) == [
        ("user", "dig"),
        ("assistant", "Digging."),
        ("tool", "deep"),
        ("assistant", "Found nothing."),
    ]
    assert digger.parent_session_id == main.session_id
    assert (digger.session_id, digger.title) == ("inspect-sample-uuid-1-digger-0", "digger")


def test_what_a_scorer_asks_and_hears_is_no_message(read):
    result = read("log.json", inspect.DOCUMENT)
    assert result.account.aside["user", "model call of a scorer"] == 1
    assert result.account.aside["assistant", "model call of a scorer"] == 1


def test_a_session_has_the_task_the_model_the_times_and_the_usage_of_its_calls(read):
    main = read("log.json", inspect.DOCUMENT).transcripts[0]
    assert (main.task_type, main.model, main.title) == ("mills", "test-model-1", "Mend the mill.")
    assert main.started_at == "2026-01-01T10:00:00+00:00"
    assert (main.usage.input_tokens, main.usage.output_tokens) == (30, 6)


@pytest.mark.parametrize(
    ("usage", "whole"),
    [
        ({"input_tokens": 100, "input_tokens_cache_read": 80, "output_tokens": 5, "total_tokens": 105}, 100),
        ({"input_tokens": 20, "input_tokens_cache_read": 80, "output_tokens": 5, "total_tokens": 105}, 100),
        ({"input_tokens": 20, "input_tokens_cache_read": 80, "output_tokens": 5}, 100),
    ],
)
def test_input_tokens_hold_the_cached_part_whether_the_log_counts_it_in_or_not(sample, usage, whole):
    main = only(sample(messages=CHAT, events=[], model_usage={"m": usage}))
    assert (main.usage.input_tokens, main.usage.cached_tokens) == (whole, 80)


def test_attachments_stand_for_long_strings_in_text_and_arguments(sample):
    first, second = "attachment://" + "a" * 32, "attachment://" + "b" * 32
    messages = [
        make_message("user", "1", [{"type": "text", "text": first}, {"type": "text", "text": second}]),
        make_message("assistant", "2", first, tool_calls=[call("c", "write", text=first, deep=[{"er": first}])]),
    ]
    result = sample(messages=messages, events=[], attachments={"a" * 32: "long", "c" * 32: first})
    main = result.transcripts[0]
    assert told(main) == [("user", f"long\n{second}"), ("assistant", "long")]
    assert json.loads(main.messages[1].tool_calls[0].arguments) == {"text": "long", "deep": [{"er": "long"}]}
    assert result.account.aside["record", "attachment that is not in the log"] == 1


def test_prompts_may_be_ranges_in_a_pool_of_messages(sample):
    prompt, answer = inspect.ASKED, inspect.LOOKS
    pooled = {**model_event([], inspect.DONE), "input_refs": [[0, 1], [1, 3]]}
    main = only(
        sample(
            messages=[inspect.ASKED, inspect.DONE],
            events=[model_event([prompt], answer), pooled],
            events_data={"messages": [prompt, answer, inspect.SEEN], "calls": []},
        )
    )
    assert [m.role for m in main.messages] == ["user", "assistant", "tool", "assistant"]


def test_a_range_beyond_the_pool_or_without_end_is_no_crash_and_no_endless_work(sample):
    event = {**model_event([], inspect.DONE), "input_refs": [[0, 10**12]] * 3}
    assert sample(messages=CHAT, events=[event], events_data={"messages": CHAT}).transcripts
    for ranges in ([[5, 1]], [[-3, 2]], [["a", 2]], [3], {"a": 1}):
        event = {**event, "input_refs": ranges}
        result = sample(messages=CHAT, events=[event], events_data={"messages": CHAT})
        assert (len(result.transcripts), len(result.set_aside)) == (1, 1)


def test_samples_in_pieces_are_put_together(read, tmp_path):
    """The shape that large samples have since 2026: pools, events and attachments in members of their own."""
    path = tmp_path / "log.eval"
    shell = {"id": 1, "epoch": 1, "target": "", "uuid": "u1", "message_refs": [[0, 1], [2, 4]]}
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("samples/1_epoch_1/sample.json", json.dumps(shell))
        made.writestr(
            "samples/1_epoch_1/messages/2.json", json.dumps([CHAT[2], make_message("assistant", "d", "attachment://1")])
        )
        made.writestr("samples/1_epoch_1/messages/0.json", json.dumps(CHAT[:2]))
        made.writestr("samples/1_epoch_1/attachments/0.json", json.dumps(["zero", "one"]))
        made.writestr("samples/1_epoch_1/events/0.json", json.dumps([]))
        made.writestr("samples/1_epoch_1/events/stats.json", "{}")
        made.writestr("samples/1_epoch_1/metadata.json", "{}")
        made.writestr("header.json", json.dumps(inspect.HEADER))
    assert told(only(read(path))) == [("user", "Go"), ("user", "On"), ("assistant", "one")]


@pytest.mark.parametrize("ranges", [[[0, 10**9]] * 1000, [3], {"a": 1}, [["x", "y"]], [[None, 1]], 7])
def test_a_sample_in_pieces_with_bad_ranges_costs_itself(read, tmp_path, ranges):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("samples/1/sample.json", json.dumps({"id": 1, "epoch": 1, "message_refs": ranges}))
        made.writestr("samples/1/messages/0.json", json.dumps(CHAT))
        made.writestr("samples/2.json", json.dumps({**inspect.SAMPLE, "events": [], "messages": CHAT}))
    result = read(path)
    assert len(result.transcripts) == 1
    assert len(result.set_aside) == 1


def grown(*turns):
    """A conversation whose model calls each have all before: (prompt before, answer)."""
    events, history = [], []
    for asked, answered in turns:
        history = [*history, *asked]
        events.append(model_event(history, answered))
        history = [*history, answered]
    return events, history


def test_a_message_that_is_said_twice_is_there_twice_even_without_ids(sample):
    turns = [([{"role": "user", "content": "Continue"}], {"role": "assistant", "content": "Hm."}) for _ in range(3)]
    events, history = grown(*turns)
    main = only(sample(messages=history, events=events))
    assert told(main) == [("user", "Continue"), ("assistant", "Hm.")] * 3


def test_an_agent_that_compacts_by_itself_is_seen_by_what_its_prompts_lack(sample):
    turns = [
        ([make_message("user", f"u{n}", f"Do {n}")], make_message("assistant", f"a{n}", f"Did {n}")) for n in range(4)
    ]
    events, history = grown(*turns)
    asked = make_message("user", "ask", "Summarise all that.")
    events.append(model_event([*history, asked], make_message("assistant", "wrote", "Four things were done.")))
    after = [history[0], make_message("user", "sum", "So far: Four things were done.")]
    events.append(model_event(after, make_message("assistant", "end", "Ready.")))
    result = sample(messages=[*after, make_message("assistant", "end", "Ready.")], events=events)
    main = only(result)
    assert told(main) == [
        *[(role, text) for n in range(4) for role, text in (("user", f"Do {n}"), ("assistant", f"Did {n}"))],
        ("assistant", "Ready."),
    ]
    (event,) = main.compactions
    assert (event.at_seq, event.summary, event.dropped) == (8, "So far: Four things were done.", tuple(range(1, 8)))
    assert result.account.aside["assistant", "model call beside the conversation"] == 1
    assert result.account.aside["user", "model call beside the conversation"] == 1


def test_results_that_a_compaction_cleared_keep_their_text(sample):
    looks = [make_message("assistant", f"a{n}", "", tool_calls=[call(f"c{n}", "look")]) for n in range(3)]
    results = [make_message("tool", f"t{n}", f"result {n}", tool_call_id=f"c{n - 1}") for n in range(1, 3)]
    turns = [([inspect.ASKED], looks[0]), ([results[0]], looks[1]), ([results[1]], looks[2])]
    events, history = grown(*turns)
    cleared = [
        make_message("tool", "new", "(Tool result removed)", tool_call_id=m["tool_call_id"]) if m["id"] == "t1" else m
        for m in history
    ]
    events += [{"event": "compaction", "type": "edit", "tokens_before": 7}, model_event(cleared, inspect.DONE)]
    main = only(sample(messages=[*history, inspect.DONE], events=events))
    assert ("tool", "result 1") in told(main)
    (event,) = main.compactions
    assert (event.cleared, event.cleared_text, event.dropped) == ((2,), "(Tool result removed)", ())


def test_trimming_the_oldest_messages_is_a_compaction_without_a_summary(sample):
    turns = [
        ([make_message("user", f"u{n}", f"Do {n}")], make_message("assistant", f"a{n}", f"Did {n}")) for n in range(4)
    ]
    events, history = grown(*turns)
    kept = [history[0], *history[5:]]
    events.append(model_event(kept, inspect.DONE))
    main = only(sample(messages=[*kept, inspect.DONE], events=events))
    (event,) = main.compactions
    assert (event.summary, event.dropped, event.has_opaque_summary) == (None, (1, 2, 3, 4), False)
    assert len(main) == 9


def test_an_answer_that_was_thrown_away_is_a_rewound_branch(sample):
    events = [
        model_event([inspect.ASKED], make_message("assistant", "bad", "Nonsense")),
        model_event([inspect.ASKED], inspect.DONE),
    ]
    result = sample(messages=[inspect.ASKED, inspect.DONE], events=events)
    assert [m.text for m in only(result).messages] == ["Mend the mill.", "It is mended."]
    assert result.account.aside["assistant", "rewound branch"] == 1


def test_a_reminder_that_only_one_call_saw_is_left_aside_and_no_compaction(sample):
    events, history = [], [inspect.ASKED]
    for n in range(3):
        answer = make_message("assistant", f"a{n}", f"Did {n}")
        events.append(model_event([*history, make_message("user", f"r{n}", f"{n} turns left")], answer))
        history.append(answer)
    result = sample(messages=history, events=events)
    assert [m.text for m in only(result).messages] == ["Mend the mill.", "Did 0", "Did 1", "Did 2"]
    assert only(result).compactions == ()
    assert result.account.aside["user", "prompt that one call alone had"] == 3


def test_a_single_call_beside_the_conversation_is_no_session(sample):
    events = [
        model_event([inspect.ASKED], inspect.LOOKS),
        model_event([make_message("user", "x", "Is this any good?")], make_message("assistant", "y", "No.")),
    ]
    result = sample(messages=[inspect.ASKED, inspect.LOOKS], events=events)
    assert len(only(result)) == 2
    assert result.account.aside["user", "model call beside the conversation"] == 1


def test_the_submitted_answer_that_an_agent_adds_to_its_last_message_stays(sample):
    """React takes the call of its submit tool out of the message and puts the answer behind the text."""
    made = make_message("assistant", "z", "I am done.", tool_calls=[call("s", "submit", answer="42")])
    result = sample(
        messages=[inspect.ASKED, make_message("assistant", "z", "I am done.\n\n42")],
        events=[model_event([inspect.ASKED], made)],
    )
    assert told(only(result))[-1] == ("assistant", "I am done.\n\n42")
    assert result.account.aside["tool_call", "other version of a message"] == 1


def test_tools_that_the_provider_ran_are_calls_with_results(sample):
    block = {
        "type": "tool_use",
        "tool_type": "web_search",
        "id": "w",
        "name": "search",
        "arguments": '{"q": "x"}',
        "result": "found",
        "error": None,
    }
    main = only(sample(messages=[make_message("assistant", "1", [block, {"type": "text", "text": "So."}])], events=[]))
    assert [(m.role, m.text, m.tool_call_id) for m in main.messages] == [
        ("assistant", "So.", None),
        ("tool", "found", "w"),
    ]
    assert main.messages[0].tool_calls[0].arguments == '{"q": "x"}'


def test_images_are_marks_redacted_reasoning_is_its_summary_and_payloads_are_no_text(sample):
    content = [
        {"type": "reasoning", "reasoning": "ENCRYPTED", "redacted": True, "summary": "In short."},
        {"type": "data", "data": {"blob": "zzz"}},
        {"type": "image", "image": "data:image/png;base64," + "QUJD" * 100},
        {"type": "audio", "audio": "https://mill.example/a.wav", "format": "wav"},
    ]
    message = only(sample(messages=[make_message("assistant", "1", content)], events=[])).messages[0]
    assert message.text == "[image image/png, 300 bytes]\n[file https://mill.example/a.wav]"
    assert message.reasoning == "In short."


def test_attempts_that_failed_are_counted(sample):
    retry = {"message": "Boom", "events": [model_event([inspect.ASKED], make_message("assistant", "r", "Half"))]}
    result = sample(messages=CHAT, events=[], error_retries=[retry])
    assert result.account.aside["assistant", "attempt that failed and was repeated"] == 1


def test_a_bad_message_costs_itself_and_a_bad_sample_itself(read):
    bad = {
        **inspect.SAMPLE,
        "uuid": "other",
        "messages": [*CHAT, {"role": 3}, "x", make_message("user", "e", 7)],
        "events": [7],
    }
    result = read("log.json", {**inspect.DOCUMENT, "samples": [3, {"messages": 5}, bad]})
    assert told(result.transcripts[0]) == [(m["role"], m["content"]) for m in CHAT]
    assert len(result.set_aside) == 6


def test_a_sample_without_messages_is_its_input_and_output(sample):
    output = {"choices": [{"message": {"role": "assistant", "content": "Mended."}}]}
    assert told(only(sample(messages=[], events=[], output=output))) == [
        ("user", "Mend the mill."),
        ("assistant", "Mended."),
    ]


def test_epochs_of_a_sample_are_sessions_of_their_own_also_without_a_uuid(read):
    samples = [{**inspect.SAMPLE, "uuid": None, "epoch": epoch, "events": [], "messages": CHAT} for epoch in (1, 2)]
    found = read("log.json", {**inspect.DOCUMENT, "samples": samples}).transcripts
    assert [t.session_id for t in found] == [f"inspect-eval-00000001-task-1-mill-{epoch}" for epoch in (1, 2)]


def test_a_log_whose_header_was_never_written_is_described_by_its_journal(read, tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("_journal/start.json", json.dumps({"version": 2, "eval": inspect.EVAL}))
        made.writestr("samples/1_epoch_1.json", json.dumps({**inspect.SAMPLE, "events": [], "messages": CHAT}))
    assert only(read(path)).task_type == "mills"

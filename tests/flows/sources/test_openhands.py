"""OpenHands V1: a folder of event files is one session."""

import json

import pytest

from flows.sources import discover, read_input
from tests.flows.sources import logs


@pytest.fixture
def folder(tmp_path):
    """Writes events as files; numbers are given or count up."""

    def run(events, numbers=None):
        events_folder = tmp_path / "conv-7" / "events"
        events_folder.mkdir(parents=True)
        for at, event in enumerate(events):
            number = numbers[at] if numbers else at
            (events_folder / f"event-{number:05}-{event['id']}.json").write_text(json.dumps(event))
        (tmp_path / "conv-7" / "base_state.json").write_text('{"api_key": "secret"}')
        return tmp_path

    return run


def read_one(path):
    (found,) = discover([str(path)])
    result = read_input(found)
    assert result.format == "openhands_v1_events"
    assert result.set_aside == ()
    return result.transcripts[0]


def test_a_folder_of_events_is_one_session_named_by_its_conversation(folder, line_samples):
    transcript = read_one(folder(line_samples["openhands_v1_events"]))
    assert transcript.session_id == "openhands_v1_events-conv-7"
    assert [m.role for m in transcript.messages] == ["system", "user", "assistant", "tool", "tool"]
    assert transcript.messages[3].source_ref == "event-00004-e4.json:1"


def test_actions_of_one_response_are_one_message_with_parallel_calls(folder, line_samples):
    answer, first, second = read_one(folder(line_samples["openhands_v1_events"])).messages[2:]
    assert answer.text == "token-2"
    assert [(c.id, c.name) for c in answer.tool_calls] == [("t1", "terminal"), ("t2", "terminal")]
    assert [(m.tool_call_id, m.text, m.is_error) for m in (first, second)] == [
        ("t1", "token-4", True),
        ("t2", "token-5", False),
    ]


def test_of_two_events_with_one_number_the_earlier_comes_first(folder, line_samples):
    events = [dict(event) for event in line_samples["openhands_v1_events"][:2]]

    def say(own, text, time):
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        return events[1] | {"id": own, "timestamp": time, "llm_message": message}

    twins = [say("z", "earlier", "2026-03-01T10:00:00"), say("a", "later", "2026-03-01T11:00:00")]
    transcript = read_one(folder([events[0], *twins], numbers=[0, 9, 9]))
    assert [m.text for m in transcript.messages[1:]] == ["earlier", "later"]


def test_a_condensation_says_which_messages_left_and_is_none_itself(folder, line_samples):
    events = line_samples["openhands_v1_events"]
    forgets = {"kind": "Condensation", "source": "environment", "summary": "So far.", "summary_offset": 2}
    half = forgets | {"id": "k1", "forgotten_event_ids": ["e2", "e4"]}
    rest = forgets | {"id": "k2", "forgotten_event_ids": ["e3", "e5"]}
    transcript = read_one(folder([*events, half, rest]))
    first, second = transcript.compactions
    assert (first.at_seq, first.summary, first.dropped) == (5, "So far.", (3,))  # one action of the response is left
    assert second.dropped == (2, 4)  # now the other one is forgotten too
    assert (first.summary_at, second.summary_at) == (2, 2)
    assert transcript.set_aside == {"bookkeeping": 1, "recorded compaction summary": 2}


def test_a_condensation_drops_a_message_when_none_of_its_events_is_left(folder, line_samples):
    forgets = {
        "kind": "Condensation",
        "id": "k",
        "source": "environment",
        "forgotten_event_ids": ["e2", "e3", "e4", "e5"],
    }
    transcript = read_one(folder([*line_samples["openhands_v1_events"], forgets]))
    assert transcript.compactions[0].dropped == (2, 3, 4)


@pytest.mark.parametrize(
    ("observation", "text", "failed"),
    [
        ({"kind": "ThinkObservation", "content": "Logged."}, "Logged.", False),
        ({"kind": "StrReplaceEditorObservation", "output": "", "error": "No match."}, "No match.", True),
        ({"kind": "TerminalObservation", "content": [{"type": "text", "text": "x"}], "is_error": True}, "x", True),
        (
            {"kind": "ExecuteBashObservation", "output": "x", "metadata": {"exit_code": -1, "suffix": "\n[runs]"}},
            "x\n[runs]",
            False,
        ),
        ({"kind": "NewObservation", "rows": 3}, '{"rows":3}', False),
    ],
)
def test_the_text_of_an_observation_is_found_whatever_its_kind_calls_it(
    observation, text, failed, folder, line_samples
):
    events = [
        *line_samples["openhands_v1_events"][:3],
        line_samples["openhands_v1_events"][4] | {"observation": observation},
    ]
    message = read_one(folder(events)).messages[-1]
    assert (message.text, message.is_error) == (text, failed)


def test_an_agent_error_and_a_refusal_are_failed_results(folder, line_samples):
    events = line_samples["openhands_v1_events"][:4]
    error = {
        "kind": "AgentErrorEvent",
        "id": "x1",
        "tool_call_id": "t1",
        "tool_name": "terminal",
        "error": "Bad arguments",
    }
    refusal = {"kind": "UserRejectObservation", "id": "x2", "tool_call_id": "t2", "rejection_reason": "No"}
    results = read_one(folder([*events, error, refusal])).messages[-2:]
    assert [(m.tool_call_id, m.text, m.is_error) for m in results] == [
        ("t1", "Bad arguments", True),
        ("t2", "No", True),
    ]


def test_an_event_file_that_is_cut_is_set_aside_by_its_name(folder, line_samples):
    root = folder(line_samples["openhands_v1_events"])
    cut = next(root.rglob("event-00001-*"))
    cut.write_bytes(cut.read_bytes()[:40])
    result = read_input(discover([str(root)])[0])
    assert [m.role for m in result.transcripts[0].messages] == ["system", "assistant", "tool", "tool"]
    assert [(s.path, s.line) for s in result.set_aside] == [(str(cut), 1)]


def test_the_same_event_in_two_files_counts_once(folder, line_samples):
    events = line_samples["openhands_v1_events"]
    transcript = read_one(folder([*events, events[1]]))
    assert len(transcript) == 5
    assert transcript.set_aside["duplicate"] == 1


def test_a_result_whose_call_was_forgotten_is_kept_from_the_model_too(folder, line_samples):
    events = line_samples["openhands_v1_events"]
    forgets = {
        "kind": "Condensation",
        "id": "k",
        "source": "environment",
        "summary": "So far.",
        "summary_offset": 1,
        "forgotten_event_ids": ["e2", "e3", "e4"],
    }
    (event,) = read_one(folder([*events, forgets])).compactions
    assert (event.dropped, event.summary_at) == ((2, 3, 4), 1)


def test_the_place_of_a_summary_is_counted_in_events_and_told_in_messages(folder, line_samples):
    events = line_samples["openhands_v1_events"]
    forgets = {
        "kind": "Condensation",
        "id": "k",
        "source": "environment",
        "summary": "So far.",
        "summary_offset": 4,
        "forgotten_event_ids": [],
    }
    (event,) = read_one(folder([*events, forgets])).compactions
    assert event.summary_at == 3  # prompt, task, and both actions of one response


def test_the_last_totals_are_the_usage_and_name_the_model(folder, line_samples):
    def totals(own, *spent):
        metrics = {
            f"part-{n}": {
                "model_name": "claude-test-1",
                "accumulated_cost": 0.5 * tokens,
                "accumulated_token_usage": {"prompt_tokens": tokens, "completion_tokens": 1, "cache_read_tokens": 2},
            }
            for n, tokens in enumerate(spent)
        }
        value = {"usage_to_metrics": metrics}
        return {
            "kind": "ConversationStateUpdateEvent",
            "id": own,
            "source": "environment",
            "key": "stats",
            "value": value,
        }

    events = line_samples["openhands_v1_events"]
    transcript = read_one(folder([*events, totals("s1", 10), totals("s2", 30, 4)]))
    usage = transcript.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost_usd) == (34, 2, 4, 17.0)
    assert transcript.model == "claude-test-1"


def test_a_repeated_event_is_counted_as_what_it_is(tmp_path, line_samples):
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in line_samples["openhands_v1_events"] * 2))
    result = read_input(discover([str(path)])[0])
    twice = {
        (kind, "duplicate"): n
        for kind, n in (("system", 1), ("user", 1), ("assistant", 2), ("tool_call", 2), ("tool", 2))
    }
    assert dict(result.account.aside) == {("record", "bookkeeping"): 1, ("record", "duplicate"): 1, **twice}


def test_the_calls_of_an_agent_that_the_sdk_drives_have_their_result_in_a_later_event(read):
    call = {"kind": "ACPToolCallEvent", "source": "agent", "tool_call_id": "t1", "title": "Read", "tool_kind": "read"}
    told = [{"type": "content", "content": {"type": "text", "text": "wheel"}}]
    prompt = {"role": "user", "content": [{"type": "text", "text": "Count"}]}
    events = [
        {"kind": "MessageEvent", "id": "e0", "source": "user", "llm_message": prompt},
        call | {"id": "e1", "status": "in_progress", "raw_input": {"path": "mill"}},
        call | {"id": "e2", "status": "failed", "content": told},
    ]
    (transcript,) = read("e.jsonl", lines=events).transcripts
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool"]
    assert transcript.messages[1].tool_calls[0].arguments == '{"path":"mill"}'
    assert (transcript.messages[2].text, transcript.messages[2].is_error) == ("wheel", True)


def test_an_event_of_an_unknown_kind_with_a_message_in_it_is_set_aside(read):
    known = {"kind": "PauseEvent", "id": "e0", "source": "user"}
    other = {"kind": "WhisperEvent", "id": "e1", "source": "user", "llm_message": {"role": "user", "content": []}}
    result = read("e.jsonl", lines=[known, other, {"kind": "HookExecutionEvent", "id": "e2", "source": "hook"}])
    assert "WhisperEvent" in result.set_aside[0].reason


def test_the_events_as_a_list_or_under_a_key_are_the_session_of_their_lines(read):
    events = logs.MODULES["openhands_v1_events"].LINES
    [of_lines] = read("events.jsonl", lines=events).transcripts
    for document in (events, {"events": events}, {"trajectory": events}, {"trajectory": events, "test_result": {}}):
        result = read("events.json", document)
        [transcript] = result.transcripts
        assert result.format == "openhands_v1_events"
        assert transcript.session_id == of_lines.session_id
        assert [(m.role, m.text, m.tool_calls) for m in transcript.messages] == [
            (m.role, m.text, m.tool_calls) for m in of_lines.messages
        ]

"""OpenHands V0: evaluation outputs, trajectories and folders of events."""

import json

import pytest

from compaction.transcript import Usage, unpaired
from flows.sources import InputReading, discover, read_input
from tests.flows.sources.conftest import as_input
from tests.flows.sources.logs.openhands_v0_output import instance
from tests.flows.sources.logs.openhands_v0_trajectory import action, observation, response, with_response

PROMPT = action(1, "message", "user", content="Mend the mill.")


@pytest.fixture
def one(read):
    """Reads a list of events and gives its only session."""

    def run(events):
        result = read("trajectory.json", events)
        assert result.format == "openhands_v0_trajectory"
        assert result.set_aside == ()
        (transcript,) = result.transcripts
        return transcript

    return run


def did(number, kind="run", call="toolu_01", key=None, **args):
    """An action of a response with one call."""
    made = response(key or f"r{number}", f"Step {number}.", (call, "execute_bash", {"command": f"c{number}"}))
    return with_response(
        action(number, kind, command=f"c{number}", thought=f"Step {number}.", **args), call, "execute_bash", made
    )


def saw(number, cause, content="fine", **extras):
    return observation(number, "run", content, cause, **extras)


def summary(transcript):
    return [(m.role, m.text, [c.id for c in m.tool_calls] or m.tool_call_id) for m in transcript.messages]


def test_results_are_paired_by_cause_and_actions_of_a_response_are_one_message(one, document_samples):
    transcript = one(document_samples["openhands_v0_trajectory"])
    assert summary(transcript) == [
        ("system", "token-0", None),
        ("user", "token-1", None),
        ("assistant", "token-3", ["toolu_01", "toolu_02"]),
        ("tool", "token-5", "toolu_02"),
        ("tool", "token-6\n[code 2.]", "toolu_01"),
        ("assistant", "token-7", None),
    ]
    assert [m.is_error for m in transcript.messages] == [False, False, False, False, True, False]
    assert transcript.set_aside == {"bookkeeping": 1}
    assert (transcript.title, transcript.model) == ("token-1", "model-test-1")
    assert transcript.usage == Usage(100, 10, None, None)


def test_call_ids_that_start_again_are_made_unique(one):
    transcript = one([PROMPT, did(2), saw(3, 2, "first"), did(4), saw(5, 4, "second")])
    first, second = [m.tool_calls[0].id for m in transcript.messages if m.tool_calls]
    assert first != second
    assert [(m.text, m.tool_call_id) for m in transcript.messages if m.role == "tool"] == [
        ("first", first),
        ("second", second),
    ]


def test_a_call_that_never_became_an_action_stays_as_an_open_call(one):
    made = response("r1", "Both.", ("t1", "run", {"a": 1}), ("t2", "run", {"a": 2}))
    transcript = one([PROMPT, with_response(action(2, "run", command="a"), "t1", "run", made), saw(3, 2)])
    assert [c.id for c in transcript.messages[1].tool_calls] == ["t1", "t2"]
    assert unpaired(transcript.messages) == ({"t2"}, set())


def test_a_thought_is_the_text_only_where_it_is_no_argument(one):
    plain = {**action(2, "run", command="ls", thought="I look.", is_confirmed="confirmed", cwd=None)}
    thinks = with_response(
        action(4, "think", thought="Hm."), "t1", "think", response("r2", "", ("t1", "think", {"thought": "Hm."}))
    )
    first, _, second = one([PROMPT, plain, saw(3, 2), thinks]).messages[1:]
    assert (first.text, first.tool_calls[0].parsed()) == ("I look.", {"command": "ls"})
    assert (second.text, second.tool_calls[0].parsed()) == ("", {"thought": "Hm."})


def test_reasoning_of_the_response_is_kept_apart(one):
    event = did(2)
    event["tool_call_metadata"]["model_response"]["choices"][0]["message"]["reasoning_content"] = "Because."
    assert one([PROMPT, event]).messages[1].reasoning == "Because."


@pytest.mark.parametrize(
    ("kind", "content", "extras", "failed"),
    [
        ("run", "x", {"metadata": {"exit_code": 1}}, True),
        ("run", "x", {"metadata": {"exit_code": -1}}, False),
        ("run", "x", {"exit_code": 127}, True),
        ("error", "x", {}, True),
        ("user_rejected", "x", {}, True),
        ("edit", "ERROR:\nno match", {}, True),
        ("browse", "x", {"error": True}, True),
        ("mcp", '{"content":[],"isError":true}', {}, True),
        ("mcp", '{"content":[],"isError":false}', {}, False),
        ("read", "exit code 1 is mentioned here", {}, False),
    ],
)
def test_a_result_failed_when_the_event_says_so(one, kind, content, extras, failed):
    transcript = one([PROMPT, did(2), observation(3, kind, content, 2, **extras)])
    assert transcript.messages[-1].is_error is failed


def test_an_error_that_answers_no_action_reaches_the_model_as_the_users(one):
    transcript = one([PROMPT, observation(2, "error", "Missing argument.")])
    assert summary(transcript)[1:] == [("user", "Missing argument.", None)]
    assert transcript.title == "Mend the mill."


def test_a_command_of_the_person_and_its_output_are_user_messages(one):
    transcript = one([PROMPT, action(2, "run", "user", command="ls"), saw(3, 2, "a.py")])
    assert summary(transcript)[1:] == [("user", "User executed the command:\nls", None), ("user", "a.py", None)]


def test_recalled_knowledge_goes_to_the_prompt_that_asked_for_it(one):
    found = [{"name": "github", "content": "Never push."}]
    recalled = observation(3, "recall", "Added", 2, microagent_knowledge=found, working_dir="/mill")
    transcript = one([PROMPT, action(2, "recall", "user", query="x"), recalled, did(4)])
    assert summary(transcript)[0] == ("user", "Mend the mill.\nNever push.", None)
    assert transcript.cwd == "/mill"
    assert transcript.set_aside == {"bookkeeping": 2}


def test_images_become_marks(one):
    transcript = one([action(1, "message", "user", content="See.", image_urls=["data:image/png;base64,AAAA"])])
    assert transcript.messages[0].text == "See.\n[image image/png, 3 bytes]"


def test_an_event_that_occurs_again_is_left_out(read):
    result = read("trajectory.json", [PROMPT, did(2), did(2), saw(3, 2)])
    assert len(result.transcripts[0]) == 3
    assert result.account.aside == {("assistant", "duplicate"): 1, ("tool_call", "duplicate"): 1}


@pytest.mark.parametrize(
    "forgotten",
    [{"forgotten_event_ids": [2, 3]}, {"forgotten_events_start_id": 2, "forgotten_events_end_id": 3}],
)
def test_a_condensation_is_a_recorded_compaction(one, forgotten):
    events = [PROMPT, did(2), saw(3, 2), did(4), saw(5, 4)]
    condensed = action(6, "condensation", **forgotten, summary="All so far.", summary_offset=1)
    transcript = one([*events, condensed, did(7)])
    (event,) = transcript.compactions
    assert (event.at_seq, event.summary, event.summary_at, event.dropped) == (5, "All so far.", 1, (1, 2))
    assert len(transcript) == 6


@pytest.mark.parametrize(("forgotten", "dropped"), [([5], ()), ([4, 5], (2, 3, 4)), ([1], (1,))])
def test_a_message_leaves_when_all_of_its_events_are_forgotten(one, document_samples, forgotten, dropped):
    condensed = action(9, "condensation", forgotten_event_ids=forgotten, summary=None)
    (event,) = one([*document_samples["openhands_v0_trajectory"], condensed]).compactions
    assert (event.dropped, event.summary) == (dropped, None)


def test_a_range_of_forgotten_events_may_be_of_any_size(one):
    condensed = action(6, "condensation", forgotten_events_start_id=0, forgotten_events_end_id=10**15)
    (event,) = one([PROMPT, did(2), saw(3, 2), condensed, did(7)]).compactions
    assert event.dropped == (0, 1, 2)


def test_a_delegate_is_a_session_of_its_own(read):
    events = [
        PROMPT,
        action(2, "delegate", agent="BrowsingAgent", inputs={"task": "look"}, thought="I ask."),
        action(3, "message", "user", content="TASK: look"),
        action(4, "browse_interactive", browser_actions="goto('x')", thought="I go."),
        observation(5, "browse", "a page", 4),
        action(6, "finish", outputs={"content": "found"}, thought="Found."),
        observation(7, "delegate", "BrowsingAgent finishes", outputs={"content": "found"}),
        action(8, "message", content="Thanks."),
    ]
    main, sub = read("trajectory.json", events).transcripts
    assert summary(main) == [
        ("user", "Mend the mill.", None),
        ("assistant", "I ask.", ["call-1"]),
        ("tool", "BrowsingAgent finishes", "call-1"),
        ("assistant", "Thanks.", None),
    ]
    assert [m.role for m in sub.messages] == ["user", "assistant", "tool", "assistant"]
    assert sub.parent_session_id == main.session_id
    assert sub.session_id == f"{main.session_id}.2"


def test_a_history_without_the_events_of_its_delegate_is_one_session(one):
    ask = action(2, "delegate", agent="BrowsingAgent", inputs={}, thought="")
    transcript = one([PROMPT, ask, observation(7, "delegate", "done"), action(8, "message", content="Thanks.")])
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "assistant"]


def test_a_delegate_that_failed_without_a_word_ends_with_the_error(read):
    events = [
        PROMPT,
        action(2, "delegate", agent="B", inputs={}),
        action(3, "message", "user", content="TASK"),
        observation(4, "error", "Delegator agent encountered an error"),
        action(5, "message", content="Then I do it."),
    ]
    main, sub = read("trajectory.json", events).transcripts
    assert [m.role for m in main.messages] == ["user", "assistant", "tool", "assistant"]
    assert main.messages[2].tool_call_id == main.messages[1].tool_calls[0].id
    assert [m.text for m in sub.messages] == ["TASK"]


def test_a_folder_of_events_is_one_session_in_the_order_of_the_numbers(tmp_path):
    folder = tmp_path / "sessions" / "abc" / "events"
    folder.mkdir(parents=True)
    for number, event in enumerate([PROMPT, did(2), saw(3, 2)], start=9):
        (folder / f"{number}.json").write_text(
            json.dumps({**event, "id": number, "cause": 10} if number > 10 else {**event, "id": number})
        )
    cache = tmp_path / "sessions" / "abc" / "event_cache"
    cache.mkdir()
    (cache / "0-25.json").write_text(json.dumps([PROMPT]))
    page, events = (read_input(found) for found in discover([str(tmp_path)]))
    (transcript,) = events.transcripts
    assert transcript.session_id == "openhands_v0_trajectory-abc"
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool"]
    assert transcript.messages[2].source_ref == "11.json:1"
    assert page.transcripts == ()
    assert "event cache" in page.set_aside[0].reason


@pytest.mark.parametrize("wrap", [lambda e: {"trajectory": e}, lambda e: {str(i): one for i, one in enumerate(e)}])
def test_events_may_be_wrapped_in_an_object(read, wrap):
    result = read("trajectory.json", wrap([PROMPT, *(did(n) for n in range(2, 14))]))
    assert result.format == "openhands_v0_trajectory"
    assert [m.text for m in result.transcripts[0].messages[-2:]] == ["Step 12.", "Step 13."]


def test_an_output_has_a_session_for_each_instance(read, line_samples):
    result = read("output.jsonl", lines=line_samples["openhands_v0_output"])
    assert (result.format, result.set_aside) == ("openhands_v0_output", ())
    roles = [[m.role for m in t.messages] for t in result.transcripts]
    assert roles == [
        ["user", "assistant", "tool"],
        ["user", "assistant", "tool", "assistant"],
        ["user", "assistant", "tool", "assistant"],
        ["system", "user", "assistant", "tool", "tool"],
        ["user", "assistant"],
    ]
    assert [unpaired(t.messages)[1] for t in result.transcripts] == [set()] * 5
    assert [t.model for t in result.transcripts[:2]] == ["model-test-2", "model-test-3"]
    assert result.transcripts[0].usage == Usage(500, 50, 7, 0.5)
    assert result.transcripts[2].usage.cost_usd == 0.25
    assert result.transcripts[2].title == "Add a licence"
    assert result.transcripts[1].messages[2].is_error
    assert result.account.aside["record", "instance without a history"] == 1


def test_two_runs_of_an_instance_keep_names_of_their_own(read):
    first = instance("mill-1", [PROMPT, did(2, key="gen-1"), saw(3, 2)])
    second = instance("mill-1", [PROMPT, did(2, key="gen-2"), saw(3, 2)])
    one, other = read("output.jsonl", lines=[first, second]).transcripts
    assert one.session_id != other.session_id


def test_the_instruction_is_the_prompt_where_the_history_has_none(read):
    (transcript,) = read("output.jsonl", lines=[instance("mill-1", [did(2), saw(3, 2)])]).transcripts
    assert summary(transcript)[0] == ("user", "Fix it.", None)


def test_a_bad_event_costs_itself_alone(read):
    result = read("output.jsonl", lines=[instance("mill-1", [PROMPT, {"id": 5}, "text", did(2), saw(3, 2)])])
    assert [m.role for m in result.transcripts[0].messages] == ["user", "assistant", "tool"]
    assert [aside.reason for aside in result.set_aside] == [
        "an event without an action and without an observation",
        "event 2: expected an object, found a string",
    ]


def test_instances_are_yielded_one_by_one(write):
    lines = [instance(f"mill-{n}", [{**PROMPT, "args": {"content": f"Mend {n}."}}, did(2)]) for n in range(30)]
    reading = InputReading(as_input(write("output.jsonl", lines=lines)))
    sessions = iter(reading)
    next(sessions)
    assert reading.account.met["user"] < 5
    assert 1 + sum(1 for _ in sessions) == 30


def test_a_result_leaves_with_its_response_and_a_response_with_its_result(one):
    steps = [PROMPT, did(2), saw(3, 2), did(4), saw(5, 4), did(6), saw(7, 6)]
    condensed = action(8, "condensation", forgotten_events_start_id=3, forgotten_events_end_id=4, summary="So far.")
    (event,) = one([*steps, condensed, did(9)]).compactions
    assert event.dropped == (1, 2, 3, 4)

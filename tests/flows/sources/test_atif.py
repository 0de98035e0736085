"""Harbor's trajectories: calls and results on one step, summaries and sub-agents in files of their own."""

import json

import pytest

from tests.flows.sources.logs.atif import DOCUMENT, call, make_observation, step, trajectory

TASK = step("user", "Mend the mill")
COPIED = {"is_copied_context": True}


def one(result):
    assert (result.format, result.set_aside) == ("atif", ())
    (transcript,) = result.transcripts
    return transcript


def said(transcript):
    return [(m.role, m.text) for m in transcript.messages]


def test_a_step_is_a_response_with_its_calls_and_one_message_for_each_result(read):
    calls = [call("c1", "Read", path="a"), call("c2", "Read", path="b")]
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 3, "cost_usd": 0.5}
    answer = step(
        "agent",
        "Looking.",
        reasoning_content="hm",
        tool_calls=calls,
        observation=make_observation("B", "A", ids=("c2", "c1")),
    )
    transcript = one(
        read("t.json", trajectory("run-1", [step("system", "Be brief."), TASK, {**answer, "metrics": usage}]))
    )
    assert said(transcript) == [
        ("system", "Be brief."),
        ("user", "Mend the mill"),
        ("assistant", "Looking."),
        ("tool", "B"),
        ("tool", "A"),
    ]
    assert transcript.messages[2].reasoning == "hm"
    assert [(m.tool_call_id, m.tool_name) for m in transcript.messages[3:]] == [("c2", "Read"), ("c1", "Read")]
    assert (transcript.session_id, transcript.title, transcript.model) == ("atif-run-1", "Mend the mill", "gpt-test")
    assert (transcript.usage.input_tokens, transcript.usage.cost_usd) == (100, 0.5)


@pytest.mark.parametrize(
    ("results", "ids"),
    [(["all"], ["c2"]), (["one", "two"], ["c1", "c2"]), (["one", "two", "three"], ["c1", "c2", None])],
)
def test_results_without_an_id_answer_the_calls_of_their_step(read, results, ids):
    calls = [call("c1", "bash_command"), call("c2", "bash_command")]
    transcript = one(
        read(
            "t.json",
            trajectory("r", [TASK, step("agent", "", tool_calls=calls, observation=make_observation(*results))]),
        )
    )
    assert [m.tool_call_id for m in transcript.messages[2:]] == ids


def test_a_converter_says_in_a_result_that_the_call_failed(read):
    observation = make_observation("no", "ok", "2", ids=("c1", "c2", "c3"))
    for result, extra in zip(
        observation["results"], ({"tool_result_is_error": True}, {"is_error": False}, {"exit_code": 2}), strict=True
    ):
        result["extra"] = extra
    calls = [call(f"c{n}", "Bash") for n in (1, 2, 3)]
    transcript = one(read("t.json", trajectory("r", [step("agent", "", tool_calls=calls, observation=observation)])))
    assert [m.is_error for m in transcript.messages if m.role == "tool"] == [True, False, True]


def test_an_image_is_a_mark_with_its_file_and_text_parts_are_joined(read):
    image = {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}}
    transcript = one(read("t.json", trajectory("r", [step("user", [{"type": "text", "text": "See"}, image])])))
    assert said(transcript) == [("user", "See\n[image images/1.png]")]


RAW = '{"analysis": "A.", "plan": "P.", "commands": [{"keystrokes": "ls\\n", "duration": 0.1}], "task_complete": false}'
XML = """<response>
<analysis>
A.
</analysis>
<plan>
P.
</plan>
<commands>
<keystrokes duration="0.1">ls
</keystrokes>
</commands>
<task_complete>false</task_complete>
</response>"""


@pytest.mark.parametrize("raw", [RAW, f"```json\n{RAW}\n```", XML])
def test_a_raw_answer_of_terminus_becomes_a_call_and_leaves_the_text(read, raw):
    transcript = one(
        read("t.json", trajectory("r", [TASK, step("agent", raw, observation=make_observation("wheel.py"))]))
    )
    answer, result = transcript.messages[1:]
    assert answer.text.split() == ["A.", "P."]
    (made,) = answer.tool_calls
    assert (made.name, made.parsed()["keystrokes"], float(made.parsed()["duration"])) == ("bash_command", "ls\n", 0.1)
    assert (result.text, result.tool_call_id) == ("wheel.py", made.id)


def test_a_raw_answer_that_could_not_be_read_ran_nothing(read):
    steps = [TASK, step("agent", RAW, observation=make_observation("Previous response had parsing errors:\nno plan"))]
    transcript = one(read("t.json", trajectory("r", steps)))
    assert said(transcript)[1] == ("assistant", RAW)
    assert transcript.messages[1].tool_calls == ()
    assert transcript.messages[2].role == "user"  # the harness asks again


def test_several_keystrokes_and_the_end_of_the_task_are_one_call(read):
    raw = json.dumps({"analysis": "a", "commands": [{"keystrokes": "a"}, {"keystrokes": "b"}], "task_complete": True})
    done = json.dumps({"analysis": "a", "commands": [], "task_complete": True})
    transcript = one(read("t.json", trajectory("r", [step("agent", raw), step("agent", done), step("agent", "{}")])))
    calls = [[(c.name, c.parsed()) for c in m.tool_calls] for m in transcript.messages]
    both = {"commands": [{"keystrokes": "a"}, {"keystrokes": "b"}], "task_complete": True}
    assert calls == [[("bash_command", both)], [("mark_task_complete", {})], []]


def chain(write):
    """A run that was summarised twice, each time into another file."""
    summaries = [step("user", "Summary."), step("agent", "Questions?"), step("user", "Answers.")]
    copied = [{**s, **COPIED} for s in (TASK, *summaries)]
    last = {"prompt_tokens": 900, "completion_tokens": 50}
    first = [TASK, step("agent", "One."), step("agent", "Two.", metrics=last)]
    second = [{**s, "message": s["message"] + "!"} if s["message"] != TASK["message"] else s for s in copied]
    ref = {"continued_trajectory_ref": "trajectory.cont-1.json"}
    write("trajectory.json", trajectory("r", first, **ref))
    ref = {"continued_trajectory_ref": "trajectory.cont-2.json"}
    write("trajectory.cont-1.json", trajectory("r-cont-1", [*copied, step("agent", "Three.")], **ref))
    return write("trajectory.cont-2.json", trajectory("r-cont-2", [*second, step("agent", "Four.")]))


@pytest.mark.parametrize("name", ["trajectory.json", "trajectory.cont-1.json", "trajectory.cont-2.json"])
def test_whichever_file_of_a_summarised_run_is_read_the_run_is_one_session(read, write, name):
    folder = chain(write).parent
    transcript = one(read(folder / name))
    assert transcript.session_id == "atif-r"
    assert [m.text for m in transcript.messages] == ["Mend the mill", "One.", "Two.", "Three.", "Four."]
    first, second = transcript.compactions
    assert (first.at_seq, first.summary, first.dropped) == (3, "Summary.\n\nQuestions?\n\nAnswers.", (1, 2))
    assert (first.tokens_before, second.at_seq, second.dropped) == (950, 4, (3,))
    assert second.summary == "Summary.!\n\nQuestions?!\n\nAnswers.!"
    assert transcript.set_aside["copied context"] == 8


def test_a_continuation_alone_keeps_the_name_of_its_run_and_counts_nothing_twice(read, write):
    path = chain(write)
    (path.parent / "trajectory.json").unlink()
    (path.parent / "trajectory.cont-1.json").unlink()
    transcript = one(read(path))
    assert (transcript.session_id, said(transcript)) == ("atif-r", [("assistant", "Four.")])
    assert [event.at_seq for event in transcript.compactions] == [0]


def test_a_continuation_is_followed_to_plain_names_in_the_folder_only_and_once(read, write):
    steps = [TASK, step("agent", "One.")]
    for name in ("../x.json", "/etc/hosts", "gone.json", "t.json", "\0", "x" * 5000, 3, "sub/t.json", "C:\\t.json"):
        write("../x.json", trajectory("r", [step("agent", "Elsewhere.")]))
        transcript = one(read("t.json", trajectory("r", steps, continued_trajectory_ref=name)))
        assert len(transcript) == 2
    write("loop.json", trajectory("r", [step("agent", "Two.")], continued_trajectory_ref="t.json"))
    assert len(one(read("t.json", trajectory("r", steps, continued_trajectory_ref="loop.json")))) == 3


def test_a_missing_continuation_is_counted(read):
    transcript = one(read("t.json", trajectory("r", [TASK], continued_trajectory_ref="t.cont-1.json")))
    assert transcript.set_aside == {"continuation that is not in the folder": 1}


def test_sub_agents_in_the_file_are_sessions_of_their_own(read):
    inner = trajectory("run-1", [step("agent", "Deep.")], trajectory_id="sub-2")
    sub = trajectory("run-1", [step("agent", "Yes.")], trajectory_id="sub-1", subagent_trajectories=[inner])
    ref = {
        "results": [
            {"source_call_id": "c1", "content": "Yes.", "subagent_trajectory_ref": [{"trajectory_id": "sub-1"}]}
        ]
    }
    main = [TASK, step("agent", "", tool_calls=[call("c1", "Task")], observation=ref)]
    result = read("t.json", trajectory("run-1", main, subagent_trajectories=[sub]))
    assert [(t.session_id, t.parent_session_id) for t in result.transcripts] == [
        ("atif-run-1", None),
        ("atif-run-1.sub-1", "atif-run-1"),
        ("atif-run-1.sub-1.sub-2", "atif-run-1.sub-1"),
    ]


@pytest.mark.parametrize("session_id", ["run/1", None])
def test_a_sub_agent_in_another_file_is_the_same_session_from_both_files(read, write, session_id):
    told = {"name": "helper", "extra": {"parent_session_id": "run/1"}}
    sub = write("sub.json", trajectory("run/1-help", [step("agent", "Yes.")], agent=told))
    ref = {"results": [{"content": "ok", "subagent_trajectory_ref": [{"trajectory_path": "sub.json"}]}]}
    main, found = read(
        "trajectory.json", trajectory(session_id, [TASK, step("agent", "", observation=ref)])
    ).transcripts
    alone = one(read(sub))
    assert found.session_id == alone.session_id == "atif-run_1-help"
    assert found.messages == alone.messages
    assert found.parent_session_id == main.session_id
    assert alone.parent_session_id == "atif-run_1"


def test_the_main_file_of_the_folder_tells_a_sub_agent_its_parent(read, write):
    ref = {"results": [{"content": "ok", "subagent_trajectory_ref": [{"trajectory_path": "trajectory.sub.json"}]}]}
    write("trajectory.json", trajectory("run-1", [TASK, step("agent", "", observation=ref)]))
    alone = one(read("trajectory.sub.json", trajectory("run-1", [step("agent", "Yes.")])))
    assert (alone.session_id, alone.parent_session_id) == ("atif-run-1.trajectory.sub", "atif-run-1")


def test_a_summary_by_sub_agents_is_a_recorded_compaction(read, write):
    agent = {"name": "terminus-2-summarization-questions", "extra": {"parent_session_id": "r"}}
    name = "trajectory.summarization-1-questions.json"
    write(
        name,
        trajectory("r-summarization-1-questions", [step("user", "Summary."), step("agent", "Where?")], agent=agent),
    )
    ref = {"results": [{"subagent_trajectory_ref": [{"trajectory_path": name, "session_id": "r-summarization-1"}]}]}
    notice = step("system", "Performed context summarization.", observation=ref)
    main = trajectory("r", [TASK, step("agent", "One."), notice, step("user", "There."), step("agent", "Two.")])
    result = read("trajectory.json", main)
    transcript, sub = result.transcripts
    assert [m.text for m in transcript.messages] == ["Mend the mill", "One.", "There.", "Two."]
    (event,) = transcript.compactions
    assert (event.at_seq, event.summary, event.dropped) == (2, "Summary.\n\nWhere?", (1,))
    assert sub.parent_session_id == "atif-r"

    (event,) = one(read("elsewhere/trajectory.json", main)).compactions
    assert (event.summary, event.has_opaque_summary) == (None, True)


def test_steps_of_a_compaction_by_other_agents_are_no_messages(read):
    boundary = step("system", "Compacted.", extra={"context_management": {"type": "compaction", "boundary": "replace"}})
    summary = step("agent", "All so far.", extra={"pi_event_type": "compaction", "tokens_before": 9})
    steps = [TASK, step("agent", "One."), boundary, step("user", "Summary: …"), summary, step("agent", "Two.")]
    transcript = one(read("t.json", trajectory("r", steps, agent={"name": "vibe"})))
    assert [m.text for m in transcript.messages] == ["Mend the mill", "One.", "Summary: …", "Two."]
    events = [(e.at_seq, e.summary, e.dropped, e.tokens_before) for e in transcript.compactions]
    assert events == [(2, None, (0, 1), None), (3, "All so far.", None, 9)]


def test_a_step_that_cannot_be_used_is_set_aside_and_the_rest_goes_in(read):
    broken = json.loads(json.dumps(DOCUMENT))
    broken["steps"][1]["source"] = "ghost"
    broken["steps"][2] = 7
    result = read("t.json", broken)
    assert len(result.set_aside) == 2
    assert [m.text for m in result.transcripts[0].messages] == ["Mend the mill", "Done."]


def test_many_trajectories_may_stand_on_lines(read):
    result = read("t.jsonl", lines=[trajectory(f"r-{n}", [TASK, step("agent", "Done.")]) for n in range(3)])
    assert [t.session_id for t in result.transcripts] == ["atif-r-0", "atif-r-1", "atif-r-2"]


def test_totals_count_where_the_steps_have_no_metrics(read):
    totals = {"total_prompt_tokens": 10, "total_completion_tokens": 2, "total_cost_usd": 0.25, "total_steps": 1}
    usage = one(read("t.json", trajectory("r", [TASK, step("agent", "x")], final_metrics=totals))).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (10, 2, 0.25)


def test_steps_of_sub_agents_among_those_of_the_session_are_sessions_of_their_own(read):
    a, b = ({"extra": {"is_sidechain": True, "agent_id": own}} for own in "ab")
    steps = [TASK, step("user", "A?", **a), step("user", "B?", **b), step("agent", "A.", **a), step("agent", "Done.")]
    result = read("t.json", trajectory("run-1", steps))
    assert [(t.session_id, t.parent_session_id, [m.text for m in t.messages]) for t in result.transcripts] == [
        ("atif-run-1", None, ["Mend the mill", "Done."]),
        ("atif-run-1.a", "atif-run-1", ["A?", "A."]),
        ("atif-run-1.b", "atif-run-1", ["B?"]),
    ]

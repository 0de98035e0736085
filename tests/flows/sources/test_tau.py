"""tau-bench and tau2-bench: simulated customers, with and without tools of their own."""

import copy

import pytest

from tests.flows.sources.logs import tau2_bench, tau_bench


def told(transcript):
    return [(m.role, m.text) for m in transcript.messages]


def test_a_list_of_runs_is_a_session_each_with_task_and_reward_as_title(read):
    result = read("runs.json", tau_bench.DOCUMENT)
    assert result.format == "tau_bench"
    assert [t.title for t in result.transcripts] == ["task 3, trial 1: reward 1", "task 4, trial 0: reward 0"]
    assert [t.resolved for t in result.transcripts] == [True, False]
    assert [m.role for m in result.transcripts[0].messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


def test_an_error_of_the_environment_is_known_by_how_it_begins(read):
    tool = read("runs.json", tau_bench.DOCUMENT).transcripts[0].messages[3]
    assert (tool.tool_call_id, tool.tool_name, tool.is_error) == ("c1", "get_booking", True)


def test_an_action_in_text_is_a_call_and_its_output_a_result(read):
    messages = read("runs.json", tau_bench.DOCUMENT).transcripts[1].messages
    assert messages[2].text == "Thought:\nLook."
    (call,) = messages[2].tool_calls
    assert (call.name, call.arguments) == ("find_bag", '{"user":"u1"}')
    assert (messages[3].role, messages[3].text, messages[3].tool_call_id) == ("tool", "at the mill", call.id)


def test_an_answer_to_the_user_in_text_stays_text(read):
    last = read("runs.json", tau_bench.DOCUMENT).transcripts[1].messages[4]
    assert last.tool_calls == ()
    assert "At the mill." in last.text


def test_runs_of_one_task_that_begin_alike_are_different_sessions(read):
    other = copy.deepcopy(tau_bench.TOOL_RUN)
    other["traj"][-1]["content"] = "Something else ###STOP###"
    found = read("runs.json", [tau_bench.TOOL_RUN, other]).transcripts
    assert len({t.session_id for t in found}) == 2


def test_a_run_that_failed_before_it_began_is_counted(read):
    failed = {"task_id": 1, "reward": 0.0, "info": {"error": "Boom"}, "traj": [], "trial": 0}
    result = read("runs.json", [failed, tau_bench.TOOL_RUN])
    assert (len(result.transcripts), result.set_aside) == (1, ())
    assert result.account.aside["record", "run without a message"] == 1


SHAPES = {
    "whole result": lambda simulations: {**tau2_bench.DOCUMENT, "simulations": simulations},
    "bare list": lambda simulations: simulations,
    "one simulation": lambda simulations: simulations[0],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_all_shapes_of_a_result_give_the_same_session(read, shape):
    result = read("results.json", SHAPES[shape]([tau2_bench.SIMULATION]))
    assert (result.format, result.set_aside) == ("tau2_bench", ())
    (session,) = result.transcripts
    assert session.session_id == "tau2_bench-sim-1"
    prompt = [("system", "# Policy")] if shape == "whole result" else []  # only there the log has it
    assert told(session) == [
        *prompt,
        ("assistant", "Hello token-0"),
        ("user", "My phone is dead."),
        ("assistant", "Let me see."),
        ("tool", "paid"),
        ("tool", "no such line"),
        ("assistant", "Turn it off and on."),
        ("user", "It works ###STOP###"),
    ]
    assert (session.started_at, session.ended_at) == ("2026-03-01T10:00:00", "2026-03-01T10:05:00")


def test_parallel_calls_are_paired_by_id_and_flags_are_kept(read):
    messages = read("results.json", tau2_bench.DOCUMENT).transcripts[0].messages
    assert [call.id for call in messages[3].tool_calls] == ["a1", "a2"]
    assert [(m.tool_call_id, m.tool_name, m.is_error) for m in messages[4:6]] == [
        ("a2", "get_bill", False),
        ("a1", "get_line", True),
    ]


def test_what_the_user_does_with_tools_of_their_own_never_reached_the_agent_and_is_counted(read):
    aside = read("results.json", tau2_bench.DOCUMENT).account.aside
    reason = "the simulated user's own tool use"
    assert [aside[kind, reason] for kind in ("user", "tool_call", "tool")] == [1, 1, 1]


def test_domain_model_usage_and_cost_are_the_agents_alone(read):
    session = read("results.json", tau2_bench.DOCUMENT).transcripts[0]
    assert (session.task_type, session.model) == ("telecom", "claude-test-1")
    assert session.title == "telecom task 7, trial 0: reward 1"
    assert (session.resolved, session.exit_status) == (True, "user_stop")
    assert (session.usage.input_tokens, session.usage.output_tokens, session.usage.cost_usd) == (100, 10, 0.25)


def test_results_of_other_harnesses_have_domain_and_model_on_top_or_in_the_copy_of_the_response(read):
    raw = {"model": "claude-test-9", "choices": [{"message": {"reasoning_content": "So."}}]}
    answer = {"role": "assistant", "content": "Hello", "tool_calls": None, "raw_data": raw}
    one = simulation(messages=[answer])
    (session,) = read("a.json", {"domain": "retail", "model": "claude-test-8", "simulations": [one]}).transcripts
    assert (session.task_type, session.model, session.messages[0].reasoning) == ("retail", "claude-test-8", "So.")
    assert read("b.json", one).transcripts[0].model == "claude-test-9"


def test_what_the_user_says_while_calling_a_tool_is_a_message(read):
    calls = [{"id": "u1", "name": "toggle", "arguments": {}, "requestor": "user"}]
    result = read("a.json", simulation(messages=[{"role": "user", "content": "Let me check.", "tool_calls": calls}]))
    assert told(result.transcripts[0]) == [("user", "Let me check.")]
    assert result.account.aside["tool_call", "the simulated user's own tool use"] == 1


def test_reasoning_is_read_from_the_copy_of_the_response_and_its_text_is_not_repeated(read):
    message = read("results.json", tau2_bench.DOCUMENT).transcripts[0].messages[3]
    assert (message.text, message.reasoning) == ("Let me see.", "Two look-ups.")


def simulation(**fields):
    return {**copy.deepcopy(tau2_bench.SIMULATION), **fields}


def test_a_recorded_policy_is_the_system_prompt(read):
    (session,) = read("results.json", simulation(policy="# Be kind")).transcripts
    assert told(session)[0] == ("system", "# Be kind")


def test_a_context_that_was_cut_before_an_answer_is_a_compaction(read):
    messages = tau2_bench.SIMULATION["messages"]
    cut = {**messages[5], "context_truncation": {"messages_dropped": 2, "tokens_before": 9000, "tokens_after": 500}}
    (session,) = read("results.json", simulation(messages=[*messages[:5], cut])).transcripts
    (event,) = session.compactions
    assert (event.at_seq, event.dropped, event.tokens_before, event.summary) == (5, None, 9000, None)


def test_results_may_be_bundled(read):
    calls = tau2_bench.SIMULATION["messages"][2]
    bundle = {"role": "tool", "tool_messages": tau2_bench.SIMULATION["messages"][3:5]}
    (session,) = read("results.json", simulation(messages=[calls, bundle])).transcripts
    assert [(m.role, m.tool_call_id) for m in session.messages[1:]] == [("tool", "a2"), ("tool", "a1")]


def test_a_spoken_conversation_is_put_together_from_its_ticks(read):
    def said(text, utterance):
        return {"content": text, "utterance_ids": [utterance], "timestamp": "2026-03-01T10:00:00"}

    ticks = [
        {"tick_id": 0, "user_chunk": said("My pho", "u1"), "agent_chunk": {"content": ""}},
        {"tick_id": 1, "user_chunk": said("ne is dead", "u1"), "agent_chunk": said("Oh ", "a1")},
        {"tick_id": 2, "agent_chunk": said("no", "a1")},
        {
            "tick_id": 3,
            "agent_tool_calls": [{"id": "c1", "name": "look", "arguments": {}}],
            "agent_tool_results": [{"role": "tool", "id": "c1", "content": "seen", "requestor": "assistant"}],
            "user_tool_results": [{"role": "tool", "id": "c2", "content": "on", "requestor": "user"}],
        },
    ]
    result = read("results.json", simulation(messages=None, ticks=ticks))
    (session,) = result.transcripts
    assert sorted(told(session)[:2]) == [("assistant", "Oh no"), ("user", "My phone is dead")]
    assert [m.role for m in session.messages[2:]] == ["assistant", "tool"]
    assert result.account.aside["tool", "the simulated user's own tool use"] == 1


def test_a_bad_message_costs_itself_and_a_bad_simulation_itself(read):
    messages = [{"role": "user", "content": "a"}, 7, {"role": "ghost"}, {"role": "assistant", "content": "b"}]
    good = simulation(messages=messages)
    result = read("results.json", {**tau2_bench.DOCUMENT, "simulations": [good, 3, {"messages": 4}]})
    assert told(result.transcripts[0]) == [("system", "# Policy"), ("user", "a"), ("assistant", "b")]
    assert len(result.set_aside) == 4

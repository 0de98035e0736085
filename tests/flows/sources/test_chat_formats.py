"""Plain chat messages, mini-swe-agent and SWE-agent: calls look alike whether the agent had a tool API or not."""

import copy
import json

import pytest

from flows.sources.registry import formats


def one(result, name):
    assert result.format == name
    assert result.set_aside == ()
    assert len(result.transcripts) == 1
    return result.transcripts[0]


@pytest.mark.parametrize("form", ["list", "object", "lines", "object lines", "pretty"])
def test_chat_messages_are_read_from_every_form_that_they_are_stored_in(form, read, write, document_samples):
    messages = document_samples["openai_chat"]
    path = {
        "list": lambda: write("a.json", messages),
        "object": lambda: write("a.json", {"messages": messages}),
        "lines": lambda: write("a.jsonl", lines=messages),
        "object lines": lambda: write("a.jsonl", lines=[{"messages": messages}]),
        "pretty": lambda: write("a.json", json.dumps(messages, indent=1).encode()),
    }[form]()
    transcript = one(read(path), "openai_chat")
    assert [m.role for m in transcript.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert transcript.messages[2].tool_calls[0].arguments == '{"cmd": "token-2"}'
    assert (transcript.messages[3].tool_name, transcript.messages[4].reasoning) == ("run", "because")
    assert transcript.session_id == one(read("elsewhere/b.json", messages), "openai_chat").session_id


LISTS = {
    "openai_chat": lambda word: [
        {"role": "user", "content": f"Repair the {word}"},
        {"role": "assistant", "content": f"The {word} turns", "tool_calls": []},
    ],
    "anthropic_messages": lambda word: [
        {"role": "user", "content": f"Repair the {word}"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "s"},
                {"type": "text", "text": f"The {word} turns"},
            ],
        },
    ],
    "gemini_contents": lambda word: [
        {"role": "user", "parts": [{"text": f"Repair the {word}"}]},
        {"role": "model", "parts": [{"text": f"The {word} turns"}]},
    ],
    "openai_responses": lambda word: [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"Repair the {word}"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"The {word} turns"}]},
    ],
    "opencode_export": lambda word: [
        {
            "info": {"id": f"{word}-{role}", "role": role, "sessionID": f"ses_{word}"},
            "parts": [{"type": "text", "text": text}],
        }
        for role, text in (("user", f"Repair the {word}"), ("assistant", f"The {word} turns"))
    ],
    "pydantic_ai": lambda word: [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"Repair the {word}"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": f"The {word} turns"}]},
    ],
}
"""Format → its messages about a thing."""


def test_every_format_that_may_have_lists_on_lines_is_tried() -> None:
    assert LISTS.keys() == {known.name for known in formats() if known.of_list is not None}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("before", [[], [{"version": 1}]], ids=["only lists", "behind a header"])
def test_each_list_on_a_line_of_its_own_is_a_session(name, before, read):
    result = read("log.jsonl", lines=[*before, LISTS[name]("mill"), LISTS[name]("loom")])
    assert (result.format, [[m.text for m in session.messages] for session in result.transcripts]) == (
        name,
        [["Repair the mill", "The mill turns"], ["Repair the loom", "The loom turns"]],
    )
    first, second = (len(before) + number for number in (1, 2))
    assert {m.source_ref.partition("#")[0].partition("/")[0] for m in result.transcripts[0].messages} == {
        f"log.jsonl:{first}"
    }
    assert f"log.jsonl:{second}" in result.transcripts[1].messages[0].source_ref
    alone = [read(f"{word}.json", LISTS[name](word)).transcripts[0] for word in ("mill", "loom")]
    assert [one.session_id for one in alone] == [one.session_id for one in result.transcripts]


def test_objects_and_lists_on_lines_may_stand_in_one_file(read):
    mill, loom = LISTS["openai_chat"]("mill"), LISTS["openai_chat"]("loom")
    for lines in ([{"messages": mill}, loom], [mill, {"messages": loom}]):
        result = read("log.jsonl", lines=lines)
        assert [session.messages[0].text for session in result.transcripts] == ["Repair the mill", "Repair the loom"]
        assert result.set_aside == ()


def test_a_list_that_is_no_list_of_objects_is_set_aside_with_its_line(read):
    result = read("log.jsonl", lines=[LISTS["openai_chat"]("mill"), [1, 2], []])
    assert [(one.line, one.reason) for one in result.set_aside] == [
        (2, "expected a JSON object, found a list"),
        (3, "expected a JSON object, found a list"),
    ]


def test_ids_of_calls_that_start_again_are_told_apart_with_their_results(read):
    """Some providers number the calls of each response anew; SWE-agent and tau-bench store these ids."""

    def asks(*commands):
        calls = [
            {"id": f"call_{at}", "function": {"name": "bash", "arguments": json.dumps({"cmd": command})}}
            for at, command in enumerate(commands)
        ]
        return {"role": "assistant", "content": "", "action": "", "tool_calls": calls}

    def answers(at, text):
        return {"role": "tool", "content": text, "tool_call_ids": [f"call_{at}"], "tool_call_id": f"call_{at}"}

    messages = [
        {"role": "user", "content": "Go"},
        asks("ls", "pwd"),
        answers(0, "a.py"),
        answers(1, "/src"),
        asks("ls"),  # stopped before it had a result
        asks("cat a.py", "ls"),
        answers(1, "a.py"),
        answers(0, "x = 1"),
    ]
    documents = {"swe_agent_traj": {"history": messages, "trajectory": []}, "openai_chat": messages}
    for name, document in documents.items():
        session = one(read(f"{name}.json", document), name)
        calls = [call for message in session.messages for call in message.tool_calls]
        assert [call.id for call in calls] == ["call_0", "call_1", "call_0#2", "call_0#3", "call_1#2"]
        asked = {call.id: json.loads(call.arguments)["cmd"] for call in calls}
        results = [(asked[m.tool_call_id], m.text) for m in session.messages if m.role == "tool"]
        assert results == [("ls", "a.py"), ("pwd", "/src"), ("ls", "a.py"), ("cat a.py", "x = 1")]


def test_a_response_that_says_nothing_is_counted_and_no_message(read):
    """A request that failed or was stopped: set aside alike in every format."""
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "Done"},
    ]
    result = read("a.json", messages)
    session = one(result, "openai_chat")
    assert [m.text for m in session.messages] == ["Go", "Done"]
    assert session.set_aside == {"empty response": 1}
    assert result.account.aside["assistant", "empty response"] == 1
    assert result.account.met["assistant"] == 2


def test_a_session_that_grew_keeps_its_id_and_another_answer_has_another(read, document_samples):
    messages = document_samples["openai_chat"]
    grown = [*messages, {"role": "user", "content": "More"}]
    other = [*messages[:2], {"role": "assistant", "content": "No."}]
    ids = [one(read(f"{n}.json", value), "openai_chat").session_id for n, value in enumerate((messages, grown, other))]
    assert ids[0] == ids[1] != ids[2]


def test_a_log_that_repeats_the_conversation_gives_its_longest_form_once(read, document_samples):
    messages = document_samples["openai_chat"]
    other = [*messages[:3], {"role": "user", "content": "Stop"}]
    result = read("log.jsonl", lines=[{"messages": messages[:3]}, {"messages": messages}, {"messages": other}])
    first, second = result.transcripts
    assert (len(first), len(second)) == (5, 4)
    assert second.session_id == first.session_id  # the store tells them apart
    assert first.set_aside == {"shorter copy of this session": 1}


def test_odd_chat_messages_are_set_aside_by_position_and_the_rest_goes_in(read):
    messages = [
        {"role": "user", "content": "Go"},
        "what",
        {"role": "chorus", "content": "La"},
        {"role": "user", "content": 3},
    ]
    result = read("a.json", messages)
    assert [m.text for m in result.transcripts[0].messages] == ["Go"]
    assert [s.reason.split(":")[0] for s in result.set_aside] == ["message 1", "message 2", "message 3"]


def test_developer_is_system_and_a_function_message_finds_its_call_by_name(read):
    call = {"role": "assistant", "content": None, "function_call": {"name": "run", "arguments": "make"}}
    messages = [
        {"role": "developer", "content": "Be brief."},
        call,
        {"role": "function", "name": "run", "content": "ok"},
    ]
    transcript = one(read("a.json", messages), "openai_chat")
    assert [m.role for m in transcript.messages] == ["system", "assistant", "tool"]
    assert transcript.messages[1].tool_calls[0].parsed() == {"input": "make"}
    assert transcript.messages[2].tool_call_id == transcript.messages[1].tool_calls[0].id


def test_parallel_results_that_came_out_of_order_keep_their_ids(read):
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": f"tool{n}", "arguments": "{}"}} for n in (1, 2)]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": str(n)} for n in (2, 1)]
    transcript = one(
        read("a.json", [{"role": "assistant", "content": "", "tool_calls": calls}, *results]), "openai_chat"
    )
    assert [(m.tool_call_id, m.tool_name) for m in transcript.messages[1:]] == [("c2", "tool2"), ("c1", "tool1")]


def test_a_fenced_block_becomes_a_call_and_the_next_message_its_result(read, document_samples):
    transcript = one(read("a.traj.json", document_samples["mini_swe_agent"]), "mini_swe_agent")
    assert [m.role for m in transcript.messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    action, result, refused = transcript.messages[2:5]
    assert (action.text, action.reasoning) == ("THOUGHT: look.", "So.")
    assert [(c.name, c.parsed()) for c in action.tool_calls] == [("bash", {"command": "ls -la"})]
    assert (result.tool_call_id, result.tool_name, result.is_error) == (action.tool_calls[0].id, "bash", True)
    assert refused.tool_calls == ()  # two blocks: nothing ran, and the next message is the harness asking again
    assert (action.timestamp, transcript.model) == ("2026-01-01T00:00:00Z", "test/model")


def test_the_oldest_trajectory_is_a_bare_list(read):
    block = "Look.\n```mswea_bash_command\nls\n```"
    observed = "<returncode>0</returncode>\n<output>\nx\n</output>"
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": block},
        {"role": "user", "content": observed},
    ]
    transcript = one(read("old.json", messages), "mini_swe_agent")
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool"]
    assert transcript.messages[2].is_error is False


def test_the_second_version_uses_tool_calls_and_its_exit_marker_is_no_message(read):
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    document = {
        "info": {"model_stats": {}},
        "messages": [
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": "```bash\nnot an action\n```", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "<returncode>0</returncode>"},
            {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}},
        ],
        "trajectory_format": "mini-swe-agent-1.1",
    }
    transcript = one(read("a.traj.json", document), "mini_swe_agent")
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool"]
    assert transcript.messages[1].text.startswith("```bash")
    assert transcript.set_aside == {"exit marker": 1}


def test_two_runs_of_one_task_with_the_same_first_answer_are_two_sessions(read, document_samples):
    again = copy.deepcopy(document_samples["mini_swe_agent"])
    again["messages"][2]["extra"]["response"]["id"] = "gen-2"
    ids = {
        one(read("a.traj.json", value), "mini_swe_agent").session_id
        for value in (document_samples["mini_swe_agent"], again)
    }
    assert len(ids) == 2


def test_an_action_becomes_a_call_and_a_demonstration_is_set_aside(read, document_samples):
    transcript = one(read("a.traj", document_samples["swe_agent_traj"]), "swe_agent_traj")
    assert [(m.role, m.text) for m in transcript.messages] == [
        ("system", "You are a shell."),
        ("user", "Mend the mill."),
        ("assistant", "Look."),
        ("tool", "wheel.py"),
    ]
    call = transcript.messages[2].tool_calls[0]
    assert (call.name, call.parsed()) == ("ls", {"command": "ls -la\n"})
    assert transcript.messages[3].tool_call_id == call.id
    assert transcript.set_aside == {"demonstration": 1}


def test_a_demonstration_is_counted_by_role_and_call(read, document_samples):
    document = copy.deepcopy(document_samples["swe_agent_traj"])
    shown = {"role": "assistant", "content": "Look.", "action": "ls", "is_demo": True}
    document["history"][2:2] = [shown, {"role": "user", "content": "x", "is_demo": True}]
    result = read("a.traj", document)
    assert dict(result.account.aside) == {
        ("user", "demonstration"): 2,
        ("assistant", "demonstration"): 1,
        ("tool_call", "demonstration"): 1,
    }


def test_what_a_trajectory_says_it_used_is_kept(read, document_samples):
    document = copy.deepcopy(document_samples["swe_agent_traj"])
    document["info"] = {"model_stats": {"tokens_sent": 900, "tokens_received": 40, "instance_cost": 0.5}}
    usage = one(read("a.traj", document), "swe_agent_traj").usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (900, 40, 0.5)


def test_tokens_add_up_over_responses_and_the_cost_is_that_of_the_whole_run(read, document_samples):
    document = copy.deepcopy(document_samples["mini_swe_agent"])
    used = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}, "cost": 0.25}
    for message in (document["messages"][2], document["messages"][4]):
        message.setdefault("extra", {}).setdefault("response", {})["usage"] = used
    usage = one(read("a.traj.json", document), "mini_swe_agent").usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost_usd) == (200, 20, 120, 0.5)
    document["info"]["model_stats"] = {"instance_cost": 0.75}
    assert one(read("a.traj.json", document), "mini_swe_agent").usage.cost_usd == 0.75


def test_an_object_of_messages_tells_its_time_and_its_usage(read):
    document = {
        "messages": [{"role": "user", "content": "Go"}],
        "created": 1767225600,
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }
    transcript = one(read("a.json", document), "openai_chat")
    assert transcript.started_at == "2026-01-01T00:00:00Z"
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens) == (7, 2)


def test_a_quadratic_trajectory_of_version_1_is_read_from_its_history_alone(read):
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    history = [
        {"role": "system", "content": "You are a shell.", "message_type": "system_prompt"},
        {"role": "user", "content": "Shown.", "message_type": "demonstration"},
        {"role": "user", "content": [{"type": "text", "text": "Mend the mill."}], "message_type": "observation"},
        {
            "role": "assistant",
            "content": "Look.",
            "thought": "Look.",
            "action": "ls",
            "tool_calls": [call],
            "message_type": "action",
        },
        {"role": "tool", "content": [{"type": "text", "text": "OBSERVATION:\nx"}], "tool_call_ids": ["c1"]},
    ]
    steps = [{"action": "ls", "query": history[: n + 1]} for n in range(len(history))]
    config = json.dumps({"agent": {"model": {"name": "test/model"}}})
    document = {"environment": "main", "trajectory": steps, "history": history, "info": {}, "replay_config": config}
    transcript = one(read("a.traj", document), "swe_agent_traj")
    assert [m.text for m in transcript.messages] == ["You are a shell.", "Mend the mill.", "Look.", "OBSERVATION:\nx"]
    assert (transcript.messages[3].tool_call_id, transcript.messages[3].tool_name) == ("c1", "bash")
    assert transcript.model == "test/model"


def test_a_session_without_tool_calls_is_a_session(read):
    transcript = one(
        read("a.json", [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]), "openai_chat"
    )
    assert [m.tool_calls for m in transcript.messages] == [(), ()]


def test_mini_swe_agent_has_responses_and_outputs_of_the_responses_api_among_its_messages(read):
    call = {"type": "function_call", "call_id": "f1", "name": "bash", "arguments": '{"command": "ls"}'}
    answer = {"object": "response", "id": "r1", "model": "gpt-test", "output": [{"type": "reasoning", "summary": []}]}
    answer |= {"usage": {"input_tokens": 5, "output_tokens": 2}, "extra": {"timestamp": 1_760_000_000}}
    answer["output"].append(call)
    output = {"type": "function_call_output", "call_id": "f1", "output": "<returncode>1</returncode>\nno"}
    messages = [{"role": "user", "content": "Mend it"}, answer, output, {"role": "exit", "content": ""}]
    value = {"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": messages}
    transcript = one(read("t.traj.json", value), "mini_swe_agent")
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool"]
    assert (transcript.messages[2].tool_call_id, transcript.messages[2].is_error) == ("f1", True)
    assert (transcript.usage.input_tokens, transcript.model) == (5, "gpt-test")


def test_each_attempt_of_swe_agent_is_a_session_and_the_best_one_counts_once(read):
    def attempt(answer):
        history = [{"role": "user", "content": "Mend it"}, {"role": "assistant", "content": "Hm."}]
        return {"history": [*history, {"role": "user", "content": answer}], "trajectory": []}

    best = attempt("b")
    result = read("t.traj", {**best, "attempts": [attempt("a"), best]})
    assert [t.messages[-1].text for t in result.transcripts] == ["a", "b"]
    assert len({t.session_id for t in result.transcripts}) == 2
    assert result.account.aside["record", "duplicate"] == 1


def test_an_id_that_is_made_for_a_call_is_none_that_the_log_has(read):
    mine = {"function": {"name": "run", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "tool_calls": [{"id": "call-1", **mine}]},
        {"role": "assistant", "tool_calls": [mine]},
    ]
    transcript = one(read("a.json", messages), "openai_chat")
    assert transcript.messages[1].tool_calls[0].id != transcript.messages[2].tool_calls[0].id


def test_what_a_harness_puts_before_the_request_is_not_the_title(read):
    for opening in ("<system-reminder>\nBe kind.\n</system-reminder>", "<uploaded_files>\n/repo\n</uploaded_files>"):
        messages = [{"role": "user", "content": f"{opening}\nMend the mill"}, {"role": "assistant", "content": "Yes."}]
        assert one(read("a.json", messages), "openai_chat").title == "Mend the mill"

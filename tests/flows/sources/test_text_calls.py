"""Function calls as text, wherever a log holds them."""

import pytest

from flows.sources.reading.text_calls import parse_text_calls
from tests.flows.sources.logs.openhands_llm_completion import completion

RULES = "Reply with\n<function=example>\n<parameter=x>value</parameter>\n</function>"


def said(role, content):
    return {"role": role, "content": content}


def call(name, **arguments):
    inner = "".join(f"<parameter={key}>{value}</parameter>\n" for key, value in arguments.items())
    return f"<function={name}>\n{inner}</function>"


def brief(transcript):
    return [(m.role, m.text, [(c.name, c.parsed()) for c in m.tool_calls]) for m in transcript.messages]


def test_a_call_in_text_becomes_a_call_and_the_answer_its_result(read):
    messages = [
        said("system", RULES),
        said("user", "Look."),
        said("assistant", "I look.\n\n" + call("bash", command="\nls\n")),
        said("user", "EXECUTION RESULT of [bash]:\na.py\n[Command finished with exit code 1]"),
        said("user", "And now?"),
    ]
    result = read("chat.json", messages)
    (transcript,) = result.transcripts
    assert brief(transcript)[2:] == [
        ("assistant", "I look.", [("bash", {"command": "ls"})]),
        ("tool", "a.py\n[Command finished with exit code 1]", []),
        ("user", "And now?", []),
    ]
    assert transcript.messages[3].tool_call_id == transcript.messages[2].tool_calls[0].id
    assert transcript.messages[3].is_error
    assert result.account.met == {"system": 1, "user": 2, "assistant": 1, "tool": 1, "tool_call": 1}


def test_text_that_only_looks_like_a_call_stays_text(read):
    messages = [said("user", "What is this?"), said("assistant", call("bash", command="ls")), said("user", "I see.")]
    assert [m.text for m in read("chat.json", messages).transcripts[0].messages] == [m["content"] for m in messages]


@pytest.mark.parametrize("result", ["EXECUTION RESULT of [bash]:\n", "OBSERVATION:\n"])
def test_several_exchanges_show_the_protocol_without_a_system_prompt(read, result):
    messages = [said("user", "Go.")]
    for number in range(2):
        messages += [said("assistant", call("bash", n=number)), said("user", f"{result}done {number}")]
    transcript = read("chat.json", messages).transcripts[0]
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert [m.text for m in transcript.messages if m.role == "tool"] == ["done 0", "done 1"]


def test_an_observation_that_answers_no_call_stays_a_user_message(read):
    messages = [said("system", RULES), said("user", "OBSERVATION:\nit rains"), said("assistant", "So it does.")]
    assert [m.role for m in read("chat.json", messages).transcripts[0].messages] == ["system", "user", "assistant"]


def test_the_title_is_the_task_and_not_the_worked_example(read):
    example = "Here's a running example.\n-------- NEW TASK DESCRIPTION --------\nMend the mill.\n------ END ------"
    record = completion(1, [said("system", RULES), said("user", example)], {"content": "Yes."})
    (transcript,) = read("c.json", record).transcripts
    assert transcript.title == "Mend the mill."
    assert transcript.messages[1].text == example


def test_the_types_of_arguments_come_from_the_tools(read):
    schema = {"properties": {"range": {"type": "array"}, "n": {"type": "integer"}, "text": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "view", "parameters": schema}}]
    record = completion(
        1,
        [said("system", RULES), said("user", "Go.")],
        {"content": call("view", range="[1, 2]", n="3", text="4")},
        kwargs={"tools": tools},
    )
    answer = read("c.json", record).transcripts[0].messages[-1]
    assert answer.tool_calls[0].parsed() == {"range": [1, 2], "n": 3, "text": "4"}


def test_code_act_blocks_are_calls_too(read):
    messages = [
        said("system", "You can use <execute_bash> and <execute_ipython>."),
        said("user", "Go."),
        said("assistant", "I list.\n<execute_bash>\nls\n"),
        said("user", "OBSERVATION:\na.py"),
    ]
    assert brief(read("chat.json", messages).transcripts[0])[2:] == [
        ("assistant", "I list.", [("execute_bash", {"command": "ls"})]),
        ("tool", "a.py", []),
    ]


@pytest.mark.parametrize(
    ("text", "rest", "calls"),
    [
        ("a" + call("f", x="1") + "b", "a\nb", [("f", {"x": "1"})]),
        ("<function=f>\n<parameter=x>1</parameter>\n", "", [("f", {"x": "1"})]),
        ("<function=f>\n<parameter=x>1</parameter>\n</", "", [("f", {"x": "1"})]),
        ("<function=f>\n<parameter=x>1", "", [("f", {"x": "1"})]),
        ("<function=f>\n</function>", "", [("f", {})]),
        ('<function=f>{"x": 1}</function>', "", [("f", {"x": 1})]),
        ("<function=f>\nls -la\n</function>", "", [("f", {"input": "ls -la"})]),
        (call("f", x="a</parameter>b</function>c"), "", [("f", {"x": "a</parameter>b</function>c"})]),
        ("<tool_call>\n" + call("f", x="1") + "\n</tool_call>", "", [("f", {"x": "1"})]),
        (call("f", x="1") + "\n" + call("g", y="2"), "", [("f", {"x": "1"}), ("g", {"y": "2"})]),
        ("no call", "no call", []),
    ],
)
def test_a_call_ends_where_its_last_tag_ends(text, rest, calls):
    assert parse_text_calls(text) == (rest, calls)

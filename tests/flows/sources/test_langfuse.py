"""Observations of Langfuse."""

from __future__ import annotations

import pytest

from tests.flows.sources.logs import langfuse as made
from tests.flows.sources.logs.langfuse import LOOK, RESULT, answer, exported, observation, user

SAID = [
    ("system", "You mend mills."),
    ("user", "Mend the mill."),
    ("assistant", "I look."),
    ("tool", "a.c"),
    ("assistant", "Mended."),
    ("user", "Oil it."),
    ("assistant", "Oiled."),
]


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def read_one(read, name, content=None, **more):
    result = read(name, content, **more)
    assert (result.format, result.set_aside) == ("langfuse", ())
    [transcript] = result.transcripts
    return transcript


def test_the_generations_of_a_trace_are_a_conversation_by_their_times_with_its_compaction(read) -> None:
    transcript = read_one(read, "trace.json", made.DOCUMENT)
    assert (transcript.session_id, transcript.model) == ("langfuse-s-1", "mill-1")
    assert said(transcript) == SAID
    assert (transcript.messages[2].tool_calls[0].name, transcript.messages[3].tool_call_id) == ("ls", "c1")
    usage = transcript.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost_usd) == (40, 20, 16, 1.0)
    [event] = transcript.compactions
    assert (event.at_seq, event.summary, event.dropped) == (6, "The mill was looked at.", (1, 2, 3))
    assert transcript.set_aside == {"recorded compaction summary": 1, "shorter copy of this session": 3}


def test_a_page_a_list_and_an_export_with_the_newest_first_say_the_same(read) -> None:
    backwards = made.GENERATIONS[::-1]
    forms = [
        ("page.json", {"data": backwards, "meta": {"page": 1}}, {}),
        ("list.json", backwards, {}),
        ("page-of-a-trace.json", {"trace": {"id": "t-1", "sessionId": "s-1"}, "observations": backwards}, {}),
        ("export.jsonl", None, {"lines": [exported(one) for one in backwards]}),
    ]
    for name, content, more in forms:
        transcript = read_one(read, name, content, **more)
        assert said(transcript) == SAID
        assert len(transcript.compactions) == 1
        assert (transcript.usage.input_tokens, transcript.model) == (40, "mill-1")


LANGCHAIN = [
    user("Go."),
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"name": "ls", "args": {"path": "."}, "id": "c1", "type": "tool_call"}],
    },
]
ITEMS = [
    {"id": "r", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
    {"id": "f", "type": "function_call", "call_id": "c1", "name": "ls", "arguments": '{"path":"."}'},
]
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "a.c"}
LAST = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
USE = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}}
USED = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a.c"}]}],
}
ASKED = {"role": "assistant", "type": "message", "content": [USE]}
FORMS = {
    "LangChain": [(LANGCHAIN[:1], LANGCHAIN[1]), ([*LANGCHAIN, RESULT], answer("Done."))],
    "Responses": [
        ({"instructions": "Mend.", "input": "Go."}, ITEMS),
        ({"instructions": "Mend.", "input": [user("Go."), *ITEMS, OUTPUT]}, [LAST]),
    ],
    "Anthropic": [
        ({"system": "Mend.", "messages": [user("Go.")]}, ASKED),
        ({"system": "Mend.", "messages": [user("Go."), ASKED, USED]}, {"role": "assistant", "content": "Done."}),
    ],
    "text": [("Go.", LOOK | {"content": ""}), ([user("Go."), LOOK | {"content": ""}, RESULT], "Done.")],
}


@pytest.mark.parametrize("api", FORMS)
def test_requests_of_every_api_are_read(read, api) -> None:
    told = [observation(at, *pair) for at, pair in enumerate(FORMS[api])]
    transcript = read_one(read, "list.json", told)
    messages = [message for message in transcript.messages if message.role != "system"]
    assert [(message.role, message.text) for message in messages] == [
        ("user", "Go."),
        ("assistant", ""),
        ("tool", "a.c"),
        ("assistant", "Done."),
    ]
    [call] = messages[1].tool_calls
    assert (call.name, call.arguments.replace(" ", ""), messages[2].tool_call_id) == ("ls", '{"path":"."}', "c1")


def test_choices_beside_the_first_are_counted(read) -> None:
    transcript = read_one(read, "list.json", [observation(0, [user("Go.")], [answer("One."), answer("Two.")])])
    assert said(transcript) == [("user", "Go."), ("assistant", "One.")]
    assert transcript.set_aside == {"other choice of a response": 1}

"""Sessions of Continue."""

from __future__ import annotations

import json

import pytest

from tests.flows.sources.logs import continue_dev as made
from tests.flows.sources.properties import check


@pytest.fixture
def read(tmp_path):
    def read_history(history):
        path = tmp_path / "s.json"
        path.write_text(json.dumps(made.DOCUMENT | {"history": history}), encoding="utf-8")
        [transcript] = check(path).transcripts
        return transcript

    return read_history


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def test_a_session_has_the_results_that_stand_beside_the_calls(read) -> None:
    mill = read(made.HISTORY)
    assert mill.session_id == "continue_dev-5d1f0c1e-0000-4000-8000-000000000001"
    assert (mill.title, mill.cwd, mill.model) == ("The mill", "/home/ada/the mill", "claude-test-1")
    assert (mill.usage.input_tokens, mill.usage.output_tokens, mill.usage.cost_usd) == (100, 20, 0.5)
    assert said(mill) == [
        ("system", "You mend mills. token-0"),
        ("user", "int main;\nMend it. token-1"),
        ("assistant", "I look. token-3"),
        ("tool", "int main;\n\ntoken-4"),
        ("tool", "The person stopped this call."),
        ("assistant", "Mended. token-5"),
    ]
    assert [message.reasoning for message in mill.messages if message.reasoning] == ["hm token-2", "easy"]
    assert [call.id for call in mill.messages[2].tool_calls] == ["c1", "c2"]
    assert [message.is_error for message in mill.messages[3:5]] == [False, True]
    assert mill.set_aside == {"duplicate": 1}


def test_in_the_editor_a_summary_takes_the_place_of_all_up_to_its_message(read) -> None:
    last = made.HISTORY[-1] | {"conversationSummary": "The mill was mended."}
    mill = read([*made.HISTORY[:-1], last, made.item("user", "Oil it."), made.item("assistant", "Oiled.")])
    [event] = mill.compactions
    assert (event.at_seq, event.summary, event.dropped) == (6, "The mill was mended.", (1, 2, 3, 4, 5))
    assert event.summary_at == 1


def test_on_the_command_line_the_message_is_the_summary(read) -> None:
    text = "The mill was mended."
    mill = read([made.HISTORY[0], made.item("assistant", text, conversationSummary=text), made.item("user", "Oil it.")])
    assert said(mill) == [("system", "You mend mills. token-0"), ("user", "Oil it.")]
    [event] = mill.compactions
    assert (event.at_seq, event.summary, event.dropped, event.summary_at) == (1, text, (), 1)


def test_output_has_its_status_and_an_image_a_mark(read) -> None:
    shell = made.item("assistant", "", toolCallStates=[made.state("c1", "ok", status="done", status_="")])
    shell["toolCallStates"][0]["output"][0]["status"] = "Command completed"
    picture = {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,MTIzNDU="}}
    mill = read([made.item("user", [{"type": "text", "text": "See."}, picture]), shell])
    assert said(mill)[0] == ("user", "See.\n[image image/png, 5 bytes]")
    assert said(mill)[2] == ("tool", "ok\n[Status: Command completed]")

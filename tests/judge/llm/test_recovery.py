"""A model that may fetch dropped messages: it asks, is given, and answers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from compaction import Message
from compaction.model import ModelRequest
from compaction.strategies.recovery import FetchRequest, Recovery
from compaction.testing import ScriptedModel
from judge import AnswerError
from judge.llm.recovery import RecoveredAnswer, RecoveringResponder, read_request, recovering_name, write_request

SESSION = tuple(
    replace(message, seq=n)
    for n, message in enumerate(
        (
            Message("user", "repair the login"),
            Message("tool", "the pool has 5 connections"),
            Message("tool", "port 6380"),
            Message("user", "what now?"),
        )
    )
)
CONTEXT = (SESSION[0], SESSION[2].with_text("[cleared]"), SESSION[3])


def answered(*replies: str, fetches: int = 2) -> tuple[RecoveredAnswer, list[ModelRequest]]:
    left = iter(replies)
    model = ScriptedModel(lambda _: next(left))
    recovery = Recovery(CONTEXT, SESSION)
    given = RecoveringResponder(model, "m@1").answer(CONTEXT, "Which pool?", 20, recovery, fetches)
    return given, model.requests


def test_it_is_shown_what_it_asked_for_behind_what_stays_the_same() -> None:
    given, requests = answered('{"search": "pool"}', '{"messages": [2]}', "5 connections on 6380")
    assert given.answer.text == "5 connections on 6380"
    assert given.requests == ('{"search":"pool"}', '{"messages":[2]}')
    shown = [json.loads(request.messages[-1].text) for request in requests]
    assert [one["fetches_left"] for one in shown] == [2, 1, 0]
    assert shown[0]["context"][1] == {"role": "tool", "message": 2, "text": "[cleared]"}
    assert shown[0]["fetched"] == []
    assert shown[2]["fetched"] == [
        {
            "request": {"search": "pool"},
            "messages": [{"role": "tool", "message": 1, "text": "the pool has 5 connections"}],
        },
        {"request": {"messages": [2]}, "messages": [{"role": "tool", "message": 2, "text": "port 6380"}]},
    ]
    whole = requests[0].shared
    assert whole
    assert len({request.messages[0] for request in requests}) == 1
    assert len({request.messages[-1].text[:whole] for request in requests}) == 1
    sent = [sum(len(message.text) for message in request.messages) // 4 for request in requests]
    assert given.answer.input_tokens == sum(sent), "all rounds are paid for"


def test_one_that_asks_without_end_is_stopped_after_its_fetches() -> None:
    with pytest.raises(AnswerError, match="more than its 2 fetches"):
        answered(*['{"search": "pool"}'] * 4)


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ('{"search": 5}', "search is no text"),
        ('{"search": " "}', "search is no text"),
        ('{"messages": ["2"]}', "messages is no list of numbers"),
        ('{"messages": [2], "search": "pool"}', "it has both search and messages"),
    ],
)
def test_a_request_that_cannot_be_read_counts_and_the_model_is_told_why(reply: str, fault: str) -> None:
    given, requests = answered(reply, "no idea", fetches=1)
    assert given.requests == ('{"messages":[]}',)
    shown = json.loads(requests[-1].messages[-1].text)
    assert shown["fetched"] == [{"request": f"this is no request: {fault}", "messages": []}]
    assert shown["fetches_left"] == 0


@pytest.mark.parametrize("reply", ["5", '{"pool": 5}', "{}", "It is {5}.", '["pool"]', '{"search": "x", "why": "y"}'])
def test_any_other_reply_is_the_answer(reply: str) -> None:
    assert read_request(reply) is None


def test_a_request_in_a_fence_is_read_and_written_as_it_was_meant() -> None:
    found = read_request('```json\n{"messages": [3, 1]}\n```')
    assert found == FetchRequest(messages=(3, 1))
    assert read_request(write_request(found)) == found


def test_its_answers_have_a_name_of_their_own() -> None:
    assert recovering_name("openai:m@1").startswith("openai:m@1 + recover@")
    assert RecoveringResponder(ScriptedModel(), "openai:m@1").name == recovering_name("openai:m@1")

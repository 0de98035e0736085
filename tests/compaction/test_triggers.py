from __future__ import annotations

import pickle

import pytest

from compaction import Message, ToolCall, Trigger, TriggerError
from compaction.groups import index_groups
from compaction.testing import CharacterCounter, history, talk
from compaction.triggers import Meter, count_bytes

SESSION = talk("s u a2 a u a")
"""8 messages of 10 tokens: system, user, call with two results, text, user, text; 6 groups, 2 turns."""


def fires(trigger: str, messages: tuple[Message, ...] = SESSION, budget: int = 100) -> bool:
    return Trigger(trigger).fires(history(messages, budget=budget))


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        ("always", True),
        ("never", False),
        ("has_tool_calls", True),
        ("tokens>79", True),
        ("tokens>80", False),
        ("tokens<81", True),
        ("tokens<80", False),
        ("messages>7", True),
        ("messages>8", False),
        ("turns>1", True),
        ("turns>2", False),
        ("groups>5", True),
        ("groups>6", False),
        ("groups<7", True),
        ("groups<6", False),
        ("tokens>79%", True),
        ("tokens>80%", False),
        ("all(tokens>79, turns>1)", True),
        ("all(tokens>79, turns>2)", False),
        ("any(never, turns>1)", True),
        ("any(never, turns>2)", False),
        ("not(never)", True),
        ("not(any(always, never))", False),
    ],
)
def test_every_comparison_is_strict(trigger: str, expected: bool) -> None:
    assert fires(trigger) is expected


def test_bytes_are_those_of_texts_reasoning_ids_and_calls() -> None:
    call = ToolCall("id-1", "read", '{"path": "é"}')
    said = (
        Message("user", "añb", seq=0, tokens=1),
        Message("assistant", "x", reasoning="yy", tool_calls=(call,), seq=1, tokens=1),
        Message("tool", "\ud83d", tool_call_id="id-1", tool_name="read", seq=2, tokens=1),
    )
    assert list(map(count_bytes, said)) == [4, 3 + 4 + 4 + 14, 3 + 4]
    assert fires("bytes>35", said)
    assert not fires("bytes>36", said)
    [_, called] = groups = index_groups(said)
    meter = Meter(groups, CharacterCounter(), 100)
    meter.drop(called)
    assert meter.bytes == 4


def test_a_percentage_is_of_what_the_context_may_hold() -> None:
    assert fires("tokens>50%", budget=159)
    assert not fires("tokens>50%", budget=160)


def test_a_session_without_tool_calls_has_none() -> None:
    assert not fires("has_tool_calls", talk("s u a"))
    assert not fires("has_tool_calls", talk("u t")), "a result without its call is a text in .NET"


def test_what_comes_before_the_first_user_message_is_no_turn() -> None:
    assert not fires("turns>0", talk("s a a1"))


def test_a_trigger_is_its_text_in_one_form() -> None:
    assert Trigger(" all( tokens > 32_000 ,has_tool_calls ) ") == "all(tokens>32000, has_tool_calls)"
    assert Trigger.all("tokens>1", Trigger.any("turns>4", "messages>9")) == "all(tokens>1, any(turns>4, messages>9))"
    assert pickle.loads(pickle.dumps(Trigger("turns>4"))).inverse == "not(turns>4)"
    assert Trigger("turns>4").inverse.inverse == "turns>4"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tokens",
        "tokens>=5",
        "tokens>-1",
        "words>5",
        "turns>5%",
        "all()",
        "all(tokens>1",
        "not(never, always)",
        "sometimes",
        "tokens>1 or turns>2",
        "all(tokens>1))",
    ],
)
def test_what_is_no_trigger_is_refused_with_what_is_one(text: str) -> None:
    with pytest.raises(TriggerError, match="trigger"):
        Trigger(text)


def test_a_meter_follows_groups_that_leave_and_come() -> None:
    groups = index_groups(SESSION)
    meter = Meter(groups, CharacterCounter(), 100)
    for group in groups[1:4]:
        meter.drop(group)
    assert (meter.tokens, meter.messages, meter.groups, meter.turns, meter.tool_call_groups) == (30, 3, 3, 1, 0)
    meter.add(groups[2])
    assert (meter.tokens, meter.turns, meter.tool_call_groups) == (60, 2, 1)

from __future__ import annotations

from dataclasses import replace

import pytest

from compaction.groups import declarations, flatten, group_messages, without_other_half
from compaction.testing import talk
from compaction.transcript import Message, ToolCall


def shape(messages: tuple[Message, ...]) -> list[tuple[str, tuple[int, ...]]]:
    return [(g.kind, g.positions) for g in group_messages(messages)]


def call(*ids: str) -> Message:
    return Message("assistant", tool_calls=tuple(ToolCall(id, "f", "{}") for id in ids))


def result(id: str) -> Message:
    return Message("tool", "ok", tool_call_id=id)


def test_parallel_calls_and_their_results_are_one_group() -> None:
    assert shape(talk("s u a2 a")) == [
        ("system", (0,)),
        ("user", (1,)),
        ("tool_call", (2, 3, 4)),
        ("assistant_text", (5,)),
    ]


def test_reasoning_before_a_call_belongs_to_it_and_before_text_it_stands_alone() -> None:
    assert shape(talk("r r a1 r a")) == [
        ("tool_call", (0, 1, 2, 3)),
        ("assistant_text", (4,)),
        ("assistant_text", (5,)),
    ]


def test_an_empty_assistant_message_is_not_reasoning() -> None:
    assert shape(talk("e a1")) == [("assistant_text", (0,)), ("tool_call", (1, 2))]


def test_orphan_results_in_a_row_are_a_group_of_their_own() -> None:
    assert shape(talk("u t t u")) == [("user", (0,)), ("tool_call", (1, 2)), ("user", (3,))]


def test_a_result_that_comes_late_is_linked_to_its_call_by_id() -> None:
    messages = (call("1", "2"), result("1"), Message("user", "wait"), result("2"))
    assert shape(messages) == [("tool_call", (0, 1, 3)), ("user", (2,))]


def test_an_id_with_two_unanswered_calls_links_nothing() -> None:
    messages = (call("1"), call("1"), Message("user", "wait"), result("1"))
    assert shape(messages) == [("tool_call", (0,)), ("tool_call", (1,)), ("user", (2,)), ("tool_call", (3,))]


def test_two_calls_whose_results_come_after_both_are_one_group() -> None:
    assert shape((call("1"), call("2"), result("1"), result("2"))) == [("tool_call", (0, 1, 2, 3))]


def test_a_result_belongs_to_the_latest_call_with_its_id() -> None:
    messages = (call("1"), result("1"), call("1"), Message("user", "x"), result("1"), result("9"))
    assert declarations(messages) == [None, 0, None, None, 2, None]


def test_groups_put_back_together_are_the_history() -> None:
    messages = (call("1", "2"), result("1"), Message("user", "wait"), result("2"))
    assert flatten(group_messages(messages)) == list(messages)


def test_talk_says_which_words_it_knows() -> None:
    with pytest.raises(ValueError, match="'x2' is none of s u a aN c t r e"):
        talk("u x2")


def test_a_call_without_a_result_and_a_result_without_a_call_of_its_own_are_halves() -> None:
    whole = (call("a", "b"), result("b"), result("a"), call("a"), result("a"))
    said = tuple(replace(message, seq=seq) for seq, message in enumerate(whole))
    assert without_other_half(said) == set()
    assert without_other_half(said[1:]) == {("tool", 1, "b"), ("tool", 2, "a")}
    assert without_other_half(said[:2]) == {("assistant", 0, "a")}
    assert without_other_half(said[:4]) == {("assistant", 3, "a")}
    assert without_other_half((*said[:3], said[4])) == {("tool", 4, "a")}
    assert without_other_half((said[1], said[0], said[2])) == {("tool", 1, "b"), ("assistant", 0, "b")}

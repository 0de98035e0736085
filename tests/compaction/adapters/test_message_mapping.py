"""The way of messages to somebody else's code and back."""

from __future__ import annotations

import pytest
from hypothesis import given

from compaction import (
    Message,
    ToolCall,
    compact,
)
from compaction.adapters.callables import align_messages, chat_message, read
from compaction.adapters.message_mapping import MappedMessage, edit_message, restore_messages, role_of
from compaction.testing import ScriptedSummarizer, history, talk
from tests.compaction.adapters.somebodys import TALK, Shipped
from tests.compaction.histories import histories


def test_it_is_called_with_the_shape_of_openais_chat_api() -> None:
    said = Message("assistant", "so", "hm", (ToolCall("c1", "read", '{"path": "a"}'),), seq=4)
    assert chat_message(said) == {
        "role": "assistant",
        "content": "so",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}],
    }
    result = Message("tool", "text", tool_call_id="c1", tool_name="read", seq=5)
    assert chat_message(result) == {"role": "tool", "content": "text", "tool_call_id": "c1"}


def test_what_it_returns_may_have_content_in_parts_and_arguments_as_an_object() -> None:
    found = read(
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"text": "b"}],
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"x": 1}}}],
        }
    )
    assert (found.text, found.tool_calls) == ("ab", (ToolCall("c", "f", '{"x": 1}'),))
    assert read({"role": "developer", "content": None}) == Message("system")


@pytest.mark.parametrize("name", ["masked", "masked_copies"])
def test_a_changed_message_keeps_its_place_whether_changed_itself_or_in_a_copy(name: str, shipped: Shipped) -> None:
    done = compact(history(TALK), shipped(name))
    assert sorted(done.edited) == [3, 4, 7]
    assert [m.seq for m in done.messages] == [m.seq for m in TALK]
    mask = next(m for m in done.messages if m.seq == 3)
    assert (mask.text, mask.tool_call_id, mask.tool_name) == ("[gone]", TALK[3].tool_call_id, "read")


@given(histories())
def test_messages_that_say_the_same_are_the_same_objects(messages: tuple[Message, ...]) -> None:
    sent = [chat_message(message) for message in messages]
    copies = [{**item} for item in sent]
    positions = align_messages(sent, sent, copies)
    found = [
        MappedMessage(read(item), position, read(sent[position or 0]))
        for item, position in zip(copies, positions, strict=True)
    ]
    left = restore_messages(messages, found)
    assert len(left) == len(messages)
    assert all(one is other for one, other in zip(left, messages, strict=True))


def test_messages_alike_are_taken_for_the_last_of_them() -> None:
    """What an agent keeps is at the end more often than not."""
    sent = [chat_message(m) for m in talk("s u")] + [{"role": "user", "content": "go on"} for _ in range(3)]
    assert align_messages(sent, sent, [{"role": "user", "content": "go on"} for _ in range(2)]) == [3, 4]


def test_one_of_two_neighbours_that_is_missing_is_told_by_the_ids_of_the_calls() -> None:
    sent = [chat_message(m) for m in talk("u a2 u")]
    left = [sent[0], {**sent[1], "content": "cut"}, {**sent[3], "content": "[gone]"}, sent[4]]
    assert align_messages(sent, sent, left) == [0, 1, 3, 4]


def test_a_new_message_stands_for_what_disappeared_between_its_neighbours(shipped: Shipped) -> None:
    done = compact(history(TALK), shipped("noted"))
    made = [m for m in done.messages if m.seq is None]
    assert [(m.role, m.text, m.covers) for m in made] == [("system", "things were said", (1, 2, 3, 4, 5, 6, 7))]
    assert sorted(done.covered) == [1, 2, 3, 4, 5, 6, 7]


def test_new_messages_share_what_disappeared_by_where_they_stand() -> None:
    note = MappedMessage(Message("user", "note"))
    left = restore_messages(TALK, [note, MappedMessage(TALK[2], 2), note, MappedMessage(TALK[5], 5), note])
    assert [m.covers for m in left if m.seq is None] == [(0, 1), (3, 4), (6, 7, 8, 9)]
    left = restore_messages(
        TALK, [MappedMessage(TALK[0], 0), note, MappedMessage(TALK[1], 1), MappedMessage(TALK[9], 9)]
    )
    assert [m.covers for m in left if m.seq is None] == [(2, 3, 4, 5, 6, 7, 8)], (
        "nothing between them: all that is gone"
    )
    left = restore_messages(TALK, [MappedMessage(Message("user", "note"), covers=(2, 3)), MappedMessage(TALK[9], 9)])
    assert left[0].covers == (2, 3), "what the peer says of it counts"


def test_a_new_message_stands_for_nothing_that_its_summariser_was_not_shown() -> None:
    left = restore_messages(TALK, [MappedMessage(Message("user", "summary")), MappedMessage(TALK[9], 9)], shown={4, 5})
    assert left[0].covers == (4, 5)


def test_what_a_summary_stood_for_passes_on_to_the_one_that_replaces_it(shipped: Shipped) -> None:
    earlier = Message("user", "earlier", covers=(1, 2), tokens=3)
    given_ = (TALK[0], earlier, *TALK[3:])
    done = compact(history(given_, summarizer=ScriptedSummarizer()), shipped("Summarizing"))
    assert [m.covers for m in done.messages if m.seq is None] == [(1, 2, 3, 4, 5, 6, 7)]


def test_only_what_the_peer_changed_is_changed_in_an_edited_copy() -> None:
    """Arguments that a peer parses and writes again are not changed by that."""
    calls = (ToolCall("1", "a", '{"x":1}'), ToolCall("2", "b", '{"y":  2}'))
    original = Message("assistant", "t", "r", calls, seq=3, tokens=9, source_ref="f:1")
    before = Message("assistant", "t", "", (ToolCall("1", "a", '{"x": 1}'), ToolCall("2", "b", '{"y": 2}')))
    assert edit_message(original, before, before) is original
    now = Message("assistant", "t", "", (ToolCall("1", "a", "{}"), ToolCall("2", "b", '{"y": 2}')))
    found = edit_message(original, before, now)
    assert (found.reasoning, found.seq, found.tokens, found.source_ref) == ("r", 3, None, "f:1")
    assert found.tool_calls == (ToolCall("1", "a", "{}"), calls[1])


def test_roles_of_other_systems_are_ours_and_one_that_is_not_known_is_refused() -> None:
    assert [role_of(name) for name in ("developer", "human", "ai", "function")] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    with pytest.raises(ValueError, match="has the role 'critic'; expected one of system, developer"):
        role_of("critic")

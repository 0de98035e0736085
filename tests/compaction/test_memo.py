import pytest

from compaction import Message
from compaction.memo import OVERHEAD, Memo
from compaction.reading.message_facts import read_message


def upper(message: Message) -> str:
    return message.text.upper()


def first(message: Message) -> str:
    return message.text[:1]


def times(message: Message, number: object) -> str:
    return f"{message.text} {number}"


def test_a_value_is_there_until_the_room_is_full_and_then_everything_is_forgotten() -> None:
    note = Noted()
    messages = [Message("user", f"{n:>10}") for n in range(4)]
    memo: Memo[None] = Memo(room=3 * OVERHEAD)
    for message in (*messages[:3], *messages[:3], *messages[3:], messages[3], messages[0]):
        memo.of(note, message)
    assert note.called_with == [*messages, messages[0]]


class Noted:
    """Notes what it is called with."""

    def __init__(self) -> None:
        self.called_with: list[Message] = []

    def __call__(self, message: Message) -> None:
        self.called_with.append(message)


def test_the_function_and_every_argument_are_the_key() -> None:
    memo: Memo[str] = Memo(room=10**6)
    message, other = Message("user", "abc"), Message("user", "abc")
    assert (memo.of(upper, message), memo.of(first, message), memo.of(upper, message)) == ("ABC", "a", "ABC")
    assert [memo.of(times, message, number) for number in (1, True, 1.0, "1")] == [
        "abc 1",
        "abc True",
        "abc 1.0",
        "abc 1",
    ]
    assert memo.of(upper, message) is memo.of(upper, message) is not memo.of(upper, other)


def test_a_function_that_uses_variables_of_another_one_is_refused() -> None:
    memo: Memo[str] = Memo(room=10**6)
    number = 3
    with pytest.raises(TypeError, match="pass them as arguments"):
        memo.of(lambda message: message.text * number, Message("user", "abc"))


def test_equal_messages_that_are_different_objects_are_read_apart() -> None:
    first, second = Message("user", "the same words"), Message("user", "the same words")
    assert read_message(first) is read_message(first)
    assert read_message(first) is not read_message(second)

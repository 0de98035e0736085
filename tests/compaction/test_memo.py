from compaction import Message
from compaction.memo import OVERHEAD, Memo
from compaction.reading import read


def test_a_value_is_there_until_the_room_is_full_and_then_everything_is_forgotten() -> None:
    memo: Memo[str] = Memo(room=3 * OVERHEAD)
    messages = [Message("user", "x" * 10) for _ in range(4)]
    for number, message in enumerate(messages[:3]):
        memo.put(id(message), (message,), str(number))
    assert [memo.get(id(message)) for message in messages] == ["0", "1", "2", None]
    memo.put(id(messages[3]), messages[3:], "3")
    assert [memo.get(id(message)) for message in messages] == [None, None, None, "3"]


def test_equal_messages_that_are_different_objects_are_read_apart() -> None:
    first, second = Message("user", "the same words"), Message("user", "the same words")
    assert read(first) is read(first)
    assert read(first) is not read(second)

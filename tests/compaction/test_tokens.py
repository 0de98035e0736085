import pytest

from compaction.tokens import TiktokenCounter, countable, counted, total_tokens
from compaction.transcript import Message, ToolCall


@pytest.fixture(scope="module")
def counter() -> TiktokenCounter:
    return TiktokenCounter()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("你好，世界", 3), ("a" * 8, 1)],
)
def test_counts_are_those_of_o200k_base(counter: TiktokenCounter, text: str, tokens: int) -> None:
    assert counter.count(text) == tokens


def test_a_lone_surrogate_and_nul_are_counted_not_refused(counter: TiktokenCounter) -> None:
    assert counter.count("a\ud83d\x00b") > 0


def test_reasoning_and_calls_count_and_ids_do_not() -> None:
    message = Message("assistant", "text", "why", (ToolCall("id-1", "bash", '{"command":"ls"}'),), seq=0)
    assert countable(message) == 'why\ntext\nbash\n{"command":"ls"}'


def test_a_counted_message_is_not_counted_again(counter: TiktokenCounter) -> None:
    message = Message("user", "hello world", seq=0, tokens=99)
    assert counted(message, counter) is message
    assert total_tokens([message, Message("user", "hello world")], counter) == 101


def test_an_unknown_tokenizer_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="o200k_base"):
        TiktokenCounter("nonesuch")

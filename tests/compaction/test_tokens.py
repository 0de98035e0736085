import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.tokens import TiktokenCounter, counted, counted_text, split_text, total_tokens
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
    assert counted_text(message) == 'why\ntext\nbash\n{"command":"ls"}'


def test_a_counted_message_is_not_counted_again(counter: TiktokenCounter) -> None:
    message = Message("user", "hello world", seq=0, tokens=99)
    assert counted(message, counter) is message
    assert total_tokens([message, Message("user", "hello world")], counter) == 101


def test_an_unknown_tokenizer_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="o200k_base"):
        TiktokenCounter("nonesuch")


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
@settings(max_examples=300, deadline=None)
@given(text=st.text(st.sampled_from("abZé漢́ 1٣_-'/\n\r\t.{\"$🙂"), max_size=300), longest=st.integers(4, 60))
def test_a_text_that_is_counted_in_pieces_has_the_tokens_of_the_whole(encoding: str, text: str, longest: int) -> None:
    """Where a run has to be cut anywhere, each such cut adds at most a token or two."""
    counter = TiktokenCounter(encoding)
    found = list(split_text(text, longest))
    assert "".join(found) == text
    assert all(len(piece) <= longest for piece in found)
    forced = 0
    at = 0
    for piece in found[:-1]:
        at += len(piece)
        forced += not re.match(r"\n[^\W_]|[^\W_] [^\W\d_]", text[at - 1 : at + 2])
    whole, parts = counter.count(text), sum(counter.count(piece) for piece in found)
    assert abs(parts - whole) <= 8 * forced


def test_a_million_spaces_have_a_count() -> None:
    assert TiktokenCounter().count(" " * 1_500_000) == 15 * TiktokenCounter().count(" " * 100_000)


def test_of_the_texts_whose_counts_are_remembered_none_is_held(counter: TiktokenCounter) -> None:
    counter.count("once, so that the vocabulary is there")
    tracemalloc.start()
    try:
        counts = [counter.count(f"{number} " + "wheel " * 600) for number in range(300)]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 300_000, "the texts have a million characters"
    assert [counter.count(f"{number} " + "wheel " * 600) for number in range(300)] == counts

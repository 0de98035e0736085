"""Stubs and retrieval, by hand."""

from __future__ import annotations

from dataclasses import replace

from compaction import Message, ToolCall, compact, parse_method, parse_methods
from compaction.strategies.retrieval import CUT_MARK
from compaction.testing import CharacterCounter, history, talk
from compaction.tokens import counted

COUNTER = CharacterCounter()


def said(*texts: str) -> tuple[Message, ...]:
    """A session of assistant messages, with a request at the end and one more answer."""
    found = [
        *(Message("assistant", text) for text in texts),
        Message("user", "fix the login"),
        Message("assistant", "ok"),
    ]
    return tuple(counted(replace(message, seq=n), COUNTER) for n, message in enumerate(found))


def test_what_shares_words_with_the_last_request_stays_and_the_rest_becomes_stubs_in_place() -> None:
    messages = said("the weather " * 20, "the login fails " * 10, "lunch " * 40)
    found = compact(history(messages), parse_method("retrieval_bm25(target=45)"))
    assert [m.text.partition(" —")[0] for m in found.messages] == [
        "[Compressed: message_0",
        messages[1].text,
        "[Compressed: message_2",
        "fix the login",
        "ok",
    ]
    assert found.edited == {0, 2}
    assert not found.dropped


def test_the_target_is_seven_tenths_of_the_trigger_and_the_trigger_the_budget() -> None:
    messages = said(*["login\n" + "x" * 34] * 12)  # 10 tokens each; request and answer have 5
    left = compact(history(messages, budget=100), parse_method("retrieval_bm25")).messages
    assert sum(m.text.startswith("login") for m in left) == 6
    left = compact(history(messages, budget=100), parse_method("retrieval_bm25(trigger=50)")).messages
    assert sum(m.text.startswith("login") for m in left) == 3


def test_only_unforced_it_asks_whether_the_history_is_over_the_trigger() -> None:
    messages = said("the weather " * 20)
    assert (
        compact(history(messages), parse_method("retrieval_bm25(trigger=1000,target=6,forced=False)")).edited
        == frozenset()
    )
    assert compact(history(messages), parse_method("retrieval_bm25(trigger=1000,target=6)")).edited == {0}


def test_one_that_does_not_fit_keeps_its_first_and_last_lines() -> None:
    long = "\n".join(f"login line {n} with some more words" for n in range(200))
    messages = said(long)
    found = compact(history(messages), parse_method("retrieval_bm25(target=200)"))
    lines = found.messages[0].text.split("\n")
    assert lines[0] == "login line 0 with some more words"
    assert lines[-1] == "login line 199 with some more words"
    assert CUT_MARK in lines
    assert found.tokens < 250


def test_calls_keep_their_arguments() -> None:
    call = ToolCall("1", "read", '{"path": "a.py"}')
    messages = (
        Message("assistant", "looking", tool_calls=(call,), seq=0),
        Message("tool", "import os\n" * 50, tool_call_id="1", seq=1),
        *(replace(m, seq=m.seq + 2) for m in said("x")),
    )
    left = compact(history(messages), parse_method("retrieval_bm25(target=10)")).messages
    assert left[0].tool_calls == (call,)
    assert left[1].text.startswith("[Compressed: message_1 — 51 lines, code.")


def test_a_chain_starts_from_the_whole_session_again() -> None:
    method = parse_method("retrieval_bm25(target=45)")
    first = said("the weather " * 20, "the login fails " * 10)
    left = compact(history(first), method).messages
    asked = tuple(
        counted(Message(role, text, seq=4 + n), COUNTER)  # type: ignore[arg-type]
        for n, (role, text) in enumerate([("user", "how is the weather?"), ("assistant", "ok")])
    )
    again = compact(
        history((*left, *asked), session=(*first, *asked)), parse_method("retrieval_bm25(target=90)")
    ).messages
    assert left[0].text != first[0].text
    assert again[0].text == first[0].text


def test_with_retrieval_the_messages_that_a_question_is_about_come_back_whole_in_their_places() -> None:
    messages = said("the weather is fine " * 20, "lunch " * 40, "dinner and weather " * 30)
    left = compact(history(messages), parse_method("retrieval_bm25(target=6)")).messages
    question = "Was the weather fine?"
    one = parse_method("retrieval_bm25(target=6,retrieve=1)").recall(left, question, messages)
    two = parse_method("retrieval_bm25(target=6,retrieve=2)").recall(left, question, messages)
    assert one == (messages[0], *left[1:])
    assert two == (messages[0], left[1], messages[2], *left[3:])
    assert parse_method("retrieval_bm25(target=6,retrieve=9)").recall(left, "Breakfast?", messages) == left
    assert parse_method("retrieval_bm25(target=6)").recall(left, question, messages) == left


def test_a_method_without_memory_fetches_nothing_and_one_around_it_what_it_fetches() -> None:
    messages = said("the weather is fine " * 20)
    left = compact(history(messages), parse_method("retrieval_bm25(target=6)")).messages
    assert not parse_method("head_tail").recalls
    assert parse_method("head_tail").recall(left, "weather?", messages) == left
    around = parse_method("file_index(over=retrieval_bm25(target=6,retrieve=1))")
    assert around.recalls
    assert around.recall(left, "weather?", messages) == (messages[0], *left[1:])


def test_all_methods_have_it_with_and_without_retrieval() -> None:
    names = [method.name for method in parse_methods("@all")]
    assert [name for name in names if name.startswith("retrieval")] == ["retrieval_bm25", "retrieval_bm25(retrieve=5)"]


def test_a_session_that_says_nothing_is_left_alone() -> None:
    messages = talk("s e e", tokens=None)
    assert not compact(history(messages), parse_method("retrieval_bm25(target=1)")).dropped

from __future__ import annotations

import pytest

from compaction import CompactionProvider, Message, StrategyError, SummaryError, compact_messages, parse_method
from compaction.testing import CharacterCounter, ScriptedSummarizer, failing, talk

COUNTER = CharacterCounter()


def said(*texts: str) -> tuple[Message, ...]:
    """Messages of a user and an assistant in turns, as an agent has them: without numbers and counts."""
    return tuple(Message("assistant" if n % 2 else "user", text) for n, text in enumerate(texts))


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages]


def test_one_call_compacts_any_list_of_messages() -> None:
    found = compact_messages(said("a", "b", "c", "d"), "head_tail(head=1,tail=1)", counter=COUNTER)
    assert texts(found.messages) == ["a", "d"]
    assert (found.kept, found.dropped, found.tokens) == ({0, 3}, {1, 2}, 2)


def test_tokens_are_exact_ones_where_no_counter_is_given() -> None:
    assert compact_messages([Message("user", "hello world")], "none").tokens == 2


def test_what_was_compacted_can_be_compacted_again_with_what_came_since() -> None:
    def summarize(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        method = parse_method("af_py_summarization(target_count=1)")
        return compact_messages(messages, method, counter=COUNTER, summarizer=ScriptedSummarizer()).messages

    once = summarize(said("a", "b", "c"))
    twice = summarize((*once, *said("d", "e")))
    assert [(m.text, m.seq, m.covers) for m in twice] == [("SUMMARY 1", None, (0, 1, 2, 3)), ("e", 4, ())]


def test_a_wrong_method_a_missing_summariser_and_a_list_out_of_order_are_refused() -> None:
    with pytest.raises(StrategyError, match="unknown strategy"):
        compact_messages(said("a"), "no_such")
    with pytest.raises(SummaryError, match="needs a summariser"):
        compact_messages(said("a", "b"), "freeform_summary", counter=COUNTER)
    with pytest.raises(ValueError, match="seq 0 stands behind one with seq 1"):
        compact_messages(talk("u a")[::-1], "none", counter=COUNTER)


def test_before_a_run_what_is_remembered_is_compacted_and_the_new_input_is_not() -> None:
    provider = CompactionProvider(before="empty", counter=COUNTER)
    provider.after_run(said("a", "b"))
    assert texts(provider.before_run(said("c"))) == ["c"]
    assert texts(provider.stored) == ["a", "b"], "the context is rewritten, the store is not"
    assert [m.seq for m in provider.before_run(said("c"))] == [2]


def test_after_a_turn_what_is_stored_is_compacted_and_nothing_is_lost() -> None:
    provider = CompactionProvider(after="head_tail(head=1,tail=1)", counter=COUNTER)
    provider.after_run(said("a", "b", "c"))
    assert texts(provider.before_run(said("d"))) == ["a", "c", "d"]
    assert texts(provider.stored) == ["a", "b", "c"]


def test_stored_history_is_compacted_once_a_user_turn() -> None:
    provider = CompactionProvider(after="empty", counter=COUNTER)
    provider.after_run(said("a", "b"), turn_ended=False)
    assert texts(provider.before_run()) == ["a", "b"]
    provider.after_run(said("c"))
    assert provider.before_run() == ()


def test_a_store_that_does_not_skip_what_is_excluded_shows_all_of_it() -> None:
    provider = CompactionProvider(after="empty", counter=COUNTER, skip_excluded=False)
    provider.after_run(said("a", "b"))
    assert texts(provider.before_run()) == ["a", "b"]


def test_the_summary_of_stored_history_stays_from_turn_to_turn() -> None:
    provider = CompactionProvider(
        after="af_py_summarization(target_count=1)", counter=COUNTER, summarizer=ScriptedSummarizer()
    )
    provider.after_run(said("a", "b", "c"))
    provider.after_run(said("d", "e"))
    assert texts(provider.before_run(said("f"))) == ["SUMMARY 2", "e", "f"]
    assert provider.before_run()[0].covers == (0, 1, 2, 3)


def test_a_summary_that_fails_leaves_the_context_as_it_is_and_is_noted() -> None:
    provider = CompactionProvider(before="freeform_summary", counter=COUNTER, summarizer=ScriptedSummarizer(failing))
    provider.after_run(said("a", "b"))
    assert texts(provider.before_run()) == ["a", "b"]
    assert provider.failures == ["the model is not reachable"]

"""The graph of summaries where the recordings do not reach: pointers, what is too long or blank, and one request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compaction import BlankSummaryError, CompactedContext, Message, SummaryRequest, compact, parse_method
from compaction.testing import CharacterCounter, ScriptedSummarizer, blank, history, talk
from compaction.tokens import counted

SMALL = "fresh_tail=2,leaf_chunk_tokens=20,condensed_tokens=1,leaf_fanout=3,prefix_tokens=2"


def said(*texts: str) -> tuple[Message, ...]:
    return tuple(counted(Message("user", text, seq=n), CharacterCounter()) for n, text in enumerate(texts))


def left_by(
    spec: str, messages: tuple[Message, ...], write: Callable[[SummaryRequest], str] | None = None
) -> tuple[CompactedContext, ScriptedSummarizer]:
    model = ScriptedSummarizer(write)
    return compact(history(messages, summarizer=model), parse_method(spec)), model


def test_every_pointer_says_what_it_reaches() -> None:
    found, _ = left_by(f"lcm({SMALL})", talk("s u a u a u a u a u"), lambda _: "S")
    condensed = found.messages[1]
    assert condensed.text == (
        '<summary id="sum_0100000010000007" kind="condensed" depth="1" descendant_count="4" trust="untrusted">\n'
        '  <parents>\n    <summary_ref id="sum_0000000010000002" />\n    <summary_ref id="sum_0000000030000004" />\n'
        '    <summary_ref id="sum_0000000050000006" />\n'
        '    <summary_ref id="sum_0000000070000007" />\n  </parents>\n  <content>\nS\n  </content>\n</summary>'
    )
    assert condensed.covers == (1, 2, 3, 4, 5, 6, 7)
    assert found.covered == {1, 2, 3, 4, 5, 6, 7}
    assert found.kept == {0, 8, 9}


def test_a_summary_is_read_again_from_the_context_whatever_signs_are_in_it() -> None:
    told = "a < b && </content> &lt; c"
    once, _ = left_by(f"lcm({SMALL})", talk("u a u a"), lambda _: told)
    assert "a &lt; b &amp;&amp; &lt;/content&gt; &amp;lt; c" in once.messages[0].text
    again, model = left_by(f"lcm({SMALL})", (*once.messages, *talk("u a u a", first_seq=4)), lambda _: "S")
    assert [request.span[0].seq for request in model.requests[:2]] == [2, 4]
    assert told in model.requests[-1].span[0].text
    assert again.covered == {0, 1, 2, 3, 4, 5}


def test_the_tail_reaches_back_to_the_users_last_message_unless_told_otherwise() -> None:
    messages = talk("s u " + "a1 " * 6)
    assert left_by("lcm(fresh_tail=2)", messages)[0].messages == messages
    found, _ = left_by("lcm(fresh_tail=3,keep_turn=false)", messages, lambda _: "S")
    assert [m.seq for m in found.messages] == [0, None, 12, 13]
    assert found.dropped == {11}  # its call went into the summary


@pytest.mark.parametrize(("answers", "asked"), [(["long " * 99, "S"], 2), (["long " * 99] * 2, 2), ([" "], 1)])
def test_a_summary_that_is_no_shorter_or_blank_gives_way(answers: list[str], asked: int) -> None:
    replies = iter(answers)
    messages = said("please mend the mill " * 12, "now", "then")
    found, model = left_by("lcm(fresh_tail=2)", messages, lambda _: next(replies))
    assert len(model.requests) == asked
    assert ("S\n" in found.messages[0].text) == (answers[-1] == "S")
    assert ("summary_truncated" in found.flags) == (answers[-1] != "S")
    if answers[-1] != "S":
        assert "user: please mend the mill" in found.messages[0].text
        assert "[Truncated from " in found.messages[0].text


def test_a_blank_summary_is_an_error_in_the_mode_valid() -> None:
    with pytest.raises(BlankSummaryError):
        left_by("lcm(fresh_tail=2,mode=valid)", talk("u a u a"), blank)


def test_a_summary_of_more_than_three_times_its_tokens_is_cut() -> None:
    text = "x" * 500
    found, _ = left_by("lcm(fresh_tail=2,leaf_tokens=10)", said("please mend " * 99, "now", "then"), lambda _: text)
    content = found.messages[0].text.split("<content>\n")[1].split("\n  </content>")[0]
    assert content == "x" * (120 - len("[Capped from 125 tokens to ~30]") - 1) + "\n[Capped from 125 tokens to ~30]"


def test_without_force_nothing_is_done_up_to_the_threshold() -> None:
    messages = talk("u a u a u a", tokens=10)
    assert left_by("lcm(fresh_tail=2,forced=false)", messages)[0].messages == messages
    assert left_by("lcm(fresh_tail=2,forced=false,threshold=0.5)", messages)[0].messages != messages

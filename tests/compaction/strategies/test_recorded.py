"""The agent's own compactions, replayed by hand."""

from __future__ import annotations

import pytest

from compaction import CompactedContext, Message, NotApplicable, RecordedCompaction, compact, make_method
from compaction.testing import history, talk

RECORDED = make_method("recorded")


def replay(session: tuple[Message, ...], *compactions: RecordedCompaction) -> CompactedContext:
    return compact(history(session, recorded=compactions), RECORDED)


def seen(found: CompactedContext) -> list[int | str]:
    """What stands in the context: ``seq`` of messages of the session, text of others."""
    return [message.text if message.seq is None else message.seq for message in found.messages]


def test_a_condensation_puts_its_summary_behind_the_head_that_it_keeps() -> None:
    """OpenHands: keep the first events, forget the middle, the summary at the offset, then what came since."""
    session = talk("s u a1 a1 a1 u a u")  # seq 0 to 10
    found = replay(session, RecordedCompaction(8, "FIRST", dropped=(2, 3, 4, 5), summary_at=2))
    assert seen(found) == [0, 1, "FIRST", 6, 7, 8, 9, 10]
    assert found.messages[2].role == "user"
    assert found.messages[2].covers == (2, 3, 4, 5)
    assert (found.covered, found.dropped, found.flags) == ({2, 3, 4, 5}, frozenset(), ())


def test_of_two_condensations_the_later_summary_takes_the_earlier_ones_place() -> None:
    session = talk("s u a1 a1 a1 u a u")
    first = RecordedCompaction(6, "FIRST", dropped=(2, 3), summary_at=2)
    second = RecordedCompaction(9, "SECOND", dropped=(4, 5, 6, 7), summary_at=2)
    found = replay(session, first, second)
    assert seen(found) == [0, 1, "SECOND", 8, 9, 10]
    assert found.messages[2].covers == (2, 3, 4, 5, 6, 7)


def test_a_summary_stands_where_it_stood_whatever_was_dropped_since() -> None:
    """The second compaction forgets messages on both sides of the summary and writes none."""
    session = talk("s u u u u u u u")
    first = RecordedCompaction(6, "FIRST", dropped=(3,), summary_at=3)
    second = RecordedCompaction(7, None, dropped=(1, 4))
    found = replay(session, first, second)
    assert seen(found) == [0, 2, "FIRST", 5, 6, 7]
    assert (found.covered, found.dropped) == ({3}, {1, 4})


def test_what_was_dropped_without_a_summary_is_covered_by_no_later_one() -> None:
    session = talk("s u u u u u")
    found = replay(session, RecordedCompaction(3, dropped=(1,)), RecordedCompaction(5, "SUM", dropped=(2, 3)))
    assert seen(found) == [0, "SUM", 4, 5]
    assert (found.covered, found.dropped) == ({2, 3}, {1})


def test_everything_before_the_first_kept_message_goes() -> None:
    """pi: the summary stands first, behind a system prompt where the log has one."""
    found = replay(talk("u a1 a1 u a"), RecordedCompaction(7, "SO FAR", dropped=(0, 1, 2)))
    assert seen(found) == ["SO FAR", 3, 4, 5, 6]
    with_system = replay(talk("s u a1 a1 u a"), RecordedCompaction(8, "SO FAR", dropped=(1, 2, 3)))
    assert seen(with_system) == [0, "SO FAR", 4, 5, 6, 7]


def test_preserved_messages_stand_behind_the_summary_though_they_were_said_before() -> None:
    """Claude Code: 2 and 6 survive the boundary at 7."""
    found = replay(talk("u a a u a u a u"), RecordedCompaction(7, "CONTINUED", dropped=(0, 1, 3, 4, 5)))
    assert seen(found) == ["CONTINUED", 2, 6, 7]
    assert found.kept == {2, 6, 7}


def test_cleared_results_stay_with_what_stood_in_their_place() -> None:
    """opencode: nothing is dropped, no summary."""
    session = talk("u a2 a1 u")
    found = replay(session, RecordedCompaction(6, dropped=(), cleared=(2, 3), cleared_text="[cleared]"))
    assert [m.text for m in found.messages] == [
        "user 0",
        "assistant 1",
        "[cleared]",
        "[cleared]",
        "assistant 4",
        "result 5",
        "user 6",
    ]
    assert [m.seq for m in found.messages] == [0, 1, 2, 3, 4, 5, 6]
    assert (found.edited, found.covered, found.dropped) == ({2, 3}, frozenset(), frozenset())
    assert found.messages[2].tool_call_id == session[2].tool_call_id


def test_a_cleared_result_that_a_later_compaction_drops_is_gone() -> None:
    session = talk("u a1 a1 u")
    cleared = RecordedCompaction(5, dropped=(), cleared=(2, 4), cleared_text="[cleared]")
    found = replay(session, cleared, RecordedCompaction(6, "SUM", dropped=(0, 1, 2)))
    assert [m.text for m in found.messages] == ["SUM", "assistant 3", "[cleared]", "user 5"]


def test_a_result_whose_call_was_dropped_stays_as_the_agent_had_it_and_is_flagged() -> None:
    found = replay(talk("u a1 u"), RecordedCompaction(3, "SUM", dropped=(0, 1)))
    assert seen(found) == ["SUM", 2, 3]
    assert found.flags == ("invalid_context",)


def test_the_summary_is_the_text_of_the_log_and_no_word_more() -> None:
    text = "  <summary>\nUSER_CONTEXT: …\n</summary>\n"
    assert replay(talk("u a u"), RecordedCompaction(2, text, dropped=(0, 1))).messages[0].text == text


def test_in_a_chain_the_replay_is_of_the_session_and_not_of_what_was_left() -> None:
    session = talk("s u a1 a1 a1 u a u")
    first = RecordedCompaction(6, "FIRST", dropped=(2, 3), summary_at=2, cleared=(5,), cleared_text="[cleared]")
    second = RecordedCompaction(9, "SECOND", dropped=(4,), summary_at=2)
    left = compact(history(session[:6], recorded=[first]), RECORDED)
    assert seen(left) == [0, 1, "FIRST", 4, 5]
    chained = history((*left.messages, *session[6:]), session=session, recorded=[first, second])
    found = compact(chained, RECORDED)
    assert found.messages == replay(session, first, second).messages
    assert (found.kept, found.edited) == ({0, 1, 6, 7, 8, 9, 10}, {5})
    assert (found.covered, found.dropped) == ({2, 3, 4}, frozenset())


NOTHING_RECORDED = "no recorded compaction before this point"
UNKNOWN = "does not say what a recorded compaction before this point dropped"
OPAQUE = "encrypted or not at all"


@pytest.mark.parametrize(
    ("compactions", "reason"),
    [
        ([], NOTHING_RECORDED),
        ([RecordedCompaction(3, "SUM")], UNKNOWN),
        ([RecordedCompaction(2), RecordedCompaction(3, "SUM", dropped=(0,))], UNKNOWN),
        ([RecordedCompaction(3, dropped=(0, 1), has_opaque_summary=True)], OPAQUE),
        (
            [RecordedCompaction(2, "SUM", dropped=(0,)), RecordedCompaction(3, dropped=(1,), has_opaque_summary=True)],
            OPAQUE,
        ),
    ],
)
def test_what_cannot_be_replayed_is_not_applicable_and_says_why(
    compactions: list[RecordedCompaction], reason: str
) -> None:
    with pytest.raises(NotApplicable, match=reason):
        replay(talk("u a u a"), *compactions)


def test_what_an_earlier_compaction_did_does_not_matter_once_a_later_one_dropped_it_all() -> None:
    """Also a summary that cannot be read: the later one has taken it up."""
    session = talk("s u a u a")
    unknown = RecordedCompaction(3, has_opaque_summary=True)
    found = replay(session, unknown, RecordedCompaction(4, "ALL", dropped=(1, 2, 3)))
    assert seen(found) == [0, "ALL", 4]

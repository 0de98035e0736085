"""What each strategy leaves of small histories, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compaction import CompactedContext, Message, StrategyError, compact, make_method
from compaction.testing import history, talk

SESSION = talk("s u a2 a u a1 a1 a u")
"""0 s, 1 u, 2 call ×2, 3-4 results, 5 a, 6 u, 7 call, 8 result, 9 call, 10 result, 11 a, 12 u; 10 tokens each."""


def left(spec: str, messages: tuple[Message, ...] = SESSION, budget: int = 100, **params: Any) -> list[Any]:
    """``seq`` of what stays as it was; the text of everything else."""
    found = run(spec, messages, budget, **params)
    return [m.seq if m.seq in found.kept else m.text for m in found.messages]


def run(spec: str, messages: tuple[Message, ...] = SESSION, budget: int = 100, **params: Any) -> CompactedContext:
    return compact(history(messages, budget=budget), make_method(spec, params))


def test_none_keeps_everything() -> None:
    assert left("none") == list(range(13))


def test_empty_keeps_the_system_prompt_and_no_later_system_message() -> None:
    assert left("empty", talk("s s u s a")) == [0, 1]


def test_empty_keeps_no_summary_that_wears_the_system_role() -> None:
    summary = Message("system", "what happened", covers=(0, 1), tokens=5)
    assert left("empty", (summary, *talk("u a", first_seq=2))) == []


def test_head_tail_keeps_the_two_ends() -> None:
    assert left("head_tail", head=2, tail=2) == [0, 1, 11, 12]


def test_head_tail_keeps_a_group_that_an_end_cuts_into_whole() -> None:
    assert left("head_tail", head=3, tail=3) == [0, 1, 2, 3, 4, 9, 10, 11, 12]


def test_head_tail_takes_the_result_of_a_call_that_came_with_it() -> None:
    call, result = talk("a1")
    twice = replace(call, tool_calls=(replace(call.tool_calls[0], id="used twice"),))
    said = (
        call,
        replace(twice, seq=1),
        replace(twice, seq=2),
        replace(result, seq=3),
        *talk("s", first_seq=4),
        replace(result, seq=5, tool_call_id="used twice"),
        *talk("s s s", first_seq=6),
    )
    found = run("head_tail", said, head=1, tail=3)
    assert [message.seq for message in found.messages] == [0, 2, 3, 5, 6, 7, 8]
    assert found.flags == ()


def test_head_tail_changes_nothing_when_there_is_nothing_between() -> None:
    assert left("head_tail", head=5, tail=8) == list(range(13))


def test_head_tail_takes_a_late_result_with_its_call() -> None:
    messages = list(talk("u c a a a a t a"))
    messages[6] = replace(messages[6], tool_call_id=messages[1].tool_calls[0].id)
    assert left("head_tail", tuple(messages), head=1, tail=2) == [0, 1, 6, 7]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"tokens": 0}, [0]),
        ({"tokens": 19}, [0]),
        ({"tokens": 20}, [0, 12]),
        ({"tokens": 40}, [0, 11, 12]),
        ({"tokens": 49}, [0, 11, 12]),
        ({"tokens": 50}, [0, 9, 10, 11, 12]),
        ({"tokens": 90}, [0, 5, 6, 7, 8, 9, 10, 11, 12]),
        ({"tokens": 119}, [0, 5, 6, 7, 8, 9, 10, 11, 12]),
        ({"tokens": 120}, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        ({"tokens": 129}, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        ({"tokens": 130}, list(range(13))),
        ({"share": 0.0}, [0]),
        ({}, [0]),
        ({"share": 0.4}, [0, 9, 10, 11, 12]),
        ({"share": 1.0}, list(range(13))),
    ],
)
def test_recency_keeps_the_system_prompt_and_the_newest_whole_groups_that_fit(
    params: dict[str, Any], expected: list[int]
) -> None:
    """10 tokens each, 130 in all: 0.1 of them are 13, 0.4 are 52. 10 alone would lose its call, 3-4 theirs."""
    assert left("recency", **params) == expected


def test_recency_takes_its_share_of_all_that_was_said_also_where_little_is_left_of_it() -> None:
    kept = run("recency", share=0.4)
    again = compact(history(kept.messages, session=SESSION), make_method("recency", {"share": 0.4}))
    assert again.messages == kept.messages


def test_recency_keeps_a_later_system_message_only_among_the_newest() -> None:
    assert left("recency", talk("s u s a s u"), tokens=30) == [0, 4, 5]


@pytest.mark.parametrize("params", [{"share": 1.1}, {"share": -0.1}, {"tokens": -1}])
def test_recency_refuses_room_that_is_none(params: dict[str, Any]) -> None:
    with pytest.raises(StrategyError, match=r"share must be from 0 to 1|tokens must be at least 0"):
        left("recency", **params)


def test_truncation_drops_the_oldest_groups_down_to_half_the_budget() -> None:
    """130 tokens, 50 wanted: 1 (120), 2-4 (90), 5 (80), 6 (70), 7-8 (50)."""
    assert left("af_py_truncation") == [0, 9, 10, 11, 12]


def test_truncation_overshoots_because_groups_are_whole() -> None:
    assert left("af_py_truncation", compact_to=115, max_n=120) == [0, 5, 6, 7, 8, 9, 10, 11, 12]


def test_truncation_can_spare_the_first_user_message_and_drop_the_system_prompt() -> None:
    assert left("af_py_truncation", preserve_first_user_group=True, preserve_system=False) == [1, 9, 10, 11, 12]


def test_truncation_never_drops_the_newest_group() -> None:
    assert left("af_py_truncation", budget=1, compact_to=1, max_n=1) == [0, 12]


def test_truncation_asks_its_trigger_only_when_it_is_not_forced() -> None:
    assert left("af_py_truncation", max_n=130, compact_to=50, forced=False) == list(range(13))
    assert left("af_py_truncation", max_n=129, compact_to=50, forced=False) == [0, 9, 10, 11, 12]


def test_truncation_by_messages_needs_its_figures() -> None:
    assert left("af_py_truncation", metric="messages", max_n=8, compact_to=6) == [0, 9, 10, 11, 12]
    with pytest.raises(StrategyError, match="metric=messages needs max_n and compact_to"):
        left("af_py_truncation", metric="messages", max_n=8)


def test_truncation_refuses_a_target_above_its_trigger() -> None:
    with pytest.raises(StrategyError, match="must not be more than max_n"):
        left("af_py_truncation", max_n=5, compact_to=6)


def test_sliding_window_counts_groups_and_keeps_every_system_message() -> None:
    assert left("af_py_sliding_window", keep_last_groups=3) == [0, 9, 10, 11, 12]
    assert left("af_py_sliding_window", talk("s u a s u a"), keep_last_groups=1) == [0, 3, 5]


def test_sliding_window_refuses_an_empty_window() -> None:
    with pytest.raises(StrategyError, match="keep_last_groups must be at least 1, not 0"):
        left("af_py_sliding_window", keep_last_groups=0)


def test_selective_tool_call_drops_old_calls_with_their_arguments() -> None:
    assert left("af_py_selective_tool_call") == [0, 1, 5, 6, 9, 10, 11, 12]
    assert left("af_py_selective_tool_call", keep_last_tool_call_groups=0) == [0, 1, 5, 6, 11, 12]


def test_tool_result_collapses_old_groups_where_they_were() -> None:
    collapsed = run("af_py_tool_result")
    assert [m.seq if m.covers == () else (m.role, m.text, m.covers) for m in collapsed.messages] == [
        0,
        1,
        ("assistant", "[Tool results: read: result 3; read: result 4]", (2, 3, 4)),
        5,
        6,
        ("assistant", "[Tool results: read: result 8]", (7, 8)),
        9,
        10,
        11,
        12,
    ]
    assert (collapsed.covered, collapsed.dropped) == ({2, 3, 4, 7, 8}, set())


def test_tool_result_cuts_at_the_cap_and_says_when_there_was_no_result() -> None:
    messages = (*talk("c u"), *talk("a1", first_seq=2))
    long = replace(messages[3], text="x " * 4000)
    found = left("af_py_tool_result", (*messages[:3], long), keep_last_tool_call_groups=0)
    assert found[0] == "[Tool results: no results]"
    assert len(found[2]) in (4095, 4096)
    assert found[2].startswith("[Tool results: read: x x ")
    assert found[2].endswith("x... [truncated]]")


def test_net_sliding_drops_whole_turns_and_keeps_what_came_before_the_first() -> None:
    messages = talk("s a u a1 u a s u a")
    assert left("af_net_sliding", messages, keep_last_turns=2) == [0, 1, 5, 6, 7, 8, 9]
    assert left("af_net_sliding", messages, keep_last_turns=0) == [0, 1, 7, 8, 9]
    assert left("af_net_sliding", messages, keep_last_turns=0, minimum_preserved_turns=0) == [0, 1, 7]


def test_net_sliding_leaves_a_session_of_one_turn_alone() -> None:
    assert left("af_net_sliding", talk("s u" + " a1" * 20)) == list(range(42))


def test_sweagent_masking_keeps_the_last_n_results_and_counts_lines() -> None:
    masked = "Old environment output: (1 lines omitted)"
    assert left("mask_sweagent", n=2) == [0, 1, 2, masked, masked, 5, 6, 7, 8, 9, 10, 11, 12]
    three = (*SESSION[:3], replace(SESSION[3], text="a\n\nb\n"), *SESSION[4:])
    assert left("mask_sweagent", three, n=3)[3] == "Old environment output: (3 lines omitted)"


def test_sweagent_masking_moves_its_window_only_with_polling() -> None:
    """Five observations with the task; in steps of three only three count, of which two stay."""
    assert left("mask_sweagent", n=2, polling=3) == list(range(13))
    assert left("mask_sweagent", n=1, polling=3)[3].startswith("Old")


def test_sweagent_masking_without_a_task_spares_the_first_result() -> None:
    found = left("mask_sweagent", talk("s" + " a1" * 4), n=1)
    assert [i for i, what in enumerate(found) if isinstance(what, str)] == [4, 6]


def test_openhands_masking_counts_every_call_as_an_event() -> None:
    """The last five events are 12, 11, 10, 9 and 8. After result 2 of the batch come six."""
    assert left("mask_openhands_v0", attention_window=5, mode="valid") == [
        0,
        1,
        2,
        "<MASKED>",
        "<MASKED>",
        5,
        6,
        7,
        8,
        9,
        10,
        11,
        12,
    ]
    batch = talk("u a1 a3")
    assert left("mask_openhands_v0", batch, attention_window=6, mode="valid") == [0, 1, "<MASKED>", 3, 4, 5, 6]
    assert left("mask_openhands_v0", batch, attention_window=7, mode="valid") == [0, 1, 2, 3, 4, 5, 6]


def test_openhands_masking_loses_the_calls_of_masked_results_as_the_original_does() -> None:
    found = run("mask_openhands_v0", attention_window=5)
    assert [m.seq for m in found.messages] == [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert [(m.role, m.text, m.tool_call_id) for m in found.messages[2:4]] == [("user", "<MASKED>", None)] * 2
    assert (found.dropped, found.edited, found.flags) == ({2}, {3, 4}, ())


def test_openhands_masking_drops_a_batch_of_which_one_result_is_masked() -> None:
    found = run("mask_openhands_v0", talk("u a2 a"), attention_window=2)
    assert [m.seq for m in found.messages] == [0, 2, 4]
    assert found.dropped == {1, 3}


def test_article_masking_also_masks_what_people_said_later() -> None:
    assert left("mask_seed", attention_window=3) == [
        0,
        1,
        2,
        "<MASKED>",
        "<MASKED>",
        5,
        "<MASKED>",
        7,
        "<MASKED>",
        9,
        10,
        11,
        12,
    ]


def test_a_summary_that_is_masked_stands_for_nothing_any_more() -> None:
    summary = Message("user", "what happened", covers=(1, 2), tokens=5)
    found = run("mask_seed", (*talk("u"), summary, *talk("a a", first_seq=3)), attention_window=2)
    assert [m.text for m in found.messages][1] == "<MASKED>"
    assert (found.covered, found.dropped) == (set(), {1, 2})


FIFO = tuple(
    replace(m, tokens=t)
    for m, t in zip(talk("s u a1 a1 a1 a1"), (50, 500, 300, 8000, 300, 8000, 300, 8000, 700, 7850), strict=True)
)
"""The article's drawing: 34,000 tokens in all, 10,000 without the first three results."""


def test_fifo_drops_all_results_but_the_latest() -> None:
    assert left("tool_fifo", FIFO, budget=32_000, mode="faithful") == [0, 1, 2, 4, 6, 8, 9]


def test_fifo_then_drops_what_the_agent_said_oldest_first_until_it_fits() -> None:
    assert left("tool_fifo", FIFO, context_length=9_500, mode="faithful") == [0, 1, 6, 8, 9]


def test_fifo_as_drawn_ends_with_a_result_without_its_call() -> None:
    found = run("tool_fifo", FIFO, context_length=8_500, mode="faithful")
    assert [m.seq for m in found.messages] == [0, 1, 9]
    assert found.flags == ("invalid_context",)


def test_fifo_says_that_calls_have_no_results_and_that_what_must_stay_is_more_than_its_limit() -> None:
    assert run("tool_fifo", FIFO, budget=32_000, mode="faithful").flags == ("invalid_context",)
    assert run("tool_fifo", FIFO, budget=32_000).flags == ()
    assert run("tool_fifo", FIFO, context_length=9_100).flags == ()
    assert run("tool_fifo", FIFO, context_length=9_099).flags == ("over_budget",)
    assert run("tool_fifo", FIFO, budget=9_099).flags == ("over_budget",)


def test_fifo_has_a_second_limit_that_what_is_left_must_keep() -> None:
    drawn = {"context_length": 32_000, "history_length": 8_600, "mode": "faithful"}
    assert left("tool_fifo", FIFO, **drawn) == [0, 1, 9]
    assert left("tool_fifo", FIFO, **{**drawn, "history_length": 9_500}) == [0, 1, 6, 8, 9]
    assert left("tool_fifo", FIFO, context_length=9_500, history_length=20_000, mode="faithful") == [0, 1, 6, 8, 9]
    assert run("tool_fifo", FIFO, context_length=32_000, history_length=9_099).flags == ("over_budget",)


def test_a_chain_has_what_was_dropped_edited_and_covered_before_and_flags_what_was_broken_before() -> None:
    first = run("tool_fifo", FIFO[:6], context_length=1, mode="faithful")
    assert (first.kept, first.dropped, first.flags) == ({0, 1, 5}, {2, 3, 4}, ("invalid_context", "over_budget"))
    again = compact(history((*first.messages, *FIFO[6:]), session=FIFO), make_method("none"))
    assert (again.kept, again.edited, again.dropped) == ({0, 1, 5, 6, 7, 8, 9}, set(), {2, 3, 4})
    assert again.flags == ("invalid_context",)
    masked = run("mask_seed", SESSION[:9], attention_window=0)
    later = compact(history((*masked.messages, *SESSION[9:]), session=SESSION), make_method("none"))
    assert (later.edited, later.kept) == ({3, 4, 6, 8}, set(range(13)) - {3, 4, 6, 8})


def test_valid_fifo_keeps_the_owner_of_the_latest_result_and_spells_other_calls_out() -> None:
    spelled = '\n[called read({"path": "file0.py"})]'
    found = run("tool_fifo", FIFO, budget=32_000)
    assert [m.text for m in found.messages[2:5]] == [f"assistant {i}{spelled}" for i in (2, 4, 6)]
    assert not any(m.tool_calls for m in found.messages[2:5])
    assert left("tool_fifo", FIFO, context_length=1) == [0, 1, 8, 9]


def test_valid_fifo_keeps_of_a_batch_only_the_call_whose_result_stays() -> None:
    found = run("tool_fifo", talk("u a2 a"), budget=1000)
    owner = found.messages[1]
    assert [c.id for c in owner.tool_calls] == ["1-1"]
    assert owner.text.endswith('[called read({"path": "file0.py"})]')


def test_a_system_message_that_came_later_is_no_prompt_where_a_method_removed_all_before_it() -> None:
    """So in a chain, whose histories begin with what was left."""
    late = (Message("system", "Reminder: be brief.", seq=7, tokens=4), Message("user", "Go on.", seq=8, tokens=2))
    assert compact(history(late), make_method("empty")).messages == ()

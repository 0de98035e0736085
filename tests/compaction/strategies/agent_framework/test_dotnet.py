"""Agent Framework .NET, worked out by hand from its described semantics: there is no package to run against."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compaction import CompactedContext, Message, StrategyError, SummaryError, ToolCall, compact, make_method
from compaction.groups import index_groups
from compaction.testing import ScriptedSummarizer, blank, failing, history, talk

SESSION = talk("s u a2 a u a1 a1 a u")
"""0 s, 1 u, 2 call ×2, 3-4 results, 5 a, 6 u, 7 call, 8 result, 9 call, 10 result, 11 a, 12 u; 10 tokens each."""
FIRST = "[Tool Calls]\nread:\n  - result 3\n  - result 4"


def run(id: str, messages: tuple[Message, ...] = SESSION, budget: int = 100, **params: Any) -> CompactedContext:
    handler = params.pop("handler", None)
    session = params.pop("session", ())
    given = history(messages, budget=budget, summarizer=ScriptedSummarizer(handler), session=session)
    return compact(given, make_method(id, params))


def left(id: str, messages: tuple[Message, ...] = SESSION, budget: int = 100, **params: Any) -> list[Any]:
    found = run(id, messages, budget, **params)
    return [m.seq if m.seq is not None else m.text for m in found.messages]


def shape(messages: tuple[Message, ...]) -> list[tuple[str, int, int | None]]:
    return [(g.kind, len(g.messages), g.turn) for g in index_groups(messages)]


def calls(*names: str, first: int = 0) -> Message:
    made = tuple(ToolCall(f"c{n}", name, "{}") for n, name in enumerate(names, first))
    return Message("assistant", tool_calls=made)


def result(text: str, id: str | None = None) -> Message:
    return Message("tool", text, tool_call_id=id)


# the index


def test_turns_begin_at_user_messages_and_system_messages_belong_to_none() -> None:
    assert shape(talk("s a u a1 s u a")) == [
        ("system", 1, None),
        ("assistant_text", 1, 0),
        ("user", 1, 1),
        ("tool_call", 2, 1),
        ("system", 1, None),
        ("user", 1, 2),
        ("assistant_text", 1, 2),
    ]


def test_reasoning_between_two_calls_goes_to_the_first_of_them() -> None:
    assert shape(talk("u a1 r a1")) == [("user", 1, 1), ("tool_call", 3, 1), ("tool_call", 2, 1)]


def test_reasoning_before_a_call_belongs_to_it_and_before_a_text_stands_alone() -> None:
    assert shape(talk("r r a1")) == [("tool_call", 4, 0)]
    assert shape(talk("r a")) == [("assistant_text", 1, 0), ("assistant_text", 1, 0)]


def test_an_empty_message_counts_as_reasoning() -> None:
    assert shape(talk("e a1 e")) == [("tool_call", 4, 0)]
    assert shape(talk("e")) == [("assistant_text", 1, 0)]


def test_results_without_a_call_are_texts_and_late_ones_are_not_linked() -> None:
    late = replace(talk("t", first_seq=4)[0], tool_call_id=talk("u c")[1].tool_calls[0].id)
    assert shape((*talk("u c u a"), late)) == [
        ("user", 1, 1),
        ("tool_call", 1, 1),
        ("user", 1, 2),
        ("assistant_text", 1, 2),
        ("assistant_text", 1, 2),
    ]


def test_a_summary_belongs_to_no_turn_and_collapsed_calls_to_that_of_their_calls() -> None:
    summary = Message("assistant", "[Summary]\nwhat was", covers=(0, 1))
    collapsed = Message("assistant", FIRST, covers=(3, 4, 5))
    found = index_groups((summary, *talk("a", first_seq=1), collapsed), talk("u a u a2"))
    assert [(g.kind, g.turn) for g in found] == [("summary", None), ("assistant_text", 1), ("summary", 2)]


def test_what_is_left_of_a_turn_stays_a_turn_when_its_user_message_is_gone() -> None:
    session = talk("u a u a a u a")
    assert [g.turn for g in index_groups(session[3:], session)] == [1, 1, 2, 2]
    assert [g.turn for g in index_groups(session[3:])] == [0, 0, 1, 1], "without the session nobody can know"


# truncation


def test_truncation_drops_groups_from_the_oldest_until_the_trigger_no_longer_holds() -> None:
    """130 tokens, 80 % of 100: 1 (120), 2-4 (90), 5 (80)."""
    assert left("af_net_truncation", minimum_preserved_groups=2) == [0, *range(6, 13)]


def test_truncation_keeps_its_floor_of_groups_that_are_no_system_messages() -> None:
    assert left("af_net_truncation") == list(range(13))
    found = run("af_net_truncation", minimum_preserved_groups=6)
    assert [m.seq for m in found.messages] == [0, *range(5, 13)]
    assert found.flags == ("floor_reached",)


def test_truncation_has_a_target_apart_from_its_trigger() -> None:
    params = {"trigger": "tokens>100", "target": "tokens<60", "minimum_preserved_groups": 1}
    assert left("af_net_truncation", **params) == [0, 9, 10, 11, 12]
    assert left("af_net_truncation", **{**params, "trigger": "tokens>200"}) == [0, 9, 10, 11, 12]
    assert left("af_net_truncation", **{**params, "trigger": "tokens>200"}, forced=False) == list(range(13))


def test_one_group_that_triggers_with_its_target_reached_goes_because_the_target_is_asked_afterwards() -> None:
    params = {"trigger": "always", "target": "tokens<1000", "minimum_preserved_groups": 1}
    assert left("af_net_truncation", **params) == [0, *range(2, 13)]


def test_a_history_of_a_single_group_stays() -> None:
    assert left("af_net_truncation", talk("s u"), trigger="always", minimum_preserved_groups=0) == [0, 1]


def test_truncation_may_drop_a_summary() -> None:
    messages = (Message("assistant", "[Summary]\nx", covers=(0, 1), tokens=50), *talk("u a u", first_seq=2))
    assert left("af_net_truncation", messages, trigger="tokens>40", minimum_preserved_groups=1) == [2, 3, 4]


# sliding window


def test_sliding_stops_at_any_target_and_keeps_its_floor_of_turns() -> None:
    messages = talk("s a u a u a u a")
    assert left("af_net_sliding", messages, trigger="tokens>60") == [0, 1, 4, 5, 6, 7]
    assert left("af_net_sliding", messages, trigger="tokens>10", minimum_preserved_turns=2) == [0, 1, 4, 5, 6, 7]
    assert left("af_net_sliding", messages, trigger="always", target="turns<3") == [0, 1, 4, 5, 6, 7]


def test_sliding_keeps_a_summary_because_it_belongs_to_no_turn() -> None:
    messages = (Message("assistant", "[Summary]\nx", covers=(0, 1), tokens=50), *talk("u a u", first_seq=2))
    assert left("af_net_sliding", messages, keep_last_turns=1, session=talk("u a u a u")) == ["[Summary]\nx", 4]


# tool results


def test_tool_results_are_listed_by_tool_whole_and_in_the_place_of_their_group() -> None:
    found = run("af_net_tool_result", trigger="tokens>10", minimum_preserved_groups=5)
    assert [m.seq if m.seq is not None else (m.role, m.text, m.covers) for m in found.messages] == [
        0,
        1,
        ("assistant", FIRST, (2, 3, 4)),
        *range(5, 13),
    ]


def test_the_floor_of_tool_results_counts_groups_of_any_kind() -> None:
    """Eight groups are no system messages; before the last six there is one with calls."""
    assert left("af_net_tool_result", trigger="tokens>10", minimum_preserved_groups=6)[2] == FIRST
    assert left("af_net_tool_result", trigger="tokens>10", minimum_preserved_groups=7) == list(range(13))
    assert left("af_net_tool_result", trigger="tokens>10") == list(range(13))


def test_tool_results_stop_at_their_target() -> None:
    """The first group falls from 30 tokens to 12."""
    assert left("af_net_tool_result", trigger="tokens>115", minimum_preserved_groups=0)[2:] == [FIRST, *range(5, 13)]


def test_results_are_matched_by_id_and_without_one_by_order_and_names_are_listed_once() -> None:
    def text(*messages: Message) -> str:
        said = tuple(replace(m, seq=n, tokens=10) for n, m in enumerate(messages))
        last = talk("u", first_seq=len(said))
        return str(left("af_net_tool_result", (*said, *last), trigger="always", minimum_preserved_groups=1)[0])

    assert text(calls("weather", "docs"), result("3 docs", "c1"), result("sunny", "c0")) == (
        "[Tool Calls]\nweather:\n  - sunny\ndocs:\n  - 3 docs"
    )
    assert text(calls("weather", "weather"), result("sunny"), result("rain")) == (
        "[Tool Calls]\nweather:\n  - sunny\n  - rain"
    )
    assert text(calls("a", "b", "a"), result("1", "c0"), result("", "c1"), result("lost", "zz"), result("2")) == (
        "[Tool Calls]\na:\n  - 1\n  - 2\nb:"
    )


def test_results_have_no_cap_and_lose_their_arguments() -> None:
    long = (replace(talk("a1")[0]), replace(talk("a1")[1], text="x" * 9000), *talk("u", first_seq=2))
    text = str(left("af_net_tool_result", long, trigger="always", minimum_preserved_groups=1)[0])
    assert text == "[Tool Calls]\nread:\n  - " + "x" * 9000
    assert run("af_net_tool_result", long, trigger="always", minimum_preserved_groups=1).flags == (
        "floor_reached",
        "grew",
    )


def test_the_documentations_text_has_the_names_alone() -> None:
    params = {"trigger": "tokens>10", "minimum_preserved_groups": 5, "text": "names"}
    assert left("af_net_tool_result", **params)[2] == "[Tool calls: read, read]"


# summarisation


def test_the_summary_stands_where_the_first_message_stood_that_it_covers() -> None:
    found = run("af_net_summarization", talk("u s u a1 a u"), trigger="tokens>10", minimum_preserved_groups=2)
    assert [m.seq if m.seq is not None else (m.role, m.text, m.covers) for m in found.messages] == [
        ("assistant", "[Summary]\nSUMMARY 1", (0, 2, 3, 4)),
        1,
        5,
        6,
    ]


def test_the_summariser_is_shown_the_messages_themselves_after_one_system_prompt() -> None:
    summarizer = ScriptedSummarizer()
    params = {"trigger": "tokens>10", "minimum_preserved_groups": 3}
    compact(history(SESSION, summarizer=summarizer), make_method("af_net_summarization", params))
    (request,) = summarizer.requests
    assert request.prompt[0].role == "system"
    assert request.prompt[1:] == request.span == SESSION[1:9]


def test_summarisation_stops_marking_at_its_target_and_keeps_eight_groups() -> None:
    assert left("af_net_summarization", trigger="tokens>100", minimum_preserved_groups=0)[1:] == [
        "[Summary]\nSUMMARY 1",
        *range(5, 13),
    ]
    assert left("af_net_summarization", trigger="tokens>100") == list(range(13))
    assert left("af_net_summarization", talk("u a a a a a a a a a"), trigger="tokens>1") == [
        "[Summary]\nSUMMARY 1",
        *range(2, 10),
    ]


def test_a_blank_summary_takes_the_place_of_the_history_under_faithful_and_fails_under_valid() -> None:
    params = {"trigger": "tokens>10", "minimum_preserved_groups": 2, "handler": blank}
    found = run("af_net_summarization", **params, mode="faithful")
    assert [m.seq if m.seq is not None else m.text for m in found.messages] == [
        0,
        "[Summary]\n[Summary unavailable]",
        11,
        12,
    ]
    assert "blank_summary" in found.flags
    with pytest.raises(SummaryError, match="blank"):
        run("af_net_summarization", **params)


def test_a_summary_that_fails_restores_everything_in_either_mode() -> None:
    for mode in ("faithful", "valid"):
        with pytest.raises(SummaryError, match="not reachable"):
            run("af_net_summarization", trigger="tokens>10", minimum_preserved_groups=2, handler=failing, mode=mode)


def test_an_earlier_summary_is_summarised_again_with_what_came_since_and_not_alone() -> None:
    params = {"trigger": "tokens>10", "minimum_preserved_groups": 1}
    once = run("af_net_summarization", talk("u a u"), **params).messages
    assert run("af_net_summarization", once, **params).messages == once
    again = run("af_net_summarization", (*once, *talk("a u", first_seq=3)), **params)
    assert [(m.seq, m.covers) for m in again.messages] == [(None, (0, 1, 2, 3)), (4, ())]


# pipeline


PIPELINE = {"tool_result_floor": 1, "summarization_floor": 4, "truncation_floor": 2}


def test_each_step_of_the_pipeline_asks_its_own_trigger() -> None:
    """Sizes of the documentation: a short session is below all of them."""
    assert left("af_net_pipeline", **PIPELINE) == list(range(13))
    assert left("af_net_pipeline", **PIPELINE, tool_result_trigger="tokens>100")[2] == FIRST
    summarised = left("af_net_pipeline", **PIPELINE, summarization_trigger="tokens>50")
    assert summarised == [0, "[Summary]\nSUMMARY 1", *range(7, 13)]
    assert left("af_net_pipeline", **PIPELINE, sliding_trigger="turns>1") == [0, 12]
    assert left("af_net_pipeline", **PIPELINE, truncation_trigger="tokens>50") == [0, *range(9, 13)]


def test_a_summary_of_the_pipeline_outlives_its_sliding_window() -> None:
    found = left("af_net_pipeline", **PIPELINE, summarization_trigger="tokens>50", sliding_trigger="turns>1")
    assert found == [0, "[Summary]\nSUMMARY 1", 12]


def test_a_summary_that_fails_leaves_its_step_out_under_faithful_only() -> None:
    params = {**PIPELINE, "summarization_trigger": "tokens>50", "sliding_trigger": "turns>1", "handler": failing}
    found = run("af_net_pipeline", **params, mode="faithful")
    assert [m.seq for m in found.messages] == [0, 12]
    assert "summary_failed" in found.flags
    with pytest.raises(SummaryError):
        run("af_net_pipeline", **params)


def test_a_floor_is_no_negative_number() -> None:
    with pytest.raises(StrategyError, match="minimum_preserved_groups must be at least 0, not -1"):
        run("af_net_truncation", minimum_preserved_groups=-1)

"""The Complexity Trap's checkpoints by hand: golden vectors worked out from the original's source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from compaction import CompactedContext, Message, StrategyError, SummaryError, SummaryRequest, compact, make_method
from compaction.testing import ScriptedSummarizer, failing, history, talk


def turns(number: int) -> tuple[Message, ...]:
    """System prompt, task, and turns of one call each: turn t has the positions 2t and 2t + 1."""
    return talk("s u " + "a1 " * number)


def run(
    messages: tuple[Message, ...],
    strategy: str = "complexity_trap_summary",
    handler: Callable[[SummaryRequest], str] | None = None,
    earlier_cuts: tuple[int, ...] = (),
    **params: Any,
) -> tuple[CompactedContext, list[SummaryRequest]]:
    model = ScriptedSummarizer(handler)
    given = history(messages, summarizer=model, earlier_cuts=earlier_cuts)
    return compact(given, make_method(strategy, {"n": 3, "keep_last_m_turns": 2, **params})), model.requests


def checkpoints(found: CompactedContext) -> list[str]:
    return [m.text.partition("\n")[2].removeprefix("SUMMARY ") for m in found.messages if m.seq is None]


def kept(found: CompactedContext) -> list[int]:
    return [m.seq for m in found.messages if m.seq is not None]


@pytest.mark.parametrize(
    ("number", "shown", "first_kept"),
    [
        (4, [], 1),
        (5, ["1"], 4),
        (6, ["1"], 4),
        (7, ["1"], 4),
        (8, ["2"], 7),
        (9, ["1", "2"], 7),
        (10, ["1", "2"], 7),
        (11, ["3"], 10),
        (12, ["1", "2", "3"], 10),
    ],
)
def test_only_the_call_that_writes_a_checkpoint_shows_it_alone(number: int, shown: list[str], first_kept: int) -> None:
    """n=3, m=2, by turn: the oscillation of static checkpointing."""
    found, _ = run(turns(number), forced=False)
    assert checkpoints(found) == shown
    assert kept(found) == [0, 1, *range(2 * first_kept, 2 * number + 2)]


@pytest.mark.parametrize("number", [5, 7, 8, 9, 12])
def test_fixed_shows_the_newest_alone_in_every_call(number: int) -> None:
    found, requests = run(turns(number), forced=False, mode="fixed")
    assert checkpoints(found) == [str(len(requests))]
    assert kept(found) == kept(run(turns(number), forced=False)[0])


def test_a_point_forces_a_checkpoint_for_all_but_the_last_m_turns() -> None:
    found, _ = run(turns(4))
    assert kept(found) == [0, 1, 6, 7, 8, 9]
    assert found.messages[2].text == "Checkpoint for the last 2 turns:\nSUMMARY 1"
    assert (found.messages[2].role, found.messages[2].covers) == ("assistant", (2, 3, 4, 5))
    assert run(turns(2))[1] == []


def test_what_fell_due_before_a_point_is_written_first_and_all_checkpoints_are_seen_after_it() -> None:
    found, requests = run(turns(9))
    assert [len(request.span) for request in requests] == [7, 6, 2]
    assert checkpoints(found) == ["1", "2", "3"]
    assert found.messages[4].text.startswith("Checkpoint for the last 1 turns:\n")
    assert checkpoints(run(turns(9), mode="fixed")[0]) == ["3"]


def test_the_first_checkpoint_is_written_from_the_problem_and_later_ones_from_the_one_before() -> None:
    _, (first, second) = run(turns(8), forced=False)
    assert first.prompt[1].text.startswith(
        "<PROBLEM_STATEMENT>\nuser 1\n</PROBLEM_STATEMENT>\n\n<TURN-0>\nASSISTANT: assistant 2\n"
        'ACTION: read {"path": "file0.py"}\nTOOL: result 3\n\n</TURN-0>\n\n<TURN-1>\n'
    )
    assert second.prompt[1].text.startswith(
        "<PREVIOUS_CHECKPOINT>\nCheckpoint for the last 3 turns:\nSUMMARY 1\n</PREVIOUS_CHECKPOINT>\n\n<TURN-0>\n"
    )
    assert (first.previous, second.previous) == ("", "Checkpoint for the last 3 turns:\nSUMMARY 1")
    assert [m.seq for m in second.span] == [8, 9, 10, 11, 12, 13]
    assert "TASK_TRACKING" not in {section.title for section in first.sections}


def test_in_a_chain_the_requests_and_what_is_left_are_those_of_the_whole_session() -> None:
    for mode in ("faithful", "fixed"):
        whole, requests = run(turns(9), earlier_cuts=(10,), mode=mode)
        model = ScriptedSummarizer()
        method = make_method("complexity_trap_summary", {"n": 3, "keep_last_m_turns": 2, "mode": mode})
        first = compact(history(turns(9)[:10], summarizer=model), method).messages
        second = compact(history((*first, *turns(9)[10:]), summarizer=model, session=turns(9)), method)
        assert [r.prompt for r in model.requests] == [r.prompt for r in requests]
        assert second.messages == whole.messages


def test_later_user_messages_and_bare_answers_are_gone_under_faithful_and_stay_with_their_turn_under_fixed() -> None:
    messages = talk("s u a1 u a a1 a1 u a1 a")
    assert run(messages)[0].dropped == {4, 5, 10, 13}
    found, (request,) = run(messages, mode="fixed")
    assert found.dropped == set()
    assert found.messages[2].covers == (2, 3, 4, 5, 6, 7)
    assert kept(found) == [0, 1, *range(8, 14)]
    assert "\nUSER: user 4\n" in request.prompt[1].text


def test_parallel_calls_are_one_turn_and_what_is_said_before_the_first_turn_stays() -> None:
    found, _ = run(talk("s u u a2 a3 a1 a1"))
    assert kept(found) == [0, 1, 2, 10, 11, 12, 13]
    assert found.messages[3].text.startswith("Checkpoint for the last 2 turns:")


def test_fixed_never_parts_a_late_result_from_its_call_and_faithful_says_that_it_did() -> None:
    asks, other = talk("c", first_seq=4)[0], talk("c", first_seq=5)[0]
    late = Message("tool", "one", tool_call_id=asks.tool_calls[0].id, seq=6, tokens=10)
    messages = (*talk("s u a1"), asks, other, late, *talk("a1", first_seq=7))
    found, _ = run(messages)
    assert kept(found) == [0, 1, 5, 6, 7, 8]
    assert found.flags == ("invalid_context",)
    assert run(messages, mode="fixed")[0].messages == messages


def test_the_hybrid_masks_older_results_of_what_stays_and_shows_the_summariser_whole_ones() -> None:
    found, _ = run(turns(7), "complexity_trap_hybrid", keep_last_m_turns=4, mask_n=2)
    texts = [m.text for m in found.messages if m.role == "tool"]
    assert texts == ["Old environment output: (1 lines omitted)"] * 2 + ["result 13", "result 15"]
    model = ScriptedSummarizer()
    method = make_method("complexity_trap_hybrid", {"n": 3, "keep_last_m_turns": 4, "mask_n": 2})
    left = compact(history(turns(7), summarizer=model), method).messages
    longer = turns(9)
    compact(history((*left, *longer[16:]), summarizer=model, session=longer), method)
    assert "omitted" not in model.requests[-1].prompt[1].text


def test_reasoning_is_no_part_of_a_turn() -> None:
    messages = turns(4)
    thinking = (*messages[:2], replace(messages[2], reasoning="hidden"), *messages[3:])
    _, (request,) = run(thinking)
    assert "hidden" not in request.prompt[1].text
    assert not any(m.reasoning for m in request.span)


def test_omitted_turns_need_no_model() -> None:
    found, requests = run(turns(6), handler=failing, omit_turns=True)
    assert found.messages[2].text == "Previous 3 turns omitted for brevity."
    assert found.messages[3].text == "Previous 1 turns omitted for brevity."
    assert requests == []
    assert (
        compact(
            history(found.messages),
            make_method(
                "complexity_trap_summary",
                {
                    "n": 3,
                    "keep_last_m_turns": 2,
                    "omit_turns": True,
                },
            ),
        ).messages
        == found.messages
    )


def test_a_blank_checkpoint_is_taken_under_faithful_only_and_a_failure_never() -> None:
    found, _ = run(turns(4), handler=lambda request: "")
    assert found.messages[2].text == "Checkpoint for the last 2 turns:\n"
    assert found.flags == ("blank_summary",)
    with pytest.raises(SummaryError, match="blank"):
        run(turns(4), handler=lambda request: "", mode="fixed")
    with pytest.raises(SummaryError, match="not reachable"):
        run(turns(4), handler=failing)


@pytest.mark.parametrize("params", [{"n": 0}, {"keep_last_m_turns": -1}])
def test_parameters_that_the_original_refuses_are_refused(params: dict[str, int]) -> None:
    with pytest.raises(StrategyError, match="must be at least"):
        run(turns(4), **params)

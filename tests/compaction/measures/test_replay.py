"""Replays of a short session that is worked out by hand, call by call."""

from __future__ import annotations

import re
from pathlib import Path

from compaction import History, Message, parse_method
from compaction.measures.replay import ReplayedCall, replay_calls
from compaction.registry import REGISTRY
from compaction.tokens import LengthCounter


def said(role: str, tokens: int, seq: int, text: str = "") -> Message:
    return Message(role, text or f"{role} {seq}", seq=seq, tokens=tokens)  # type: ignore[arg-type]


SESSION = [
    said("user", 100, 0),
    said("assistant", 10, 1),
    said("tool", 500, 2),
    said("assistant", 20, 3),
    said("assistant", 5, 4),  # the same answer goes on
    said("tool", 300, 5),
    said("assistant", 30, 6),
]


def test_without_compaction_every_call_is_sent_all_and_the_call_before_is_cached() -> None:
    found = replay_calls(SESSION, {})
    assert found == [
        ReplayedCall(1, 100, 0, 10),
        ReplayedCall(3, 610, 100, 25),  # 100 + 10 + 500; the answer of 10 was not sent before
        ReplayedCall(6, 935, 610, 30),  # 610 + 20 + 5 + 300
    ]


def test_a_summary_breaks_the_prefix_once() -> None:
    summary = Message("user", "so far", tokens=40, covers=(1, 2))
    found = replay_calls(SESSION, {3: [SESSION[0], summary]})
    assert found == [
        ReplayedCall(1, 100, 0, 10),
        ReplayedCall(3, 140, 100, 25),  # the person's message stands at the beginning of both
        ReplayedCall(6, 465, 140, 30),  # 140 + 25 + 300
    ]


def test_a_mask_that_moves_breaks_the_prefix_at_what_it_masks() -> None:
    def masked(cut: int) -> list[Message]:
        """All but the last tool result are masked, each with 3 tokens in place of its own."""
        results = [m.seq for m in SESSION[:cut] if m.role == "tool"]
        return [said("tool", 3, m.seq, "masked") if m.seq in results[:-1] else m for m in SESSION[:cut]]

    found = replay_calls(SESSION, {}, masked)
    assert [(call.input_tokens, call.cached_tokens) for call in found] == [
        (100, 0),
        (610, 100),
        (438, 110),  # 100 + 10 + 3 + 25 + 300: the result of 500 is masked, so what follows it is written anew
    ]


def test_a_compaction_within_an_answer_parts_it_and_the_last_of_two_holds() -> None:
    found = replay_calls(SESSION, {2: [], 3: [SESSION[0]], 4: [SESSION[0], SESSION[3]]})
    assert [(call.seq, call.input_tokens, call.cached_tokens, call.output_tokens) for call in found] == [
        (1, 100, 0, 10),
        (3, 100, 100, 20),
        (4, 120, 100, 5),
        (6, 425, 120, 30),
    ]


def test_calls_of_another_session_are_replayed_and_not_counted() -> None:
    assert replay_calls(SESSION, {}, first=3) == replay_calls(SESSION, {})[1:]


def test_methods_that_work_at_every_turn_ask_nobody_and_leave_what_they_promise_of_any_history() -> None:
    counter = LengthCounter()
    ids = [id for id, strategy in REGISTRY.items() if strategy.every_turn]
    assert {"mask_sweagent", "tool_fifo", "autogen_head_tail"} <= set(ids)
    for id in ids:
        method = parse_method(id)
        assert method.needs == "nothing"
        for cut in range(1, len(SESSION)):
            assert len(method.run(History(tuple(SESSION[:cut]), counter, 1_000))) <= cut + 1


def test_the_docs_name_the_methods_that_work_at_every_turn() -> None:
    page = (Path(__file__).parents[3] / "docs" / "replay-cost.md").read_text("utf-8")
    said = page.partition("a view at every call (")[2].partition(")")[0]
    assert set(re.findall(r"`(\w+)`", said)) == {id for id, one in REGISTRY.items() if one.every_turn}

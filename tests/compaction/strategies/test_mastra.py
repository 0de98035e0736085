"""Observational memory by hand: what is observed together, what stays, and when the log is written anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compaction import Message, SummaryRequest, compact, make_method
from compaction.compact import CompactedContext
from compaction.strategies.mastra import CLOSING, OPENING
from compaction.testing import ScriptedSummarizer, history, talk

SAID = talk("s u a a1 a a a a")
"""Nine messages of 10 tokens; a call at 3."""


def observe(request: SummaryRequest) -> str:
    seqs = [m.seq for m in request.span]
    return f"## Observations\n- saw {seqs}\n\n## Current task\n- after {seqs[-1]}"


def run(messages: tuple[Message, ...], model: ScriptedSummarizer, **params: Any) -> CompactedContext:
    given = {"message_tokens": 100, "buffer_share": 0.3, "kept_share": 0.2, **params}
    return compact(history(messages, summarizer=model), make_method("mastra_observational", given))


def log_of(found: CompactedContext) -> str:
    [made] = [m for m in found.messages if m.seq is None]
    return made.text.removeprefix(OPENING).removesuffix(CLOSING)


def test_all_but_the_newest_is_observed_in_stretches_that_part_no_call() -> None:
    model = ScriptedSummarizer(observe)
    found = run(SAID, model, buffer_share=0.2)
    assert [m.seq for m in found.messages] == [0, None, 7, 8]
    assert [[m.seq for m in request.span] for request in model.requests] == [[1, 2], [3, 4], [5, 6]]
    assert log_of(found) == "- saw [1, 2]\n\n- saw [3, 4]\n\n- saw [5, 6]\n\n## Current task\n- after 6"
    assert found.messages[1].covers == (1, 2, 3, 4, 5, 6)
    assert "- saw [1, 2]" in model.requests[1].prompt[-1].text
    assert model.requests[1].previous == ""
    assert run(found.messages, model).messages == found.messages


def test_in_a_chain_the_log_goes_on() -> None:
    model = ScriptedSummarizer(observe)
    first = run(SAID, model)
    again = run((*first.messages, *talk("a a", first_seq=9)), model)
    assert [m.seq for m in again.messages] == [0, None, 9, 10]
    assert log_of(again).startswith(log_of(first).partition("\n\n## ")[0])
    assert log_of(again).endswith("- saw [7, 8]\n\n## Current task\n- after 8")
    assert again.messages[1].covers == tuple(range(1, 9))


def test_observations_are_dated_by_their_first_time() -> None:
    said = tuple(replace(m, timestamp=f"2026-03-0{1 + (m.seq or 0) // 4}T10:00:00Z") for m in SAID)
    log = log_of(run(said, ScriptedSummarizer(observe), buffer_share=0.2))
    assert log.startswith("Date: 2026-03-01\n- saw [1, 2]\n\n- saw [3, 4]\n\nDate: 2026-03-02\n- saw [5, 6]")


def test_a_log_that_is_too_long_is_written_anew() -> None:
    model = ScriptedSummarizer(observe)
    found = run(SAID, model, observation_tokens=4)
    assert "reflected" in found.flags
    assert [request.max_tokens for request in model.requests] == [1500, 2, 1500, 2]
    assert log_of(found) == "- saw [None]\n\n## Current task\n- after None"


def test_unforced_it_waits_for_its_threshold_and_nothing_new_is_no_observation() -> None:
    model = ScriptedSummarizer(observe)
    assert run(SAID, model, forced=False).messages == SAID
    assert model.requests == []
    silent = ScriptedSummarizer(lambda request: "## Observations\n- (none)")
    assert log_of(run(SAID, silent)) == "\n\n## Current task\n- (none)"

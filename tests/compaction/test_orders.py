"""What a method leaves does not depend on what other methods have done with the same messages before."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from compaction import CompactedContext, Message, Method, NotApplicable, SummaryError, compact, make_method
from compaction.reading.file_effects import ToolResults
from compaction.strategies import file_index, retrieval
from compaction.strategy import History
from compaction.summarizers.extractive import EmbeddedSummarizer
from compaction.testing import ScriptedProvider, natives_of
from compaction.tokens import counted
from flows.sources import discover, read_input
from tests.compaction.histories import COUNTER, build, compacted, random_words, varied
from tests.compaction.shipped import SHIPPED

SAMPLE = Path(__file__).parents[2] / "flows" / "samples" / "logquery.jsonl"
METHODS = {
    **SHIPPED,
    **{
        method.name: method
        for method in (
            make_method("clear_tool_uses", {"keep": 0, "clear_tool_inputs": True}),
            make_method("anthropic_clear", {"keep": 0, "clear_tool_inputs": True}),
            make_method("mask_openhands_v0", {"attention_window": 2, "mode": "valid"}),
            make_method("mask_openhands_v0", {"attention_window": 2}),
            make_method("mask_seed", {"attention_window": 2}),
            make_method("mask_sweagent", {"n": 1}),
            make_method("inspect_edit", {"keep_tool_uses": 0}),
            make_method("opencode_summary", {"prune": True, "prune_protect": 10, "prune_minimum": 1}),
        )
    },
}
"""As shipped, and with parameters that leave few results as they were."""


@cache
def sample() -> tuple[Message, ...]:
    (found,) = discover([str(SAMPLE)])
    (transcript,) = read_input(found).transcripts
    return tuple(counted(message, COUNTER) for message in transcript.messages)


def outcome(method: Method, messages: Sequence[Message]) -> Any:
    """What a method leaves of some messages, by value."""
    said = tuple(messages)
    total = sum(message.tokens or 0 for message in said)
    provider = ScriptedProvider()
    history = History(
        said,
        COUNTER,
        max(total // 3, 1),
        (len(said) // 2,),
        EmbeddedSummarizer(COUNTER),
        recorded=tuple(compacted(said)),
        natives=natives_of(provider),
    )
    try:
        found: CompactedContext = compact(history, method)
    except (SummaryError, NotApplicable) as reason:
        return type(reason), str(reason)
    return replace(found, calls=())


HISTORIES = [f"seed {seed}" for seed in range(5)] + ["sample"]


@pytest.mark.parametrize("name", HISTORIES)
def test_all_methods_in_any_order_leave_what_each_leaves_alone(name: str) -> None:
    seed = HISTORIES.index(name)
    messages = sample() if name == "sample" else varied(build(random_words(seed) + ["call2", "result"] * 10))
    alone = {id: outcome(method, [replace(m) for m in messages]) for id, method in METHODS.items()}
    for order in range(3):
        ids = list(METHODS)
        random.Random(f"{name} {order}").shuffle(ids)
        for id in ids:
            assert outcome(METHODS[id], messages) == alone[id], f"{id} after {ids[: ids.index(id)]}"


def test_threads_that_index_one_session_leave_one_index(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = varied(build(random_words(1) * 10))
    method = make_method("retrieval_bm25")
    expected = outcome(method, [replace(m) for m in messages])
    add = retrieval.Index.add

    def slow(index: retrieval.Index, more: Sequence[Message]) -> None:
        for message in list(more):
            add(index, (message,))
            pauses.wait(0.0001)

    pauses = Event()
    monkeypatch.setattr(retrieval.Index, "add", slow)
    found: list[Any] = []
    threads = [Thread(target=lambda: found.append(outcome(method, messages))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_the_files_of_a_point_stay_those_of_the_point_when_another_thread_reads_on() -> None:
    messages = sample()
    early = messages[: len(messages) // 2]
    ops, calls = file_index.read_files(early, ToolResults(early))
    before = list(ops), dict(calls)
    file_index.read_files(messages, ToolResults(messages))
    assert (ops, calls) == before
    assert before[0]

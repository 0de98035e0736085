"""How the time of every strategy grows with the length of a session, and what all of them cost at every point.

The exponents are slopes of log(CPU seconds) and of log(function calls) over log(messages), from a tenth of the longest
session to the whole: 1 is linear, 2 quadratic. Seconds also grow where a session no longer fits into the processor's
caches; calls do not. Python's garbage collector rests meanwhile: its full passes walk over every message that lives, so
that their cost depends on what else is in memory. ``COMPACTION_EVAL_BENCH_MESSAGES`` sets the longest session (50,000
by default).
"""

from __future__ import annotations

import cProfile
import gc
import math
import os
import pstats
import time
from dataclasses import replace

import pytest

from compaction import History, Message, Method, NotApplicable, TiktokenCounter, ToolCall, Transcript, compact, counted
from compaction.methods import load_registry, make_method
from compaction.points import PointsSpec, find_points
from compaction.summarizers.extractive import EmbeddedSummarizer
from compaction.tokens import counted_text

COUNTER = TiktokenCounter()


def session(length: int) -> Transcript:
    """Rounds of a request, calls, results and answers, with files, errors and decisions in them."""
    messages: list[Message] = [Message("system", "You are an agent that repairs mills.")]
    while len(messages) < length:
        turn = len(messages)
        if turn % 40 == 1:
            messages.append(Message("user", f"Now repair wheel {turn}: it squeaks, and the log says why."))
        call = ToolCall(f"call_{turn:09d}", "Bash", f'{{"command": "cat src/wheel_{turn % 97}.py && pytest -q"}}')
        said = f"I decided to oil wheel {turn}, because the bearing of part {turn % 31} is dry."
        messages.append(Message("assistant", said, tool_calls=(call,)))
        output = f"def wheel_{turn}():\n    return {turn}\n" * 6 + (
            "FAILED test_wheel - KeyError: 'oil'" if turn % 3 else "ok"
        )
        messages.append(Message("tool", output, tool_call_id=call.id, tool_name="Bash", is_error=turn % 3 == 0))
    done = tuple(counted(replace(message, seq=seq), COUNTER) for seq, message in enumerate(messages[:length]))
    return Transcript("bench", done)


def methods() -> list[Method]:
    return [make_method(name) for name, strategy in sorted(load_registry().items()) if strategy.needs != "key"]


def seconds(method: Method, messages: tuple[Message, ...]) -> float | None:
    history = History(messages, COUNTER, 32_000, summarizer=EmbeddedSummarizer(COUNTER), session=messages)
    gc.disable()
    start = time.process_time()
    try:
        compact(history, method)
    except NotApplicable:
        return None
    finally:
        gc.enable()
    return time.process_time() - start


def best(method: Method, messages: tuple[Message, ...]) -> float | None:
    """The shortest of three, each over messages of its own: what is known by identity must not help."""
    found = []
    for _ in range(3):
        fresh = tuple(replace(message) for message in messages)
        gc.collect()
        found.append(seconds(method, fresh))
        if found[-1] is None or found[-1] > 10:
            break
    return None if None in found else min(one for one in found if one is not None)


def calls(method: Method, messages: tuple[Message, ...]) -> int:
    """Count the function calls of a compaction, C functions among them."""
    with cProfile.Profile() as profile:
        seconds(method, messages)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_the_time_of_a_strategy_over_the_length_of_a_session() -> None:
    longest = int(os.environ.get("COMPACTION_EVAL_BENCH_MESSAGES", "50000"))
    lengths = [longest // 100, longest // 10, longest]
    histories = [session(length).messages for length in lengths]
    print(f"\n{'seconds at messages:':44}" + "".join(f"{length:>9,}" for length in lengths) + "  exponent  of calls")
    for method in methods():
        found = []
        for messages in histories:
            found.append(best(method, messages))
            if found[-1] is not None and found[-1] > 120:
                break
        if None in found or len(found) < 2:
            continue
        known = [max(value, 1e-6) for value in found if value is not None]
        grown = histories[len(known) - 2 : len(known)]
        of_calls = math.log10(calls(method, grown[1]) / calls(method, grown[0]))
        shown = "".join(f"{value:9.3f}" for value in known)
        print(f"{method.name:44}{shown}{math.log10(known[-1] / known[-2]):10.2f}{of_calls:10.2f}", flush=True)


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_all_strategies_without_a_model_at_every_point_of_a_long_session() -> None:
    transcript = session(5_000)
    counter = TiktokenCounter()  # one that has not seen the texts
    start = time.perf_counter()
    for message in transcript.messages:
        counter.count(counted_text(message))
    one_pass = time.perf_counter() - start
    points = find_points(transcript, PointsSpec())
    total = 0.0
    for method in methods():
        if method.needs == "nothing":
            for point in points:
                total += seconds(method, transcript.messages[: point.cut_seq]) or 0.0
    print(f"\n5,000 messages, {len(points)} points: one tiktoken pass {one_pass:.2f} s, all strategies {total:.2f} s")
    print(f"= {total / one_pass:.1f} passes, {total / one_pass / max(1, len(points)):.2f} a point")


def test_the_generated_session_has_points_and_a_strategy_can_be_timed() -> None:
    transcript = session(2_000)
    assert find_points(transcript, PointsSpec("tokens", 8_000))
    assert (seconds(make_method("head_tail"), transcript.messages) or 0) > 0

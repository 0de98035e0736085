"""CPU of a compaction by an original and by ours, on the same histories, in turns.

The original's own part is timed alone, without the conversion of messages that our adapter does around it; ours is
timed whole. An original that is not installed is left out.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any
from unittest.mock import patch

from compaction import Message, Method, compact, parse_method
from compaction.testing import ScriptedSummarizer, history
from flows.sources import discover, read_input

ENDLESS = 10**9
ROUNDS = 5


@dataclass(frozen=True)
class Pair:
    """An original and what we made after it."""

    package: str
    theirs: str
    ours: str


@dataclass(frozen=True)
class Timed:
    """CPU milliseconds of one compaction."""

    pair: Pair
    version: str
    ours: float
    original: float
    adapted: float
    """The original with the conversion around it."""


_AF, _LC, _IN, _OH = "agent-framework-core", "langchain", "inspect-ai", "openhands-sdk"
PAIRS = (
    Pair(_AF, "agent_framework.SlidingWindowStrategy(keep_last_groups=3)", "af_py_sliding_window(keep_last_groups=3)"),
    Pair(_AF, "agent_framework.SelectiveToolCallCompactionStrategy", "af_py_selective_tool_call"),
    Pair(_AF, "agent_framework.ToolResultCompactionStrategy", "af_py_tool_result"),
    Pair(
        _AF,
        "agent_framework.SummarizationStrategy(max_summary_input_tokens=None)",
        "af_py_summarization(max_summary_input_tokens=None,forced=False)",
    ),
    Pair(_LC, "langchain.ClearToolUsesEdit", "clear_tool_uses"),
    Pair(
        _LC,
        "langchain.SummarizationMiddleware(keep=('messages',20),trim_tokens_to_summarize=None)",
        "langchain_summary(keep=20,mode=faithful)",
    ),
    Pair(_IN, "inspect_ai.CompactionTrim", "inspect_trim"),
    Pair(_IN, "inspect_ai.CompactionEdit", "inspect_edit"),
    Pair(_OH, "openhands.LLMSummarizingCondenser", "openhands_sdk"),
)
_CALLED = {
    _AF: ("compaction.adapters.agent_framework:run_awaitable",),
    _LC: (
        "compaction.adapters.langchain:_updated",
        "compaction.adapters.langchain:_viewed",
        "langchain.agents.middleware:ClearToolUsesEdit.apply",
    ),
    _IN: ("compaction.adapters.inspect_ai:run_awaitable",),
    _OH: ("openhands.sdk.context.condenser:LLMSummarizingCondenser.condense",),
}
"""Package → where its own work is called."""


class Watch:
    """CPU seconds within the functions that it wraps; one within another counts once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0

    def timing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.process_time() - start

        return timed


@contextmanager
def watching(package: str) -> Iterator[Watch]:
    """Time what the package itself does."""
    watch, patches = Watch(), []
    for place in _CALLED[package]:
        module, _, names = place.partition(":")
        *above, last = names.split(".")
        thing = reduce(getattr, above, import_module(module))
        patches.append(patch.object(thing, last, watch.timing(getattr(thing, last))))
    for one in patches:
        one.start()
    try:
        yield watch
    finally:
        for one in patches:
            one.stop()


def sample_histories() -> list[tuple[Message, ...]]:
    """The messages of the sample sessions, with their tokens counted roughly."""
    samples = discover([str(files("flows").joinpath("samples"))])
    return [transcript.messages for one in samples for transcript in read_input(one).transcripts]


def time_pairs(histories: Sequence[tuple[Message, ...]]) -> list[Timed]:
    """Time each original that is installed, and ours beside it."""
    warnings.simplefilter("ignore")  # the originals' own
    found = []
    for pair in PAIRS:
        try:
            known = version(pair.package)
        except PackageNotFoundError:
            continue
        ours, theirs = parse_method(pair.ours), parse_method(f"peer:{pair.theirs}")
        _compact_all(ours, histories)
        _compact_all(theirs, histories)  # imports, caches
        least = [float("inf")] * 3
        for _ in range(ROUNDS):
            with watching(pair.package) as watch:
                adapted = _compact_all(theirs, histories)
            least = [
                min(known_least, now)
                for known_least, now in zip(least, (_compact_all(ours, histories), watch.seconds, adapted), strict=True)
            ]
        a_compaction = [1000 * seconds / len(histories) for seconds in least]
        found.append(Timed(pair, known, *a_compaction))
    return found


def _compact_all(method: Method, histories: Sequence[tuple[Message, ...]]) -> float:
    """CPU seconds of one compaction of each history."""
    given = [history(one, budget=ENDLESS, summarizer=ScriptedSummarizer()) for one in histories]
    gc.collect()
    start = time.process_time()
    for one in given:
        compact(one, method)
    return time.process_time() - start

"""Ours on the histories of a recorder, round after round, in the form that the recorder writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compaction import Message, SummaryRequest, compact, make_method
from compaction.testing import ScriptedSummarizer, history
from tests.compaction.golden.rows import in_two, rows
from tests.compaction.histories import packed


def replay(run: dict[str, Any], messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """What our method leaves at each of the two compactions, and the messages that it shows its summariser.

    The n-th summary of the session is ``Sn``.
    """
    method = make_method(run["strategy"], run["params"])
    found: list[dict[str, Any]] = []
    left: tuple[Message, ...] = ()
    start = number = 0
    for cut in in_two(messages):
        model = ScriptedSummarizer(_numbered(number))
        given = history(
            (*left, *messages[start:cut]),
            session=messages[:cut],
            summarizer=model,
            budget=run.get("budget", 100),
        )
        left = compact(given, method).messages
        start, number = cut, number + len(model.requests)
        shown = [packed(rows(request.span, messages)) for request in model.requests]
        found.append({"left": packed(rows(left, messages)), "shown": shown})
    return found


def _numbered(before: int) -> Callable[[SummaryRequest], str]:
    numbers = iter(range(before + 1, before + 100))
    return lambda _: f"S{next(numbers)}"

"""Ours on the histories of a recorder, round after round, in the form that the recorder writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from compaction import Message, SummaryRequest, compact, make_method
from compaction.strategies.shared.parts import stands_for
from compaction.testing import ScriptedSummarizer, history
from tests.compaction.golden.rows import in_two, rows, text_row
from tests.compaction.histories import packed


def replay(run: dict[str, Any], messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """What our method leaves at each of the two compactions, and what it shows its summariser.

    The n-th summary of the session is ``Sn``, or as ``answer`` of the run says.
    """
    method = make_method(run["strategy"], run["params"])
    found: list[dict[str, Any]] = []
    left: tuple[Message, ...] = ()
    start = number = 0
    for cut in in_two(messages):
        model = ScriptedSummarizer(_numbered(run.get("answer", "S{}"), number))
        given = history(
            (*left, *messages[start:cut]),
            session=messages[:cut],
            summarizer=model,
            budget=run.get("budget", 100),
        )
        left = compact(given, method).messages
        start, number = cut, number + len(model.requests)
        shown = [_shown(run, request, messages) for request in model.requests]
        found.append({"left": packed(rows(left, messages)), "shown": shown})
    return found


def _shown(run: dict[str, Any], request: SummaryRequest, messages: tuple[Message, ...]) -> Any:
    """The messages of a request, or what it says of them where the peer writes them out as text."""
    text = request.prompt[-1].text
    if "<events>\n" in text:
        return text_row(text.split("<events>\n", 1)[1].rsplit("\n</events>", 1)[0])
    if run.get("shows") == "stretches":
        before = re.search(r"<previous_context>\n(.*)\n</previous_context>", text, re.DOTALL)
        spans = [stands_for([message]) for message in request.span]
        return [[span[0] if len(span) == 1 else [span[0], span[-1]] for span in spans], before and before[1]]
    if run.get("shows") == "transcript":
        transcript = text.split("<messages>\n", 1)[1].rpartition("\n</messages>")[0]
        return [text_row(transcript), request.previous or None]
    return text_row(text) if run.get("shows") == "text" else packed(rows(request.span, messages))


def _numbered(answer: str, before: int) -> Callable[[SummaryRequest], str]:
    numbers = iter(range(before + 1, before + 100))
    return lambda _: answer.format(next(numbers))

"""Our condenser against what openhands-sdk 1.58.0 did with the same histories (golden/openhands_sdk.json)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compaction import Message, SummaryError, SummaryRequest, compact, make_method
from compaction.strategies.shared.openhands_events import ERROR_HEADER, events_of, legal_cuts, view_of
from compaction.testing import CharacterCounter, ScriptedSummarizer, history
from tests.compaction.histories import build, digest, packed, varied

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "openhands_sdk.json").read_text(encoding="utf-8"))
CASES = {f"history {number}": case for number, case in enumerate(RECORDED["cases"])}
ENDLESS = 10**9


def messages_of(case: dict[str, Any]) -> tuple[Message, ...]:
    """The case's history, with the tokens that the peer counted: those of a failed result have the header's in them."""
    header = CharacterCounter().count(ERROR_HEADER)
    messages = varied(build(case["words"]))
    return tuple(
        replace(m, tokens=tokens - header if m.role == "tool" and m.is_error else tokens)
        for m, tokens in zip(messages, case["tokens"], strict=True)
    )


class Script(ScriptedSummarizer):
    """Answers as the peer's model was told to."""

    def __init__(self, answers: list[str]) -> None:
        super().__init__(self.answer)
        self.answers = answers

    def answer(self, request: SummaryRequest) -> str:
        number = len(self.requests)
        kind = self.answers[number - 1]
        if kind == "fail":
            raise SummaryError("overloaded")
        return "" if kind == "blank" else f"SUMMARY {number} " + "s" * 600


def outcome(messages: tuple[Message, ...], run: dict[str, Any]) -> dict[str, Any]:
    """What our strategy does, in the recording's form."""
    position = {id(message): i for i, message in enumerate(messages)}
    summarizer = Script(run.get("answers", ["ok"] * 3))
    cuts = () if run["cut"] is None else (run["cut"],)
    given = history(messages, budget=ENDLESS, summarizer=summarizer, earlier_cuts=cuts)
    found: dict[str, Any] = {"outcome": "condensed", "left": []}
    try:
        left = compact(given, make_method("openhands_sdk", run["params"])).messages
    except SummaryError:
        found["outcome"] = "failed"
    else:
        if left == messages:
            found["outcome"] = "unchanged"
        else:
            found["left"] = packed([position[id(m)] if id(m) in position else digest(m.text) for m in left])
    shown = [request.prompt[1].text for request in summarizer.requests]
    found["shown"] = [digest(text[: text.rindex("</EVENT>") + len("</EVENT>")]) for text in shown]
    return found


def events_behind(messages: tuple[Message, ...], thinking: bool) -> tuple[list[Any], list[Any]]:
    """Positions of the messages of a view's events, and the legal cuts."""
    position = {id(message): i for i, message in enumerate(messages)}
    view = view_of(events_of(history(messages), messages, thinking))
    return packed([position[id(event.messages[0])] for event in view]), packed(legal_cuts(view))


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_view_and_where_it_may_be_cut_are_the_peers(case: dict[str, Any]) -> None:
    for thinking, recorded in zip((True, False), case["views"], strict=True):
        assert events_behind(messages_of(case), thinking) == (recorded["view"], recorded["legal"])


def under_our_names(run: dict[str, Any]) -> str:
    """A failure leaves the history as it was; the peer also stops with an error where there is nothing to condense."""
    if run["outcome"] in ("crashed", "none available") and not run["shown"]:
        return "unchanged"
    return {"failed softly": "failed", "none available": "failed"}.get(run["outcome"], run["outcome"])


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_stays_and_what_the_summariser_is_shown_are_the_peers(case: dict[str, Any]) -> None:
    messages = messages_of(case)
    for run in case["runs"]:
        expected = {"outcome": under_our_names(run), "left": run["left"], "shown": run["shown"]}
        assert outcome(messages, run) == expected, run


def test_the_recorded_cases_exercise_what_they_are_for() -> None:
    runs = [run for case in CASES.values() for run in case["runs"]]
    outcomes = Counter(run["outcome"] for run in runs)
    assert outcomes["condensed"] > 400
    assert min(outcomes[name] for name in ("unchanged", "failed softly", "none available")) >= 10
    assert sum(len(run["shown"]) == 2 and run["cut"] is not None for run in runs) >= 20
    assert sum(len(run["shown"]) >= 3 and run["outcome"] == "condensed" for run in runs) >= 10
    assert sum("" in run["left"] for run in runs) >= 10
    views = [view for case in CASES.values() for view in case["views"]]
    assert len({json.dumps(view) for view in views}) > len(CASES)
    assert RECORDED["version"] == "1.58.0"

"""The estimated end of a run."""

from __future__ import annotations

import pytest

from flows.execution.run_estimate import EMBEDDED, earlier_seconds, format_left, seconds_left
from flows.support.resource_use import StageTime


def took(**seconds: float) -> list[StageTime]:
    return [StageTime(stage, "2026-01-01T00:00:00Z", seconds=n) for stage, n in seconds.items()]


def run(status: str = "done", study_key: str = "k", **seconds: float) -> dict[str, object]:
    stages = [{"stage": stage, "seconds": n} for stage, n in seconds.items()]
    return {"status": status, "study_key": study_key, "stages": stages}


def test_what_is_to_come_is_scaled_by_what_was_done() -> None:
    earlier = {"ingest": 10.0, "compact": 10.0, "answer": 30.0, "load": 10.0}
    assert seconds_left(took(ingest=20, compact=20), earlier) == pytest.approx(80)
    assert seconds_left(took(ingest=20, compact=20, answer=50), earlier) == pytest.approx(18)
    assert seconds_left(took(ingest=20, settle=99, compact=20), earlier) == pytest.approx(80)  # a stage of today alone


@pytest.mark.parametrize(
    "ended",
    [took(ingest=50), took(compact=0.1), took(score=60), took(compact=0.0, probe=0.0)],
    ids=["before compact", "nothing to do", "a backfill", "settled"],
)
def test_nothing_is_said_where_little_is_known(ended: list[StageTime]) -> None:
    assert seconds_left(ended, EMBEDDED) is None
    assert seconds_left(took(compact=60), {}) is None


def test_the_longest_finished_run_of_the_study_counts() -> None:
    runs = [
        run(compact=0.1, load=5.0),
        run(compact=40.0, load=6.0),
        run("killed", compact=400.0),
        run(study_key="other", compact=4000.0),
    ]
    assert earlier_seconds(runs, "k") == {"compact": 40.0, "load": 6.0}
    assert earlier_seconds(runs, "of nobody") == {}


def test_the_line_is_in_seconds_and_then_in_minutes() -> None:
    assert format_left(42.3) == "run: about 42 s left"
    assert format_left(250) == "run: about 4 min left"

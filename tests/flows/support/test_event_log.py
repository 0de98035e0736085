"""The structured log: one line an event, one an item where they are wanted, and nothing of what was said."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from flows.config.study import Study
from flows.pipeline.tasks.task_context import Tally, TaskTools, with_item_log
from flows.support import event_log
from flows.support.errors import UsageError
from flows.support.event_log import event, item, logging_to, unquoted_reason


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_events_are_appended_with_their_time_and_run(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for run_id in ("r1", "r2"):
        with logging_to(str(path), run_id):
            event("stage_ended", stage="answer", done=3, sessions=None)
            item("answer", answer_id="not wanted")
    first, second = lines(path)
    assert (first["run_id"], second["run_id"]) == ("r1", "r2")
    assert {key: first[key] for key in ("event", "stage", "done")} == {
        "event": "stage_ended",
        "stage": "answer",
        "done": 3,
    }
    assert str(first["time"]).endswith("+00:00")
    assert "sessions" not in first, "what has no value is left out"


def test_items_are_logged_where_they_are_wanted(tmp_path: Path) -> None:
    with logging_to(str(tmp_path / "log.jsonl"), "r1", items=True):
        item("answer", answer_id="a1", status="done")
    (line,) = lines(tmp_path / "log.jsonl")
    assert (line["event"], line["stage"], line["answer_id"]) == ("item", "answer", "a1")


def test_a_worker_sends_its_lines_with_the_tally() -> None:
    def task(root: str, study: Study, tools: TaskTools) -> Tally:
        tools.items.log("answer", answer_id="a1")
        return Tally(done=1)

    assert with_item_log(task, "store", Study()).items == [{"stage": "answer", "answer_id": "a1"}]
    assert not event_log.wants_items()


def test_a_dash_is_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    with logging_to("-", "r1"):
        event("run_started")
    assert json.loads(written.getvalue())["event"] == "run_started"


def test_a_file_that_cannot_be_written_is_bad_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--log"), logging_to(str(tmp_path / "none" / "log.jsonl"), "r1"):
        pass


def test_a_reason_loses_what_it_quotes() -> None:
    assert unquoted_reason("KeyError: 'the launch code is 0000'") == "KeyError: …"
    assert unquoted_reason('the reply is no JSON: "Dear Ada') == "the reply is no JSON: …"
    assert len(unquoted_reason("x" * 999) or "") == 200
    assert unquoted_reason("") is None

"""Anchors are drawn once and scored anew on every new day, past the call cache and for no answer twice a day."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.config.study import Study, make_study
from flows.database.scores_db import connect
from flows.pipeline.anchors import anchors_to_do, is_due, replicate_of, today
from flows.pipeline.engine import engine_for
from flows.pipeline.plan import known_points, stored_sessions
from flows.pipeline.scope import Scope
from flows.sessions.session_parts import read_parts
from flows.store.store import Store
from tests.flows.conftest import Command, write_session
from tests.flows.llm.server import MockProvider

OPTIONS = ("--points", "messages:20", "--strategies", "none,empty", "--quiet", "--anchors", 6)


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    for number, (word, turns) in enumerate({"orchard": 40, "harbour": 30}.items()):
        write_session(tmp_path / "logs" / f"{word}.jsonl", f"session-{number}", turns, word)
    return tmp_path / "logs"


def query(store: Path, sql: str) -> list[tuple[Any, ...]]:
    with connect(store / "scores.duckdb") as connection:
        return connection.execute(sql).fetchall()


def a_day_goes_by(store: Path, days: int = 1) -> None:
    """Make the takings that there are so many days older."""
    for path in (store / "anchor_scores").glob("*.parquet"):
        table = pq.read_table(path)
        older = [day - timedelta(days=days) for day in table["taken_on"].to_pylist()]
        at = table.schema.get_field_index("taken_on")
        # Under another name: a shard is named by what is in it.
        pq.write_table(
            table.set_column(at, "taken_on", pa.array(older, pa.date32())), path.with_name(f"{days}-{path.name}")
        )
        path.unlink()


@pytest.mark.slow
def test_a_run_scores_the_anchors_once_a_day_and_the_embedded_judge_never_drifts(
    sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    first = working_command("run", sessions, "--store", store, *OPTIONS)
    assert first.exit_code == 0, first.output
    anchors = query(store, "SELECT DISTINCT answer_id FROM anchor_scores ORDER BY 1")
    assert len(anchors) == 6
    assert query(store, "SELECT count(DISTINCT method_id) FROM anchor_scores JOIN stg_answers USING (answer_id)") == [
        (2,)
    ]
    again = working_command("run", sessions, "--store", store, *OPTIONS, "--json")
    assert json.loads(again.stdout)["nothing_to_do"] is True

    a_day_goes_by(store)
    plan = working_command("plan", sessions, "--store", store, *OPTIONS[:4], *OPTIONS[5:], "--json")
    assert json.loads(plan.stdout)["items"]["anchors"] == 6
    assert working_command("run", sessions, "--store", store, *OPTIONS).exit_code == 0
    assert query(store, "SELECT DISTINCT answer_id FROM anchor_scores ORDER BY 1") == anchors
    assert query(
        store,
        "SELECT count(DISTINCT taken_on), min(shift), max(shift), max(std_error), bool_or(drift) FROM judge_drift",
    ) == [(2, 0.0, 0.0, 0.0, False)]
    assert query(store, "SELECT * FROM checks WHERE violations > 0") == []
    shown = working_command("drift", "--store", store)
    assert str(datetime.now(UTC).date()) in shown.stdout
    assert (
        len(json.loads(working_command("drift", "--store", store, "--json").stdout))
        == query(store, "SELECT count(*) FROM judge_drift")[0][0]
    )

    a_day_goes_by(store)
    taken = working_command("drift", "--now", "--store", store, "--quiet")
    assert taken.exit_code == 0, taken.output
    assert query(store, "SELECT count(DISTINCT taken_on) FROM judge_drift") == [(3,)]

    study = make_study(
        {
            "sources": (str(sessions),),
            "store": str(store),
            "points": "messages:20",
            "strategies": "none,empty",
            "anchors": 6,
        }
    )
    assert not is_due(Scope(Store.open(str(store)), study))
    a_day_goes_by(store)
    assert is_due(Scope(Store.open(str(store)), study))
    assert not is_due(Scope(Store.open(str(store)), make_study({**study_flags(study), "anchors": 0})))
    weekly = tmp_path / "study.toml"
    weekly.write_text("anchor_days = 7\n")
    assert not is_due(Scope(Store.open(str(store)), make_study(study_flags(study), str(weekly))))
    a_day_goes_by(store, 6)
    assert is_due(Scope(Store.open(str(store)), make_study(study_flags(study), str(weekly))))
    a_day_goes_by(store, -400)
    assert is_due(Scope(Store.open(str(store)), study)), "a taking of a day to come is of a clock that was wrong"
    a_day_goes_by(store, 400)

    more = make_study({**study_flags(study), "anchors": 8})
    found = Store.open(str(store))
    jobs = anchors_to_do(found, more, engine_for(more), points(found, more), today())
    ids = [job.answer_id for some in jobs.values() for job in some]
    assert len(ids) == 8
    assert {id for (id,) in anchors} < set(ids)


def study_flags(study: Study) -> dict[str, Any]:
    return {
        "sources": study.sources,
        "store": study.store,
        "points": study.points,
        "strategies": study.strategies,
        "anchors": study.anchors,
    }


def points(store: Store, study: Study) -> Any:
    return known_points(store, study, stored_sessions(read_parts(store)))


def test_without_anchors_there_is_nothing_to_take_and_the_command_says_how_to_have_some(
    sessions: Path, tmp_path: Path, command: Command
) -> None:
    assert not is_due(Scope(Store.create(str(tmp_path / "store"), "o200k_base"), Study(sources=(str(sessions),))))
    assert command("drift", "--store", tmp_path / "none").exit_code == 1
    assert replicate_of(datetime(2026, 11, 5, tzinfo=UTC).date()) == 20261105


@pytest.mark.slow
def test_a_model_is_really_asked_again_on_another_day_and_pays_for_a_day_once(
    sessions: Path, tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    given = {"score": 4}

    def verdict(body: dict[str, Any]) -> str:
        said = "".join(message["content"] for message in body["messages"] if message["role"] == "user")
        asked = re.findall(r'"(\w+)"', re.search(r'"rubric_criteria"\s*:\s*\[(.*?)\]', said, re.DOTALL)[1])  # type: ignore[index]
        results = [{"criterionId": id, "score": given["score"], "reasoning": "so"} for id in asked]
        return json.dumps({"criterionResults": results, "aggregateScore": 4.0, "dimensionScores": {}})

    store = tmp_path / "store"
    options = ("run", sessions, "--store", store, *OPTIONS, "--judge", "openai:judge")
    with MockProvider(handler=verdict) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        assert working_command(*options).exit_code == 0
        n_answers = query(store, "SELECT count(*) FROM answers")[0][0]
        assert Counter(request.raw for request in provider.requests).most_common(1)[0][1] <= 2
        assert len(provider.requests) == n_answers + 6
        assert query(store, "SELECT count(*) FROM calls WHERE stage = 'anchor' AND NOT cached") == [(6,)]
        for path in (store / "anchor_scores").glob("*.parquet"):
            path.unlink()  # as if killed before the verdicts were written
        assert working_command(*options).exit_code == 0
        assert len(provider.requests) == n_answers + 6

        a_day_goes_by(store)
        given["score"] = 2  # the same version of the judge, and not the same judge any more
        # The day's number is in the key of the cache; a taking that is only dated back asks under today's number.
        (store / "cache").rename(tmp_path / "yesterday's")
        assert working_command(*options).exit_code == 0
        assert len(provider.requests) == n_answers + 12
    assert query(store, "SELECT DISTINCT shift, drift FROM judge_drift WHERE taken_on = current_date") == [(-2.0, True)]

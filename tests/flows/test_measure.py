"""The stage that measures: what it writes, that it goes on where it was, that one failure costs one measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.config.study import Study
from flows.database.scores_db import connect
from flows.pipeline import measure_plan
from flows.pipeline.engine import engine_for
from flows.pipeline.load.tables import is_loaded, rebuild_database
from flows.pipeline.measure_plan import MeasureJob, measure_id, measures_to_do
from flows.pipeline.plan import (
    compactions_to_do,
    expected_compactions,
    inputs_of,
    known_points,
    method_rows,
    stored_sessions,
)
from flows.pipeline.tasks import measure as work
from flows.pipeline.tasks.compact import compact_all, find_points_of
from flows.pipeline.tasks.ingest import ingest_batch
from flows.pipeline.tasks.measure import Measuring, measure_all
from flows.pipeline.tasks.probe import make_probes
from flows.pipeline.tasks.task_context import TaskContext
from flows.sessions.buckets import Slice
from flows.sessions.deduplicate import rewrite_part
from flows.sessions.session_parts import SessionInfo, read_parts, with_digests
from flows.store.store import Store
from flows.support.sample_sessions import sample_folder

SAMPLE = str(Path(sample_folder()) / "ledger.jsonl")
"""A session with two points; after the second one hardly anything is said."""
METHODS = ("none", "empty", "head_tail", "factory_style_anchored")


class Stage:
    """A store in which everything up to the measurements has been made, in this process."""

    def __init__(self, folder: Path) -> None:
        self.study = Study(sources=(SAMPLE,), store=str(folder / "store"), strategies=METHODS)
        self.store = Store.create(self.study.store, self.study.tokenizer)
        self.root = str(self.store.root)

    def ingest(self) -> None:
        ingest_batch(self.root, self.study, inputs_of(self.study), 1)
        find_points_of(self._task(), self._slice({info.session_id: (info,) for info in self.sessions()}))

    def sessions(self) -> list[SessionInfo]:
        return stored_sessions(read_parts(self.store))

    def points(self) -> dict[str, Any]:
        return known_points(self.store, self.study, self.sessions())

    def compact(self) -> None:
        for row in method_rows(self.study):
            self.store.record("methods", row["method_id"], {**row, "last_run_at": "2026-03-01"}, replace=True)
        jobs = compactions_to_do(self.store, self.study, self.points())
        compact_all(self._task(), self._slice(jobs))

    def probe(self) -> None:
        make_probes(self._task(), self._slice(self.points()))

    def to_do(self) -> list[MeasureJob]:
        sessions = self.sessions()
        found = measures_to_do(self.store, self.study, engine_for(self.study), sessions, self.points())
        return [job for jobs in found.values() for job in jobs]

    def measure(self, jobs: Sequence[MeasureJob] | None = None) -> tuple[int, int]:
        work = self._slice({"all": self.to_do() if jobs is None else jobs}, by_order=True)
        tally = measure_all(self._task(), work)
        for found in (self.store.needs, self.store.measures):
            found.drop_superseded()
        return tally.done, tally.failed

    def _task(self) -> TaskContext:
        return TaskContext.of_bucket(self.root, self.study, "")

    def _slice(self, jobs: dict[str, Any], *, by_order: bool = False) -> Slice[Any]:
        [info] = self.sessions()
        [wanted] = jobs.values() if by_order else [jobs[info.session_id]]
        return Slice(((info, tuple(wanted)),))

    def query(self, sql: str, *, anew: bool = False) -> list[tuple[Any, ...]]:
        if anew or not is_loaded(self.store, self.study):
            rebuild_database(self.store, self.study)
        with connect(self.store.database) as connection:
            return connection.execute(sql).fetchall()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    found = Stage(tmp_path)
    found.ingest()
    found.compact()
    found.probe()
    return found


def test_every_compaction_is_measured_once_and_the_database_shows_it(stage: Stage) -> None:
    n = sum(map(len, expected_compactions(stage.study, stage.points()).values()))
    assert n == 2 * 4
    assert stage.measure() == (n, 0)
    assert stage.to_do() == []
    assert stage.query("SELECT status, count(*) FROM measures GROUP BY ALL") == [("done", n)]
    assert stage.query("SELECT invariant FROM checks WHERE violations > 0") == []
    found = dict(stage.query("SELECT method, (refetch_tokens, context_tokens / tokens_before) FROM tokens_per_task"))
    assert found["none"] == (0.0, 1.0)
    observations = "(SELECT DISTINCT point_id, observation_seq, observation_tokens AS tokens FROM needs)"
    [(all_of_them,)] = stage.query(f"SELECT sum(tokens) / 2 FROM {observations}")
    assert 0 < found["head_tail"][0] < found["empty"][0] <= all_of_them
    assert stage.query(
        "SELECT method, any_precision, any_recall FROM artifact_exact WHERE method IN ('none', 'empty') "
        "GROUP BY ALL ORDER BY 1"
    ) == [("empty", None, 0.0), ("none", 1.0, 1.0)]
    assert stage.query("SELECT DISTINCT share FROM fact_survival WHERE method = 'none'") == [(1.0,)]


def test_a_run_that_was_cut_short_goes_on_with_what_is_missing(stage: Stage, tmp_path: Path) -> None:
    jobs = stage.to_do()
    stage.measure(jobs[:5])
    assert stage.to_do() == jobs[5:]
    stage.measure()
    tables = ("needs", "measures", "statement_states")
    columns = {"measures": "* EXCLUDE (seconds)"}
    found = {t: stage.query(f"SELECT {columns.get(t, '*')} FROM {t} ORDER BY ALL") for t in tables}
    whole = Stage(tmp_path / "whole")
    whole.ingest()
    whole.compact()
    whole.probe()
    whole.measure()
    assert found == {t: whole.query(f"SELECT {columns.get(t, '*')} FROM {t} ORDER BY ALL") for t in tables}


def test_a_repetition_adds_nothing(stage: Stage) -> None:
    jobs = stage.to_do()
    stage.measure(jobs)
    stage.measure(jobs)
    assert stage.store.needs.read().num_rows == 2
    assert stage.store.measures.read().num_rows == len(jobs)


def test_an_item_that_fails_costs_itself_alone_and_is_tried_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = stage.to_do()
    right = Measuring.measured

    def wrong(self: Measuring, job: MeasureJob) -> dict[str, Any]:
        if job.measure_id == jobs[2].measure_id:
            raise ValueError("no such thing")
        return right(self, job)

    monkeypatch.setattr(work.Measuring, "measured", wrong)
    assert stage.measure() == (len(jobs) - 1, 1)
    assert stage.query("SELECT error FROM measures WHERE status = 'failed'") == [("ValueError: no such thing",)]
    assert stage.to_do() == [jobs[2]]
    monkeypatch.undo()
    assert stage.measure() == (1, 0)
    assert stage.query("SELECT DISTINCT status FROM measures") == [("done",)]


def test_a_session_whose_index_cannot_be_made_fails_with_all_of_its_measurements(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(work, "SessionNeeds", wrong)
    assert stage.measure() == (0, 8)
    assert stage.query("SELECT count(*) FROM needs") == [(0,)]
    assert stage.query("SELECT count(*) FROM tokens_per_task") == [(0,)]


def test_probes_that_come_later_are_measured_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.ingest()
    stage.compact()
    stage.measure()
    assert stage.to_do() == []
    assert stage.query("SELECT count(*) FROM statement_states") == [(0,)]
    stage.probe()
    assert len(stage.to_do()) == 8
    stage.measure()
    assert stage.query("SELECT count(*) FROM measures") == [(8,)]
    assert stage.query("SELECT count(*) > 0 FROM fact_survival") == [(True,)]


def test_other_measuring_code_measures_anew(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.measure()
    monkeypatch.setattr(measure_plan, "measure_code_version", lambda: "0ther000")
    assert len(stage.to_do()) == 8
    counts = "SELECT (SELECT count(*) FROM measures), (SELECT count(*) FROM needs)"
    assert stage.query(counts, anew=True) == [(0, 0)]


def test_an_id_depends_on_the_compaction_the_session_and_the_probes() -> None:
    given = [("c", "s", ["p"], "v"), ("d", "s", ["p"], "v"), ("c", "t", ["p"], "v"), ("c", "s", [], "v")]
    assert len({measure_id(*parts) for parts in [*given, ("c", "s", ["p"], "w")]}) == 5


def test_what_only_a_provider_can_read_is_not_measured(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    from compaction import Message

    opaque = (Message("assistant", opaque='{"type": "compaction"}', covers=(0, 1), tokens=40),)
    monkeypatch.setattr(work.Contexts, "of", lambda _self, _info, ids: dict.fromkeys(ids, opaque))
    stage.measure()
    assert stage.query("SELECT DISTINCT status, refetch_tokens FROM measures") == [("opaque", None)]
    assert stage.query("SELECT DISTINCT any_recall, reason FROM artifact_exact") == [
        (None, "the context holds what nobody but its provider can read")
    ]
    assert stage.query("SELECT count(*) FROM tokens_per_task") == [(0,)]


def test_within_what_a_session_was_given_by_another_it_has_no_points_and_they_stay_earlier_cuts(stage: Stage) -> None:
    [info] = stage.sessions()
    [first, second] = stage.points()[info.session_id]
    fork = replace(info, n_given=first.point.cut_seq)
    assert known_points(stage.store, stage.study, [fork]) == {info.session_id: [second]}
    assert second.point.earlier_cuts == (first.point.cut_seq,)
    assert stage.query("SELECT cut_seq FROM points ORDER BY 1") == [(p.point.cut_seq,) for p in (first, second)]
    [seen] = stage.store.place.list_files(stage.store.transcripts)
    rewrite_part(stage.store, replace(with_digests(seen, stage.store.place), sessions=(fork,)))
    assert stage.query("SELECT cut_seq FROM points", anew=True) == [(second.point.cut_seq,)]
    fork = replace(info, n_given=second.point.cut_seq)
    assert known_points(stage.store, stage.study, [fork]) == {info.session_id: []}


def test_points_by_sizes_have_no_earlier_cuts_in_a_store_either(stage: Stage) -> None:
    [info] = stage.sessions()
    by_tokens = stage.points()[info.session_id]
    stage.study = replace(stage.study, points="sizes:32000,64000")
    stage.ingest()
    by_sizes = stage.points()[info.session_id]
    assert [(p.point_id, p.point.cut_seq) for p in by_sizes] == [(p.point_id, p.point.cut_seq) for p in by_tokens]
    assert [p.point.earlier_cuts for p in by_sizes] == [(), ()]

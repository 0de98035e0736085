"""Compares people with the judge: draws answers to label, and checks label sheets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from flows.config.study import Study
from flows.database.scores_db import connect
from flows.pipeline.backfill.selection import answers_in, with_methods_of
from flows.pipeline.load.provenance import loaded_study
from flows.pipeline.plan import ScoreJob
from flows.pipeline.sampling import Candidate, draw_candidates
from flows.pipeline.tasks.score import cases_of
from flows.reporting.text_tables import fetch_rows, rows_of_judge
from flows.sessions.buckets import Slice
from flows.sessions.session_parts import SessionInfo, read_parts
from flows.store import parquet_schemas
from flows.store.store import Store
from flows.support.atomic_files import write_output
from flows.support.errors import StoreError
from flows.support.ids import content_id
from flows.validation.label_sheet import LabelTargets, SheetItem
from judge import Criterion, Rubric, RubricError, list_rubrics, load_rubric
from judge.blinding import blind_text, context_text, has_opaque
from judge.llm.data import answer_text

_JUDGES = """
SELECT judge_id, any_value(judge) AS judge, any_value(rubric) AS rubric, count(*) AS n
FROM int_answer_scores JOIN judges USING (judge_id)
WHERE dimension = 'overall'
GROUP BY judge_id
ORDER BY n DESC, any_value(judge) = 'embedded', max(created_at) DESC, judge_id
"""
_CANDIDATES = """
SELECT answer_id, method_id, probe_type, score, session_id
FROM int_answer_scores WHERE judge_id = $judge_id AND dimension = 'overall'
ORDER BY answer_id
"""
_TEXTS = """
SELECT answer_id, probe_type, question, ground_truth, text, max_tokens
FROM answers JOIN probes USING (probe_id) WHERE list_contains($ids, answer_id) AND status = 'done'
"""
_ASKED = "SELECT DISTINCT probe_type, criterion FROM scores JOIN stg_answers USING (answer_id)"


@dataclass(frozen=True)
class Sample:
    """The answers drawn for people to label, in the order of the sheet."""

    sample_id: str
    judge: str
    judge_id: str
    rubric: str
    items: list[SheetItem]
    criteria: list[Criterion]
    """In the rubric's order; without anchors where the rubric is not to be had."""
    asked: Mapping[str, frozenset[str]]
    """Probe type → criteria that the judge was asked."""
    n_candidates: int
    chances: Mapping[str, float]


def study_of_results(store: Store) -> Study:
    """The study that the store's results are of, at the place where the store is now.

    Raises:
        StoreError: there are no results yet.
    """
    loaded = loaded_study(store)
    if loaded is None or not store.database.is_file():
        raise StoreError(f"store {store.name} has no results yet; make some with: compaction-eval run")
    return replace(loaded, store=store.name)


def draw_sample(store: Store, study: Study, number: int, judge: str | None, seed: str | None) -> Sample:
    """Draw answers to be labelled, and record in the store the probability of each.

    Args:
        store: Locked for writing, with results.
        study: What they are of.
        number: Answers to draw; all, where there are fewer.
        judge: Judge whose scores make the bands, by name or the beginning of its id; None for the one with the most.
        seed: Another one draws others; None for one that follows from the store's answers.

    Raises:
        StoreError: no answer has been scored.
        UsageError: no such judge.
    """
    with connect(store.database) as connection:
        judges = fetch_rows(connection, _JUDGES)
        if not judges.values:
            raise StoreError(f"store {store.name} has no scored answer to label; score some with: compaction-eval run")
        chosen = rows_of_judge(judges, judge).dicts()[0]
        rows = fetch_rows(connection, _CANDIDATES, judge_id=chosen["judge_id"]).values
        candidates = {row[0]: Candidate(*row) for row in rows}
        frame = content_id(chosen["judge_id"], *candidates)
        seed = seed if seed is not None else frame
        sample_id = content_id("sample", frame, number, seed)[:12]
        chances = draw_candidates(list(candidates.values()), number, seed)
        asked = _asked_by_type(connection, chosen["judge_id"])
        order = sorted(chances, key=lambda answer_id: content_id("row", seed, answer_id))
        items = sheet_items(connection, order, asked)
        criteria = rubric_criteria(connection, study, chosen["rubric"], asked)
    _record_sample(store, sample_id, chosen["judge_id"], [candidates[id] for id in order], chances, seed)
    return Sample(
        sample_id,
        chosen["judge"],
        chosen["judge_id"],
        chosen["rubric"],
        items,
        criteria,
        asked,
        len(candidates),
        chances,
    )


def _asked_by_type(connection: duckdb.DuckDBPyConnection, judge_id: str) -> dict[str, frozenset[str]]:
    rows = connection.execute(f"{_ASKED} WHERE judge_id = $id", {"id": judge_id}).fetchall()
    return {kind: frozenset(c for k, c in rows if k == kind) for kind in sorted({kind for kind, _ in rows})}


def sheet_items(
    connection: duckdb.DuckDBPyConnection, order: Sequence[str], asked: Mapping[str, frozenset[str]]
) -> list[SheetItem]:
    """The rows of a sheet for these answers; those that the store does not have are left out."""
    rows = {row[0]: row for row in connection.execute(_TEXTS, {"ids": list(order)}).fetchall()}
    # What a judge is shown, for the same reason: an answer may quote what only one method writes.
    return [
        SheetItem(id, kind, question, truth, blind_text(answer_text(text or "", max_tokens)), asked[kind])
        for id, kind, question, truth, text, max_tokens in (rows[id] for id in order if id in rows)
        if kind in asked
    ]


def rubric_criteria(
    connection: duckdb.DuckDBPyConnection, study: Study, rubric: str, asked: Mapping[str, frozenset[str]]
) -> list[Criterion]:
    """The criteria that were asked, in the rubric's order; without anchors where the rubric is not to be had."""
    used = frozenset().union(*asked.values())
    known = _rubric(study, rubric)
    if known is not None:
        return [criterion for criterion in known.criteria.values() if criterion.id in used]
    rows = connection.execute(
        "SELECT criterion, dimension, question, weight FROM criteria WHERE rubric = $rubric ORDER BY rowid",
        {"rubric": rubric},
    ).fetchall()
    return [Criterion(id, dimension, question, {}, weight) for id, dimension, question, weight in rows if id in used]


def _rubric(study: Study, name: str) -> Rubric | None:
    """The rubric of that name and version, or None if it is not available."""
    for known in (study.rubric, *list_rubrics()):
        try:
            rubric = load_rubric(known)
        except (RubricError, OSError):
            continue
        if rubric.name == name:
            return rubric
    return None


def _record_sample(
    store: Store, sample_id: str, judge_id: str, drawn: Sequence[Candidate], chances: Mapping[str, float], seed: str
) -> None:
    if sample_id in store.label_samples.read(["sample_id"])["sample_id"].to_pylist():
        return
    at = datetime.now(UTC).replace(tzinfo=None)
    rows = [
        {
            "sample_id": sample_id,
            "answer_id": one.answer_id,
            "judge_id": judge_id,
            "seed": seed,
            "drawn_at": at,
            "probability": chances[one.answer_id],
            "probe_type": one.probe_type,
            "score_band": one.band,
        }
        for one in drawn
    ]
    store.label_samples.write(pa.Table.from_pylist(rows, schema=parquet_schemas.LABEL_SAMPLES))


def write_contexts(store: Store, study: Study, sample: Sample, folder: Path) -> list[SheetItem]:
    """Write the compacted context of every drawn answer as a judge is shown it; the items with the names of the files.

    What cannot be hidden: how much a method kept, and of which roles.
    """
    study = with_methods_of(study, store)
    wanted = {item.answer_id for item in sample.items}
    jobs = {
        session: tuple({job.answer_id: job for job in found if job.answer_id in wanted}.values())
        for session, found in answers_in(store, study).items()
    }
    jobs = {session: found for session, found in jobs.items() if found}
    infos = {info.session_id: info for part in read_parts(store) for info in part.sessions}
    items: tuple[tuple[SessionInfo, tuple[ScoreJob, ...]], ...] = tuple(
        (infos[session], found) for session, found in jobs.items() if session in infos
    )
    names: dict[str, str] = {}
    for one in cases_of(store, study, study.load_rubric(), Slice(items)):
        text = "[not readable]" if has_opaque(one.case.context) else context_text(one.case.context)
        path = folder / f"{one.job.answer_id}.txt"
        write_output(path, text.encode("utf-8", "replace"))
        names[one.job.answer_id] = f"{folder.name}/{path.name}"
    return [replace(item, context_file=names.get(item.answer_id, "")) for item in sample.items]


def label_targets(store: Store) -> LabelTargets:
    """Collect the criteria, answers and samples of the store to check a sheet."""
    with connect(store.database) as connection:
        answers = connection.execute("SELECT answer_id, probe_type FROM stg_answers WHERE status = 'done'").fetchall()
        pairs = connection.execute(_ASKED).fetchall()
    asked = {kind: frozenset(c for k, c in pairs if k == kind) for kind in {kind for kind, _ in pairs}}
    drawn = store.label_samples.read(["sample_id", "answer_id"])
    return LabelTargets(
        {answer: asked.get(kind, frozenset()) for answer, kind in answers},
        frozenset(criterion for _, criterion in pairs),
        frozenset(zip(drawn["sample_id"].to_pylist(), drawn["answer_id"].to_pylist(), strict=True)),
    )
